"""The files of the chat page: nothing but them, and never without a policy."""

from collections.abc import Iterator

import pytest

from tests.middleware.service.serving import ChatWorld, Served, serving


@pytest.fixture(scope="module")
def page() -> Iterator[Served]:
    with serving(ChatWorld()) as served:
        yield served


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/", "text/html"), ("/page/main.js", "javascript"), ("/page/page.css", "text/css")],
)
def test_its_files_come_with_a_strict_policy(page: Served, path: str, kind: str) -> None:
    reply = page.http.get(path)

    assert reply.status_code == 200
    assert kind in reply.headers["content-type"]
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert reply.headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize("path", ["", "none.js", "..%2fapp.py", "%2e%2e/app.py"])
def test_nothing_else_is_served(page: Served, path: str) -> None:
    assert page.http.get(f"/page/{path}").status_code == 404
