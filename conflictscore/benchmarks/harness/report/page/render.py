"""The report as one HTML file: it needs no network, and no script of a document runs in it."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from conflictscore.benchmarks.harness.report.page.cards import FlipCard, cards
from conflictscore.benchmarks.harness.report.page.html import asset, environment
from conflictscore.benchmarks.harness.report.page.report_run import ReportRun
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
        style=style,
        script=script,
        policy=_POLICY.format(style=style_hash, script=script_hash),
        settings=_settings(runs),
        flips=flips,
        kept=kept,
    )


def _settings(runs: Sequence[ReportRun]) -> dict[str, list[str]]:
    """The entries of the manifests by run; empty where a run has no such entry."""
    flat = [dict(_flat("", run.manifest)) for run in runs]
    names = dict.fromkeys(name for entries in flat for name in entries)
    return {name: [entries.get(name, "") for entries in flat] for name in names}


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for key, part in value.items():
            yield from _flat(f"{name}.{key}" if name else str(key), part)
    elif isinstance(value, list | tuple) and not any(isinstance(p, Mapping | list) for p in value):
        yield name, ", ".join(map(str, value)) or "none"
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value, start=1):
            yield from _flat(f"{name}.{number}", part)
    else:
        yield name, "none" if value is None or value == {} else str(value)
