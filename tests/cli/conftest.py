from pathlib import Path

import pytest

from tests.local_model import smollm2_path as smollm2_path


@pytest.fixture(autouse=True)
def _cache_of_the_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path / "cache"))
