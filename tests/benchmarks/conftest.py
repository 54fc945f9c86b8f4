from pathlib import Path

import pytest


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a test puts its questions."""
    return tmp_path / "data.jsonl"
