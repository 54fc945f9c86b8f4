"""The report as one HTML file: it needs no network, and no script of a document runs in it."""

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conflictscore.benchmarks.harness.report.page.cards import FlipCard, cards
from conflictscore.benchmarks.harness.report.page.report_run import ReportRun
from conflictscore.benchmarks.harness.report.study import all_study_cards
from conflictscore.benchmarks.harness.report.tables import sections
from conflictscore.errors import ConfigurationError, InputError, install_hint
from conflictscore.markup import rendered_markdown, shown, web_address
from conflictscore.reporting.figure_text import counted, percent
from conflictscore.reporting.plain_table import column_name
from conflictscore.storage.private_files import write_whole

if TYPE_CHECKING:
    from jinja2 import Environment

_FOLDER = Path(__file__).parent
_POLICY = (
    "default-src 'none'; style-src '{style}'; script-src '{script}'; img-src data:;"
    " base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types"
)
_DIFFED_PAIRS = 100_000
"""Of equal words in two texts. Comparing looks at each pair, and at some of them many times."""


def write_report(runs: Sequence[ReportRun], out: Path) -> None:
    """Write the report of one or more runs."""
    if out.is_dir():
        raise InputError(f"{out}: a folder; name the HTML file to write")
    write_whole(out, render_report(runs).encode())


def render_report(runs: Sequence[ReportRun]) -> str:
    """The report's HTML; see :func:`write_report`."""
    if not runs:
        raise InputError("a report needs at least one run")
    page = _environment().get_template("page.html.j2")
    (style, style_hash), (script, script_hash) = _asset("page.css"), _asset("page.js")
    flips: list[FlipCard] = []
    kept: list[FlipCard] = []
    for run in runs:
        changed, unchanged = cards(run)
        flips += changed
        kept += unchanged
    return page.render(
        runs=runs,
        judged=[run for run in runs if run.figures.measures],
        sectioned=[(run, sections(run.figures, run.paper, run.results)) for run in runs],
        study=list(all_study_cards(runs)),
        style=style,
        script=script,
        policy=_POLICY.format(style=style_hash, script=script_hash),
        settings=_settings(runs),
        flips=flips,
        kept=kept,
    )


def _environment() -> "Environment":
    """The page's templates, which escape all that they are filled with."""
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
        from markupsafe import Markup
    except ImportError as error:
        raise ConfigurationError(
            f"a report needs the extra bench: {install_hint('bench')}"
        ) from error

    made = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: value if isinstance(value, Markup) else shown(value),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "column_name": column_name,
        "counted": counted,
        "markdown": markdown,
        "percent": percent,
        "web_address": web_address,
    }
    made.globals["word_diff"] = word_diff
    return made


def markdown(text: str) -> Any:
    """Untrusted Markdown as markup; HTML in it stays text."""
    from markupsafe import Markup

    return Markup(rendered_markdown(text))  # noqa: S704 - escaped by the renderer


def word_diff(before: str, after: str) -> Any:
    """Deletions and insertions, word by word; empty where the texts are too long."""
    from markupsafe import Markup, escape

    old, new = (re.findall(r"\s*\S+|\s+", shown(text)) for text in (before, after))
    there = Counter(new)
    if sum(there[word] for word in old) > _DIFFED_PAIRS:
        return Markup("")

    def parts() -> Iterator[Any]:
        same = SequenceMatcher(None, old, new, autojunk=False)
        for kind, a, b, c, d in same.get_opcodes():
            if kind == "equal":
                yield escape("".join(old[a:b]))
            if kind in ("replace", "delete"):
                yield Markup("<del>{}</del>").format("".join(old[a:b]))
            if kind in ("replace", "insert"):
                yield Markup("<ins>{}</ins>").format("".join(new[c:d]))

    return Markup("").join(parts())


def _asset(name: str) -> tuple[Any, str]:
    """A style or script of the page as markup, and the hash that its policy allows it by."""
    from markupsafe import Markup

    text = (_FOLDER / name).read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Markup(text), f"sha256-{digest}"  # noqa: S704 - our own file


def _settings(runs: Sequence[ReportRun]) -> dict[str, list[str]]:
    """The entries of the manifests by run; empty where a run has no such entry."""
    flat = [dict(_flat("", run.manifest)) for run in runs]
    names = dict.fromkeys(name for entries in flat for name in entries)
    return {name: [entries.get(name, "") for entries in flat] for name in names}


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for key, part in value.items():
            yield from _flat(f"{name}.{key}" if name else str(key), part)
    elif isinstance(value, list | tuple) and any(isinstance(p, Mapping | list) for p in value):
        for number, part in enumerate(value, start=1):
            yield from _flat(f"{name}.{number}", part)
    elif isinstance(value, list | tuple):
        yield name, ", ".join(map(str, value)) or "none"
    else:
        yield name, "none" if value is None or value == {} else str(value)
