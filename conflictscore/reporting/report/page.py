"""The report as one HTML file: it needs no network, and no script of a document runs in it."""

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conflictscore.benchmarks.published import own_tables
from conflictscore.errors import ConfigurationError, InputError
from conflictscore.reporting import figure_text
from conflictscore.reporting.bench_findings import findings
from conflictscore.reporting.bench_types import published_types, told_types
from conflictscore.reporting.files import write_whole
from conflictscore.reporting.measures import change_titles, change_words, is_graded
from conflictscore.reporting.report.cards import Card, cards
from conflictscore.reporting.report.charts import (
    Chart,
    category_chart,
    measure_chart,
    score_chart,
    split_chart,
)
from conflictscore.reporting.report.run import ReportRun
from conflictscore.reporting.report.tables import (
    failures,
    measure_tables,
    published_tables,
    settings,
)
from conflictscore.reporting.report.text import shown

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["render_report", "write_report"]

_FOLDER = Path(__file__).parent
_POLICY = (
    "default-src 'none'; style-src '{style}'; script-src '{script}'; img-src data:;"
    " base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types"
)
_COMPARED = (
    "regenerated-rag",
    "guarded-rag",
    "typed-rag",
    "control-rag",
)
"""What is set against the baseline by category: the first of these that was run."""


def write_report(runs: Sequence[ReportRun], out: Path) -> None:
    """Write the report of one or more runs, side by side.

    Args:
        runs: The runs, in the order in which they are shown.
        out: The HTML file; an earlier one is replaced at once, when the new one is whole.

    Raises:
        InputError: There is no run, or the file cannot be written.
        ConfigurationError: Jinja2 is not installed.
    """
    if out.is_dir():
        raise InputError(f"{out}: a folder; name the HTML file to write")
    write_whole(out, render_report(runs).encode())


def render_report(runs: Sequence[ReportRun]) -> str:
    """The report's HTML; see :func:`write_report`."""
    if not runs:
        raise InputError("a report needs at least one run")
    template = _environment().get_template("page.html.j2")
    style, script = (_read(name) for name in ("page.css", "page.js"))
    flips: list[Card] = []
    kept: list[Card] = []
    for run in runs:
        changed, unchanged = cards(run)
        flips += changed
        kept += unchanged
    return template.render(
        runs=runs,
        style=style,
        script=script,
        policy=_POLICY.format(style=_hash(style), script=_hash(script)),
        tables=measure_tables(runs),
        published=published_tables(runs),
        charts=_charts(runs),
        settings=settings(runs),
        flips=flips,
        kept=kept,
    )


def _charts(runs: Sequence[ReportRun]) -> list[tuple[str, Chart]]:
    """The charts, with the run's name for those that show one of several runs."""
    found = [("", measure_chart(table)) for table in measure_tables(runs)]
    found.append(("", split_chart(runs)))
    for run in runs:
        name = run.name if len(runs) > 1 else ""
        found.append((name, score_chart(run)))
        paired = {pair.method for pair in run.figures.paired}
        if compared := [method for method in _COMPARED if method in paired]:
            found.append((name, category_chart(run, compared[0])))
    return [(name, chart) for name, chart in found if chart.rows]


def _environment() -> "Environment":
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
        from markupsafe import Markup
    except ImportError as error:
        raise ConfigurationError(
            "a report needs the extra bench: pip install 'conflictscore[bench]'"
        ) from error

    def finalize(value: Any) -> Any:
        return value if isinstance(value, Markup) else shown(value)

    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": figure_text.percent,
        "published": figure_text.published,
        "points": figure_text.points,
        "p_value": figure_text.p_value,
        "money": figure_text.money,
        "seconds": figure_text.seconds,
        "counted": figure_text.counted,
    }
    environment.globals |= {
        "change_titles": change_titles,
        "change_words": change_words,
        "findings": findings,
        "failures": failures,
        "is_graded": is_graded,
        "published_types": published_types,
        "own_tables": own_tables,
        "told_types": told_types,
    }
    return environment


def _read(name: str) -> Any:
    from markupsafe import Markup

    return Markup((_FOLDER / name).read_text("utf-8"))  # noqa: S704 - our own file


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
