"""The model card, filled with figures."""

from pathlib import Path
from string import Template

from conflictscore.benchmarks.conflict_detection.figures import DetectionFigures, SetFigures
from conflictscore.records import Label

__all__ = ["model_card"]

_TEMPLATE = Template(Path(__file__).with_suffix(".md").read_text("utf-8"))
_HEAD = (
    "| set | pairs | accuracy | macro-F1 | F1 supports | F1 contradicts | F1 irrelevant"
    " | claims | conflicts | conflict F1 (always) | conflict accuracy (always) |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|"
)


def model_card(figures: DetectionFigures, *, size: int, sha256: str) -> str:
    """Fill the card.

    Args:
        figures: Of all validation sets.
        size: Bytes of the model.
        sha256: Digest of its files.
    """
    overall = figures.overall
    pairs = overall.labels.pairs
    return _TEMPLATE.substitute(
        size=f"{size / 1e6:.1f}",
        sha256=sha256,
        table="\n".join([_HEAD, *(_row(one) for one in (*figures.sets, overall))]),
        pairs=pairs,
        seconds=f"{overall.seconds:.0f}",
        pace=f"{1000 * overall.seconds / pairs:.1f}" if pairs else "–",
    )


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
        f"{_number(detection.f1.value)} ({_number(always.f1.value)})",
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
