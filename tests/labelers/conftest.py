"""The cache that verdicts are kept in."""

from pathlib import Path

import pytest

from conflictscore.storage.cache import ContentCache


@pytest.fixture
def cache(tmp_path: Path) -> ContentCache:
    return ContentCache(tmp_path / "verdicts.sqlite")
