"""Renders the report as one HTML file that needs no network and runs no script from a document."""

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conflictscore.answering.answer_replies import cited_documents
from conflictscore.answering.evidence_text import Witness, witnesses
from conflictscore.benchmarks.harness.methods.registry import BASELINE
from conflictscore.benchmarks.harness.records import MethodResult, QuestionResult
from conflictscore.benchmarks.harness.report.flips import flip_kind, justification, second_look
from conflictscore.benchmarks.harness.report.page.report_run import ReportRun
from conflictscore.benchmarks.harness.report.pictures.charts import pictures
from conflictscore.benchmarks.harness.report.pictures.picture import can_draw
from conflictscore.benchmarks.harness.report.reviews import Review
from conflictscore.benchmarks.harness.report.study import study_groups, study_of
from conflictscore.benchmarks.harness.report.study_cards import study_cards
from conflictscore.benchmarks.harness.report.tables import sections
from conflictscore.errors import ConfigurationError, InputError, install_hint
from conflictscore.markup import rendered_markdown, shown, web_address
from conflictscore.records import ClaimEvidence, Label
from conflictscore.reporting.figure_text import counted, percent
from conflictscore.reporting.plain_table import column_name
from conflictscore.storage.private_files import write_whole

if TYPE_CHECKING:
    from jinja2 import Environment

_FOLDER = Path(__file__).parent
"""The folder with the templates, the style sheet and the script of the page."""
_POLICY = (
    "default-src 'none'; style-src '{style}'; script-src '{script}'; img-src data:;"
    " base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types"
)
"""The page's content security policy: only its own style and script run, and it loads nothing.

The page shows untrusted text, which could otherwise load or run something.
"""
_DIFFED_PAIRS = 100_000
"""Two texts are compared only if they have at most this number of pairs of equal words.

The comparison may examine the same pair repeatedly, so two long reports could take minutes. Beyond
the limit, which was chosen by hand, the page does not show what changed word by word.
"""


def write_report(runs: Sequence[ReportRun], out: Path) -> None:
    """Write the HTML report of one or more runs."""
    if out.is_dir():
        raise InputError(f"{out} is a folder; give the name of an HTML file")
    write_whole(out, render_report(runs).encode())


def render_report(runs: Sequence[ReportRun]) -> str:
    """Return the report's HTML; see :func:`write_report`."""
    if not runs:
        raise InputError("a report needs at least one run")
    page = _environment().get_template("page.html.j2")
    (style, style_hash), (script, script_hash) = _asset("page.css"), _asset("page.js")
    flips: list[FlipCard] = []
    retained_cards: list[FlipCard] = []
    for run in runs:
        run_flips, run_retained = cards(run)
        flips += run_flips
        retained_cards += run_retained
    groups = study_groups(runs)
    studies = [study_of(group) for group in groups]
    return page.render(
        runs=runs,
        judged=[run for run in runs if run.figures.measures],
        sectioned=[(run, sections(run.figures, run.paper, run.results)) for run in runs],
        pictures=pictures(runs, studies) if can_draw() else [],
        study=[
            card
            for group, study in zip(groups, studies, strict=True)
            for card in study_cards(study, group[0].figures)
        ],
        style=style,
        script=script,
        policy=_POLICY.format(style=style_hash, script=script_hash),
        settings=_settings(runs),
        flips=flips,
        kept=retained_cards,
    )


def _environment() -> "Environment":
    try:
        import jinja2  # noqa: F401 - imported only to see whether it is installed
    except ImportError as error:
        raise ConfigurationError(
            f"a report needs the extra bench: {install_hint('bench')}"
        ) from error
    return _compiling_environment()


@cache  # the environment caches the compiled template, since compiling takes longer than rendering
def _compiling_environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        # texts are untrusted, so ``shown`` replaces their control and hidden characters
        finalize=lambda value: value if isinstance(value, Markup) else shown(value),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "column_name": column_name,
        "counted": counted,
        "markdown": markdown,
        "percent": percent,
        "web_address": web_address,
    }
    environment.globals["word_diff"] = word_diff
    return environment


def markdown(text: str) -> Any:
    """Render untrusted Markdown as HTML; any HTML in the Markdown is shown as text."""
    from markupsafe import Markup

    return Markup(rendered_markdown(text))  # noqa: S704 - escaped by the renderer


def word_diff(before: str, after: str) -> Any:
    """Mark deletions and insertions word by word; return nothing if the texts are too long."""
    from markupsafe import Markup, escape

    # each word with the white space before it, so that the joined parts are the whole text
    old, new = (re.findall(r"\s*\S+|\s+", shown(text)) for text in (before, after))
    there = Counter(new)
    if sum(there[word] for word in old) > _DIFFED_PAIRS:
        return Markup("")

    def parts() -> Iterator[Any]:
        # difflib would ignore frequent words of long texts (autojunk)
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
    """Return a style sheet or script of the page, and its hash for the page's security policy."""
    from markupsafe import Markup

    text = (_FOLDER / name).read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Markup(text), f"sha256-{digest}"  # noqa: S704 - our own file


def _settings(runs: Sequence[ReportRun]) -> dict[str, list[str]]:
    """Return each manifest entry as one string per run, which is empty if the entry is missing."""
    flat = [dict(_flat("", run.manifest)) for run in runs]
    names = dict.fromkeys(name for settings in flat for name in settings)
    return {name: [settings.get(name, "") for settings in flat] for name in names}


