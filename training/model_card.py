"""The model card, filled with figures."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

from conflictscore.benchmarks.conflict_detection.measures import DetectionFigures, SetFigures
from conflictscore.errors import ConfigurationError
from conflictscore.labelers.calibration import UNCALIBRATED, Calibration
from conflictscore.labelers.nli.labeler import MOST_WINDOWS
from conflictscore.records import Label

__all__ = ["Encoder", "encoder_of", "model_card"]

_TEMPLATE = Template(Path(__file__).with_suffix(".md").read_text("utf-8"))
_HEAD = (
    "| set | pairs | accuracy | macro-F1 | F1 supports | F1 contradicts | F1 irrelevant"
    " | claims | conflicts | conflict F1 (always, two documents) | conflict accuracy (always) |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|"
)


class Encoder(NamedTuple):
    """Text of a card about a model's encoder.

    Attributes:
        architecture: Its family and how many layers it has.
        start: What it was before training.
    """

    architecture: str
    start: str


_STARTS = {
    "bert": ("A BERT", "all-MiniLM-L6-v2", 6),
    "mpnet": ("An MPNet", "all-mpnet-base-v2", 12),
}
"""For each family the encoder that training began with, and its layers."""


def encoder_of(config: Mapping[str, Any]) -> Encoder:
    """Encoder settings in the ``config.json`` of an exported model.

    Raises:
        ConfigurationError: The model was not exported here, or the file does not give its layers.
    """
    kind = config.get("model_type")
    if kind not in _STARTS:
        raise ConfigurationError(
            f"config.json: model_type is {kind!r}; a card is written for models of training.export,"
            f" which have {' or '.join(_STARTS)}"
        )
    name, start, whole = _STARTS[kind]
    layers = config.get("num_hidden_layers")
    if layers is None and kind == "bert":
        layers = whole  # the model that comes with the package does not say so
    if layers is None:
        raise ConfigurationError("config.json has no num_hidden_layers: export the model anew")
    encoder = f"encoder of {start}"
    return Encoder(
        f"{name} of {layers} layers",
        encoder if layers == whole else f"first {layers} layers of the {encoder}",
    )


def model_card(
    figures: DetectionFigures,
    *,
    answered: DetectionFigures | None = None,
    size: int,
    sha256: str,
    encoder: Encoder,
    calibration: Calibration,
) -> str:
    """Fill the card.

    Args:
        figures: Of all validation sets.
        answered: Of RAMDocs' questions that are measured on; None where the data has none.
        size: Bytes of the model.
        sha256: Digest of its files.
        encoder: What :func:`encoder_of` says.
        calibration: Of the scores, or ``UNCALIBRATED``.
    """
    overall = figures.overall
    pairs = overall.labels.pairs
    return _TEMPLATE.substitute(
        size=f"{size / 1e6:.1f}",
        sha256=sha256,
        architecture=encoder.architecture,
        start=encoder.start,
        calibration=_calibration(calibration),
        windows=MOST_WINDOWS,
        table=_table((*figures.sets, overall)),
        answered=_table(answered.sets) if answered is not None else "Not measured.",
        pairs=pairs,
        seconds=f"{overall.seconds:.0f}",
        pace=f"{1000 * overall.seconds / pairs:.1f}" if pairs else "–",
    )


def _calibration(fitted: Calibration) -> str:
    if fitted == UNCALIBRATED:
        return "The scores are not calibrated."
    seen = "the scores and the labels" if fitted.bias else "the scores, not the labels,"
    return (
        f"The scores are calibrated with the temperature in calibration.json, {fitted.temperature},"
        f"\nfitted on {fitted.fitted_on}:\n{seen} have seen what of these is measured below."
    )


def _table(sets: Iterable[SetFigures]) -> str:
    return "\n".join([_HEAD, *map(_row, sets)])


def _row(one: SetFigures) -> str:
    confusion = one.labels.confusion
    found = [_f1(confusion, label) for label in Label if label is not Label.UNLABELLED]
    detection, always = one.detection, one.always
    cells = [
        one.name,
        str(one.labels.pairs),
        _number(one.labels.accuracy.value),
        _number(one.labels.macro_f1.value),
        *map(_number, found),
        str(one.groups),
        str(one.conflicts),
        f"{_number(detection.f1.value)} ({_number(always.f1.value)},"
        f" {_number(one.two_documents.f1.value)})",
        f"{_number(detection.accuracy.value)} ({_number(always.accuracy.value)})",
    ]
    return f"| {' | '.join(cells)} |"


def _f1(confusion: dict[Label, dict[Label, int]], label: Label) -> float | None:
    """None where people gave this label to no pair."""
    row = confusion.get(label, {})
    if not sum(row.values()):
        return None
    given = sum(other.get(label, 0) for other in confusion.values())
    return 2 * row.get(label, 0) / (sum(row.values()) + given)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
