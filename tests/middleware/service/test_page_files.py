"""The files of the chat page: nothing but them, and never without a policy."""

from pathlib import Path

import httpx2
import pytest
from fastapi import FastAPI

from conflictscore.middleware.service.app import serve_page
from tests.middleware.service.serving import listening


def get(folder: Path, path: str) -> httpx2.Response:
    app = FastAPI()
    serve_page(app, folder)
    with (
        listening(app) as (address, _, _),
        httpx2.Client(base_url=address, trust_env=False) as client,
    ):
        return client.get(path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret.js").write_text("outside")
    folder = tmp_path / "page"
    (folder / "img").mkdir(parents=True)
    (folder / "index.html").write_text("<title>Lamp</title>")
    (folder / "main.js").write_text("1")
    (folder / "img" / "lamp.svg").write_text("<svg/>")
    (folder / "helper.py").write_text("1")
    return folder


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/", "text/html"), ("/page/main.js", "javascript"), ("/page/img/lamp.svg", "image/svg+xml")],
)
def test_its_files_come_with_a_strict_policy(folder: Path, path: str, kind: str) -> None:
    reply = get(folder, path)

    assert reply.status_code == 200
    assert kind in reply.headers["content-type"]
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert reply.headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    "path", ["helper.py", "img", "none.js", "..%2fsecret.js", "%2e%2e/secret.js"]
)
def test_nothing_else_is_served(folder: Path, path: str) -> None:
    assert get(folder, f"/page/{path}").status_code == 404


def test_without_a_page_there_is_none(tmp_path: Path) -> None:
    assert get(tmp_path, "/").status_code == 404
