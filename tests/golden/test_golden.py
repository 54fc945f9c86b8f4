"""What users see of whole runs stays as pinned in ``expected/``.

Where it changes on purpose, write the files anew and say why in the commit:

    UPDATE_GOLDEN=1 python -m pytest -n0 tests/golden
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.golden.runs import RUNS

EXPECTED = Path(__file__).parent / "expected"


@pytest.mark.parametrize("play", RUNS, ids=[run.__name__ for run in RUNS])
def test_a_run_is_as_pinned(
    play: Callable[[Path], dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    pinned = EXPECTED / f"{play.__name__}.json"

    got = play(tmp_path)

    if os.environ.get("UPDATE_GOLDEN"):
        pinned.write_text(json.dumps(got, indent=2, ensure_ascii=False) + "\n", "utf-8")
    assert got == json.loads(pinned.read_text("utf-8"))


def test_every_pinned_file_has_its_run() -> None:
    assert {path.stem for path in EXPECTED.iterdir()} == {run.__name__ for run in RUNS}
