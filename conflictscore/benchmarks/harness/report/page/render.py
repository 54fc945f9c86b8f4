"""The report as one HTML file: it needs no network, and no script of a document runs in it."""

from collections.abc import Sequence
from pathlib import Path

from conflictscore.benchmarks.harness.report.page.cards import FlipCard, cards
from conflictscore.benchmarks.harness.report.page.html import asset, environment
from conflictscore.benchmarks.harness.report.page.report_run import ReportRun
from conflictscore.benchmarks.harness.report.page.tables import (
    review_tables,
    settings,
)
from conflictscore.benchmarks.harness.report.study_cards import all_study_cards
from conflictscore.benchmarks.harness.report.tables import sections
from conflictscore.errors import InputError
from conflictscore.reporting.files import write_whole
from conflictscore.reporting.plain_table import column_name

_POLICY = (
    "default-src 'none'; style-src '{style}'; script-src '{script}'; img-src data:;"
    " base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types"
)


def write_report(runs: Sequence[ReportRun], out: Path) -> None:
    """Write the report of one or more runs."""
    if out.is_dir():
        raise InputError(f"{out}: a folder; name the HTML file to write")
    write_whole(out, render_report(runs).encode())


def render_report(runs: Sequence[ReportRun]) -> str:
    """The report's HTML; see :func:`write_report`."""
    if not runs:
        raise InputError("a report needs at least one run")
    made = environment()
    made.globals["column_name"] = column_name
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
        sectioned=[(run, sections(run.figures, run.paper, run.results)) for run in runs],
        study=list(all_study_cards(runs)),
        reviews=[table for run in runs for table in review_tables(run)],
        style=style,
        script=script,
        policy=_POLICY.format(style=style_hash, script=script_hash),
        settings=settings(runs),
        flips=flips,
        kept=kept,
    )
