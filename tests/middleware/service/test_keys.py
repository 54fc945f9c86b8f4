"""Keys with names, in lines and in a file."""

import hashlib
from pathlib import Path

import pytest

from conflictscore.errors import InputError
from conflictscore.middleware.service.keys import KeyHolder, key_holder, read_keys
from tests.fakes.openai_server import OpenAIServer
from tests.middleware.service.serving import serving

ONE, OTHER = "key-number-one-0123456789", "key-number-two-0123456789"


class TestLines:
    def test_a_name_a_key_or_its_digest(self) -> None:
        digest = hashlib.sha256(ONE.encode())
        plain = key_holder(f"door {ONE} runs=all", "line 1")
        hashed = key_holder(f"door sha256:{digest.hexdigest().upper()}", "line 2")

        assert plain == KeyHolder("door", digest.digest(), reads_all=True)
        assert hashed == KeyHolder("door", digest.digest())
        assert key_holder(ONE, "line 3").name == digest.hexdigest()[:32]
        assert key_holder(f"door {ONE}==", "line 4").digest != digest.digest()

    @pytest.mark.parametrize(
        "line",
        [
            "short",
            "door short",
            f"two words {ONE}",
            f"na/me {ONE}",
            "door sha256:1234",
            f"door {ONE}\xe9",
            f"door {ONE} request=5",
            f"door {ONE} requests=5 usd=0.5",  # daily limits of an earlier version
        ],
    )
    def test_a_wrong_line_is_named_and_not_shown(self, line: str) -> None:
        with pytest.raises(InputError, match=r"^line 7") as raised:
            key_holder(line, "line 7")
        assert ONE not in str(raised.value)
        assert "short" not in str(raised.value)


def test_a_file_names_callers_or_is_refused(upstream: OpenAIServer, tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(f"# keys\ndoor {ONE}\ndoor {OTHER}\n")
    with serving(upstream, settings={"key_file": path}) as served:
        served.key = ONE
        run = served.ask().headers["x-conflictscore-run-id"]
        served.key = OTHER
        found = served.http.get(f"/v1/runs/{run}")
    assert found.status_code == 200, "the same caller, by name"

    for wrong in ("", f"door {ONE} x=y", None):
        path.unlink() if wrong is None else path.write_text(wrong)
        with pytest.raises(InputError, match="--key-file") as raised:
            read_keys(path)
        assert ONE not in str(raised.value)
