"""The report as one HTML file: it needs no network, and no script of a document runs in it."""

from collections.abc import Sequence
from pathlib import Path

from conflictscore.benchmarks.harness.report.findings import findings
from conflictscore.benchmarks.harness.report.page.cards import FlipCard, cards
from conflictscore.benchmarks.harness.report.page.html import asset, environment
from conflictscore.benchmarks.harness.report.page.report_run import ReportRun
from conflictscore.benchmarks.harness.report.page.tables import (
    failures,
    measure_tables,
    published_tables,
    review_tables,
    settings,
)
from conflictscore.benchmarks.harness.report.pairs import pair_cards
from conflictscore.benchmarks.harness.report.study_cards import all_study_cards
from conflictscore.benchmarks.harness.report.tables import score_card, told_types
from conflictscore.benchmarks.paper_figures import own_tables, published_types
from conflictscore.errors import InputError
from conflictscore.reporting.files import write_whole

_POLICY = (
    "default-src 'none'; style-src '{style}'; script-src '{script}'; img-src data:;"
    " base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types"
)


def write_report(runs: Sequence[ReportRun], out: Path) -> None:
    """Write the report of one or more runs, side by side.

    Args:
        runs: The runs, in the order in which they are shown.
        out: The HTML file; an earlier one is replaced at once, when the new one is whole.
    """
    if out.is_dir():
        raise InputError(f"{out}: a folder; name the HTML file to write")
    write_whole(out, render_report(runs).encode())


def render_report(runs: Sequence[ReportRun]) -> str:
    """The report's HTML; see :func:`write_report`."""
    if not runs:
        raise InputError("a report needs at least one run")
    made = environment()
    made.globals |= {
        "findings": findings,
        "failures": failures,
        "published_types": published_types,
        "own_tables": own_tables,
        "pair_cards": pair_cards,
        "told_types": told_types,
        "score_card": score_card,
    }
    (style, style_hash), (script, script_hash) = asset("page.css"), asset("page.js")
    flips: list[FlipCard] = []
    kept: list[FlipCard] = []
    for run in runs:
        changed, unchanged = cards(run)
        flips += changed
        kept += unchanged
    judged = [run for run in runs if run.figures.measures]
    return made.get_template("page.html.j2").render(
        runs=runs,
        judged=judged,
        study=list(all_study_cards(runs)),
        reviews=[table for run in runs for table in review_tables(run)],
        style=style,
        script=script,
        policy=_POLICY.format(style=style_hash, script=script_hash),
        tables=measure_tables(runs),
        published=published_tables(runs),
        settings=settings(runs),
        flips=flips,
        kept=kept,
    )