def _flat(name: str, setting: Any) -> Iterator[tuple[str, str]]:
    if isinstance(setting, Mapping) and setting:
        for key, part in setting.items():
            yield from _flat(f"{name}.{key}" if name else str(key), part)
    elif isinstance(setting, list | tuple) and any(isinstance(p, Mapping | list) for p in setting):
        for number, part in enumerate(setting, start=1):
            yield from _flat(f"{name}.{number}", part)
    elif isinstance(setting, list | tuple):
        yield name, ", ".join(map(str, setting)) or "none"
    else:
        yield name, "none" if setting is None or setting == {} else str(setting)


KEPT = "kept"
"""The kind of change that a card shows if the answer is unchanged."""


@dataclass(frozen=True)
class FlipCard:
    """A card of the report: the answer of one method, the first answer and all other answers."""

    run: ReportRun
    result: QuestionResult
    method: str

    @cached_property
    def kind(self) -> str:
        """The kind of change: a ``FlipKind``, or ``KEPT``."""
        kind = flip_kind(self.result, self.method, self.run.first_measure, falls=self.run.falls)
        return KEPT if kind is None else kind.value

    @property
    def before(self) -> MethodResult | None:
        """The first answer with its verdicts, or None if there is no first answer."""
        return _answered(self.result.methods.get(BASELINE))

    @property
    def after(self) -> MethodResult | None:
        """The method's answer with its verdicts, or None if the method failed."""
        return _answered(self.result.methods[self.method])

    @property
    def others(self) -> list["FlipCard"]:
        """Cards for the answers of the other methods."""
        names = (name for name in self.result.methods if name not in (BASELINE, self.method))
        return [FlipCard(self.run, self.result, name) for name in names]

    @property
    def judged(self) -> bool:
        """Whether the answers are judged by anything other than reviewers."""
        return bool(self.run.first_measure)

    @property
    def graded(self) -> bool:
        """Whether the verdicts are numbers instead of yes or no."""
        return self.run.figures.is_graded(self.run.first_measure)

    @property
    def reason(self) -> str:
        """The model's reason for the method's answer."""
        return justification(self.result, self.method) or "It gave none."

    @property
    def guarded(self) -> str:
        """The guard's verdict, ``accepted`` or ``refused``; empty if nothing changed."""
        guard = self.result.guard
        return "" if guard is None else "accepted" if guard.accepted else "refused"

    @property
    def reviews(self) -> Mapping[str, Review]:
        """The reviewers' verdicts on the change."""
        return self.run.reviews.get(self.result.question.id, {})

    @property
    def claims(self) -> tuple[ClaimEvidence, ...]:
        """The claims that led the method to change the answer."""
        return self.result.claims_about(self.method)

    def tally(self, claim: ClaimEvidence) -> str:
        """Count the documents for and against a claim, such as ``1 for, 4 against``."""
        first = self.result.methods.get(BASELINE)
        report = first.report if first is not None else None
        duplicates = report.duplicates if report is not None else {}
        if report is not None:
            claim = claim.excluding_zero_weight(report.weights)
        sides: list[str] = []
        copies_of_both = 0
        for label, word in ((Label.SUPPORTS, "for"), (Label.CONTRADICTS, "against")):
            documents = len(claim.documents(label))
            copies = documents - claim.independent(label, duplicates)
            copies_of_both += copies
            noun = "a copy" if copies == 1 else "copies"
            sides.append(f"{documents} {word}" + (f", {copies} of them {noun}" if copies else ""))
        counts_once = report is not None and not report.duplicates_vote and copies_of_both
        tally = ("; " if copies_of_both else ", ").join(sides)
        return f"{tally} (a document and its copies count once)" if counts_once else tally

    def citing(self, document: int) -> str:
        """Say where a document is cited; return an empty string for an uncited document.

        The places are the first answer, the new answer and the reason for it.
        """
        texts = {
            "before": self.before.answer.text if self.before and self.before.answer else "",
            "after": self.after.answer.text if self.after and self.after.answer else "",
            "the justification": justification(self.result, self.method) or "",
        }
        places = [place for place, text in texts.items() if cited_documents(text, (document,))]
        return f"cited in {' and '.join(places)}" if places else ""

    def witnesses(self, claim: ClaimEvidence, label: str) -> list[Witness]:
        """Return the documents that have this label for a claim."""
        return list(witnesses(claim, Label(label), self.result.documents))


def cards(run: ReportRun) -> tuple[list[FlipCard], list[FlipCard]]:
    """Return one card for each flip of a run, and one for each unchanged answer with a conflict."""
    flips, retained_cards = [], []
    for question_result in run.results:
        if look := second_look(question_result):
            card = FlipCard(run, question_result, look)
            # one of the two methods gave no answer, so there is nothing to compare
            if card.before is None or card.after is None:
                continue
            if card.kind != KEPT:
                flips.append(card)
            elif question_result.conflict:
                retained_cards.append(card)
    return flips, retained_cards


def _answered(method_result: MethodResult | None) -> MethodResult | None:
    return method_result if method_result is not None and method_result.answer is not None else None
