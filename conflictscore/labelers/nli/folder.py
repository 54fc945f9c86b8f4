"""The folder of an NLI model: which files it has, and what its configuration says."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from conflictscore.errors import ConfigurationError
from conflictscore.records import Label

__all__ = ["ModelFolder", "read_folder", "resolve"]

_SHIPPED = Path(__file__).parent / "minilm"
_FILES = ("model.onnx", "tokenizer.json", "config.json")
_NAMES = {
    "entailment": Label.SUPPORTS,
    "supports": Label.SUPPORTS,
    "contradiction": Label.CONTRADICTS,
    "contradicts": Label.CONTRADICTS,
    "neutral": Label.IRRELEVANT,
    "irrelevant": Label.IRRELEVANT,
}
_OFFSET_FAMILIES = ("camembert", "longformer", "mpnet", "roberta", "xlm-roberta", "xlm-roberta-xl")
"""Model families that count positions from the padding token's number on."""
_CHUNK = 1 << 20


class ModelFolder(NamedTuple):
    """What a model's folder says.

    Attributes:
        path: The folder.
        labels: What the model's outputs mean, in their order.
        positions: The most tokens of a claim and a premise together.
        vocabulary: Rows of the embedding matrix; None where the configuration does not say.
        sha256: Digest of the files that verdicts depend on.
    """

    path: Path
    labels: tuple[Label, ...]
    positions: int
    vocabulary: int | None
    sha256: str


def resolve(model: str | Path | None) -> Path:
    """The folder of a model.

    Args:
        model: A folder; None for the bundled model.

    Raises:
        ConfigurationError: There is no such model.
    """
    if model is None:
        return _SHIPPED
    path = Path(model).expanduser()
    if not path.is_dir():
        raise ConfigurationError(
            f"there is no NLI model {model}: give a folder with {', '.join(_FILES)}"
        )
    return path.resolve()


def read_folder(path: Path) -> ModelFolder:
    """Read what a folder says of its model.

    Raises:
        ConfigurationError: A file is missing or unreadable, or it is no three-way NLI model.
    """
    for name in _FILES:
        if not (path / name).is_file():
            raise ConfigurationError(f"{path} is not an NLI model: it has no {name}")
    source = path / "config.json"
    try:
        config = json.loads(source.read_bytes())
        digest = _digest(path)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"cannot read {source}: {error}") from error
    if not isinstance(config, dict):
        raise ConfigurationError(f"{source} is not a JSON object")
    positions = _number(config, "max_position_embeddings", source)
    if positions is None:
        raise ConfigurationError(f"{source} has no max_position_embeddings")
    if config.get("model_type") in _OFFSET_FAMILIES:
        positions -= 1 + (_number(config, "pad_token_id", source) or 0)
    return ModelFolder(
        path=path,
        labels=_labels(config.get("id2label"), source),
        positions=positions,
        vocabulary=_number(config, "vocab_size", source),
        sha256=digest,
    )


def _number(config: Mapping[str, Any], field: str, source: Path) -> int | None:
    value = config.get(field)
    if value is not None and (type(value) is not int or value < 0):
        raise ConfigurationError(f"{source}: {field} is {value!r}, not a number of 0 or more")
    return value


def _labels(id2label: Any, source: Path) -> tuple[Label, ...]:
    """What each output means; never guessed, since models differ in their order."""
    named = id2label if isinstance(id2label, dict) else {}
    said = ", ".join(str(name) for name in named.values()) or "nothing"
    order = [_NAMES.get(str(named.get(str(place))).strip().lower()) for place in range(3)]
    labels = tuple(label for label in order if label is not None)
    if len(named) != len(set(labels)) or len(set(labels)) != len(order):
        raise ConfigurationError(
            f"{source}: id2label must name the three outputs 0, 1 and 2 entailment, contradiction"
            f" and neutral, in the model's own order; it says {said}"
        )
    return labels


def _digest(path: Path) -> str:
    """Digest of the weights, also where they lie beside the graph, and of what reads text."""
    digest = hashlib.sha256()
    for file in sorted({*path.glob("model.onnx*"), *(path / name for name in _FILES)}):
        digest.update(f"{file.name}\0{file.stat().st_size}\0".encode())
        with file.open("rb") as content:
            while chunk := content.read(_CHUNK):
                digest.update(chunk)
    return digest.hexdigest()
