from pathlib import Path

import pytest

from conflictscore.labelers.nli.model import NliModel
from conflictscore.storage.cache import ContentCache
from tests.nli_model import make_nli_model


@pytest.fixture
def cache(tmp_path: Path) -> ContentCache:
    return ContentCache(tmp_path / "verdicts.sqlite")


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_nli_model(tmp_path_factory.mktemp("nli") / "small-nli")


@pytest.fixture(scope="session")
def model(model_folder: Path) -> NliModel:
    return NliModel(model_folder)
