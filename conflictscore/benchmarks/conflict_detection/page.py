"""The figures of conflict detection as one HTML file, in the style of the report of a run."""

from collections.abc import Sequence
from pathlib import Path

from conflictscore.benchmarks.conflict_detection.figures import DetectionFigures, SetFigures
from conflictscore.benchmarks.conflict_detection.tables import shown_sets
from conflictscore.benchmarks.harness.report.page.charts import (
    Chart,
    Mark,
    Row,
    estimate_marks,
    percent_words,
)
from conflictscore.benchmarks.harness.report.page.html import asset, environment
from conflictscore.records import Label
from conflictscore.reporting.files import write_whole

__all__ = ["render_detection_page", "write_detection_page"]

_POLICY = (
    "default-src 'none'; style-src '{style}'; img-src data:; base-uri 'none'; form-action 'none'"
)
_GOLD = (Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT)


def write_detection_page(figures: DetectionFigures, out: Path) -> None:
    """Write the page; an earlier one is replaced at once, when the new one is whole.

    Raises:
        InputError: The file cannot be written.
        ConfigurationError: Jinja2 is not installed.
    """
    write_whole(out, render_detection_page(figures).encode())


def render_detection_page(figures: DetectionFigures) -> str:
    """The page's HTML: it needs no network, and has no script."""
    template = environment(Path(__file__).parent).get_template("detection.html.j2")
    style, style_hash = asset("page.css")
    sets = shown_sets(figures)
    return template.render(
        figures=figures,
        sets=sets,
        gold=_GOLD,
        given=(*_GOLD, Label.UNLABELLED),
        charts=_charts(sets),
        style=style,
        policy=_POLICY.format(style=style_hash),
    )


def _charts(sets: Sequence[SetFigures]) -> list[Chart]:
    found = [
        Chart(
            "F1 of detecting conflict",
            "The dot is the labeler's, the line its 95 % interval; the ring is always saying"
            " conflict.",
            tuple(_against_always(one) for one in sets),
        ),
        *(_reliability(one) for one in sets if one.reliability.n),
    ]
    return [chart for chart in found if chart.rows]


def _against_always(one: SetFigures) -> Row:
    f1, always = one.detection.f1, one.always.f1.value
    ring = [] if always is None else [Mark("ring", 100 * always, 100 * always, "plain")]
    words = f"{percent_words(f1.value)}, always {percent_words(always)}"
    return Row(one.name, words, (*estimate_marks(f1), *ring))


def _reliability(one: SetFigures) -> Chart:
    rows = []
    for part in one.reliability.bins:
        if part.mean_score is None:
            continue
        mean = 100 * part.mean_score
        words = f"{percent_words(part.right.value)} right, score {percent_words(part.mean_score)}"
        rows.append(
            Row(
                f"score {part.low:.1f} to {part.high:.1f}",
                f"{words}, n {part.right.n:,}",
                (*estimate_marks(part.right), Mark("ring", mean, mean, "plain")),
            )
        )
    return Chart(
        f"Reliability: {one.name}",
        "The dot is how many labels are right, the line its Wilson 95 % interval, the ring their"
        f" mean score: the nearer, the better. Brier score {one.reliability.brier:.3f}, expected"
        f" calibration error {one.reliability.ece:.3f} (0 is best).",
        tuple(rows),
    )
