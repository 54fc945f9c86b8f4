"""Every change of answer, and every conflict that was kept, as the page shows it."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from conflictscore.benchmarks.harness.conflict_types import ConflictType
from conflictscore.benchmarks.harness.methods.registry import BASELINE, method_of
from conflictscore.benchmarks.harness.records import MethodResult, QuestionResult
from conflictscore.benchmarks.harness.report.flips import (
    SECOND_LOOKS,
    FlipKind,
    flip_kind,
    justification,
    second_look,
)
from conflictscore.benchmarks.harness.report.page.html import linked_documents, word_diff
from conflictscore.benchmarks.harness.report.page.report_run import ReportRun
from conflictscore.benchmarks.harness.report.reviews import Review
from conflictscore.labelers.quotes import Span, passage_of, quoted_spans
from conflictscore.markup import shown, web_address, web_host
from conflictscore.records import ClaimEvidence, Document, EvidenceLabel, Label
from conflictscore.reporting.figure_text import percent

KEPT = "kept"
"""The kind of a card whose answer did not change."""

_TYPED = tuple(name for name in SECOND_LOOKS if method_of(name).tells_type)
"""The methods that ask again as the type of the conflict asks."""

_REACH = 400
"""Characters shown on either side of a passage."""
_LONGEST_PASSAGE = 1200
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class Excerpt:
    """A stretch of a document with a passage in it."""

    before: str
    passage: str
    """Empty where nothing is marked; then all stands in ``before``."""
    after: str
    starts_inside: bool
    ends_inside: bool
    """Whether the document begins earlier, and whether it goes on."""


@dataclass(frozen=True)
class ShownVerdict:
    """A verdict, as a card shows it."""

    measure: str
    value: bool | float | None
    explanation: str
    """The judge's, or why there is no value."""

    @property
    def tone(self) -> str:
        """The name of its colour: ``right``, ``wrong``, ``unknown``, or none for a grade."""
        if self.value is None:
            return "unknown"
        return ("right" if self.value else "wrong") if isinstance(self.value, bool) else ""

    @property
    def words(self) -> str:
        """The verdict in a few words."""
        match self.measure, self.value:
            case _, None:
                return f"{self.measure}: not judged"
            case "accuracy", bool():
                return "right" if self.value else "wrong"
            case "truthful" | "informative", bool():
                return self.measure if self.value else f"not {self.measure}"
            case _, bool():
                return f"{self.measure}: {'yes' if self.value else 'no'}"
        return f"{self.measure}: {percent(self.value)} %"


@dataclass(frozen=True)
class Said:
    """An answer with what was judged of it."""

    text: str
    option: int | None
    verdicts: tuple[ShownVerdict, ...]
    """The first measure of the run before the others."""

    @property
    def letter(self) -> str:
        """The chosen option as a letter; empty in free form."""
        return "" if self.option is None else chr(ord("A") + self.option)


@dataclass(frozen=True)
class ShownPassage:
    """A document's passage about the claim."""

    document: Document
    pair: EvidenceLabel
    excerpt: Excerpt

    @property
    def address(self) -> str | None:
        """Where the document is on the web; None where it is not on the web."""
        return web_address(self.document.url)

    @property
    def origin(self) -> str:
        """Where it is from, in short."""
        return web_host(self.document.url)


@dataclass(frozen=True)
class ShownClaim:
    """A claim that a change is about, and the documents on both sides."""

    evidence: ClaimEvidence
    supports: list[ShownPassage]
    contradicts: list[ShownPassage]


@dataclass(frozen=True)
class FlipCard:
    """A method's answer to a question, beside the first answer and those of other methods."""

    run: ReportRun
    result: QuestionResult
    method: str

    @cached_property
    def kind(self) -> str:
        """A :class:`FlipKind`, or ``kept``."""
        kind = flip_kind(self.result, self.method, self.run.first_measure, falls=self.run.falls)
        return KEPT if kind is None else kind.value

    @cached_property
    def before(self) -> Said | None:
        """The first answer; None where it failed."""
        return _said(self.run, self.result.methods.get(BASELINE))

    @cached_property
    def after(self) -> Said | None:
        """The method's answer; None where it failed, or was not run."""
        return _said(self.run, self.result.methods.get(self.method))

    @property
    def error(self) -> str | None:
        """Why the method failed."""
        return self.result.methods[self.method].error

    @property
    def donor(self) -> str | None:
        """Id of the question whose evidence the placebo showed."""
        return self.result.donor if self.method == "placebo" else None

    @property
    def others(self) -> list["FlipCard"]:
        """The answers of other methods."""
        names = (name for name in self.result.methods if name not in (BASELINE, self.method))
        return [FlipCard(self.run, self.result, name) for name in names]

    @property
    def judged(self) -> bool:
        """Whether anything but reviewers judges its answers."""
        return bool(self.run.first_measure)

    @property
    def graded(self) -> bool:
        """Whether what it is worth is a number rather than right or wrong."""
        return self.run.figures.is_graded(self.run.first_measure)

    def direction(self, kind: str) -> str:
        """Where a graded value went, of a correction or a harm."""
        better, worse = self.run.figures.change_words(self.run.first_measure)
        return better if kind == FlipKind.CORRECTION else worse

    @property
    def typed(self) -> bool:
        """Whether the answer was asked for again by the type of the conflict."""
        return self.method in _TYPED

    @property
    def told(self) -> ConflictType | None:
        """The type that the method told; None where it tells none, or could not."""
        return self.result.predicted.get(self.method)

    @property
    def reason(self) -> Any:
        """The reason as markup, with links to the documents that it cites."""
        given = justification(self.result, self.method)
        shown_here = {
            passage.document.number
            for claim in self.claims
            for passage in (*claim.supports, *claim.contradicts)
        }
        return linked_documents(given or "It gave none.", self.anchor, shown_here)

    @property
    def diff(self) -> Any:
        """The changes of a free-form answer, word by word, as markup; empty without any."""
        if self.kind == KEPT or self.result.question.options or not (self.before and self.after):
            return ""
        return word_diff(self.before.text, self.after.text)

    @property
    def anchor(self) -> str:
        """Prefix of the ids of its documents on the page."""
        named = "\0".join((self.run.name, self.result.question.id, self.method))
        return f"doc-{hashlib.sha256(named.encode(errors='replace')).hexdigest()[:12]}"

    @property
    def guarded(self) -> str:
        """``accepted`` or ``refused`` by ``guarded-rag``; empty where nothing changed."""
        guard = None if self.typed else self.result.guard
        return "" if guard is None else "accepted" if guard.accepted else "refused"

    @property
    def reviews(self) -> Mapping[str, Review]:
        """The reviewers' verdicts on it."""
        return self.run.reviews.get(self.result.question.id, {})

    @cached_property
    def claims(self) -> list[ShownClaim]:
        """The claims that the change is about, with the documents on both sides."""
        return [
            ShownClaim(
                claim,
                list(self._passages(claim, Label.SUPPORTS)),
                list(self._passages(claim, Label.CONTRADICTS)),
            )
            for claim in self.result.claims_about(self.method)
        ]

    def _passages(self, claim: ClaimEvidence, label: Label) -> Iterator[ShownPassage]:
        known = {document.number: document for document in self.result.documents}
        for pair in claim.labels:
            document = known.get(pair.document)
            if pair.label is label and document is not None:
                part = excerpt(document.text, passage_of(claim.claim, document, pair))
                yield ShownPassage(document, pair, part)


def cards(run: ReportRun) -> tuple[list[FlipCard], list[FlipCard]]:
    """The flips of a run, and the conflicts whose answer was kept, each in the run's order.

    A question has another card where a method that tells the type of the conflict was run beside
    the one that is shown, and changed the answer too.
    """
    flips, kept = [], []
    for result in run.results:
        look = second_look(result)
        for method in dict.fromkeys((look, *_TYPED)) if look else ():
            card = FlipCard(run, result, method)
            if card.before is None or card.after is None:
                continue
            if card.kind != KEPT:
                flips.append(card)
            elif result.conflict and method == look:
                kept.append(card)
    return flips, kept


def _said(run: ReportRun, ended: MethodResult | None) -> Said | None:
    if ended is None or ended.answer is None:
        return None
    verdicts = sorted(ended.verdicts.items(), key=lambda item: item[0] != run.first_measure)
    return Said(
        ended.answer.text,
        ended.answer.option,
        tuple(ShownVerdict(name, v.value, v.explanation or v.error or "") for name, v in verdicts),
    )


def excerpt(text: str, passage: str | None) -> Excerpt:
    """The stretch of a document around a passage.

    That is around the passage's first part where the others are far from it, and the beginning of
    the document where it does not stand there.
    """
    whole = shown(text)
    start, end = _stretch(quoted_spans(shown(passage or ""), whole))
    end = min(end, start + _LONGEST_PASSAGE)
    reach = _REACH if start < end else 2 * _REACH
    first, last = _word_start(whole, start, reach), _word_end(whole, end, reach)
    cuts = (first, start, end, last) if start < end else (first, last, last, last)
    before, marked, after = (whole[a:b] for a, b in pairwise(cuts))
    return Excerpt(before, marked, after, first > 0, last < len(whole))


def _word_start(text: str, start: int, reach: int) -> int:
    """Where a word begins, at most so far before; in the middle of one that is longer than that."""
    first = max(0, start - reach)
    inside = first and not (text[first - 1].isspace() or text[first].isspace())
    found = _SPACE.search(text, first, start) if inside else None
    return found.end() if found else first


def _word_end(text: str, end: int, reach: int) -> int:
    """Where a word ends, at most so far after; in the middle of one that is longer than that."""
    last = min(len(text), end + reach)
    if last == len(text) or text[last].isspace() or text[last - 1].isspace():
        return last
    return next((place for place in range(last, end, -1) if text[place - 1].isspace()), last)


def _stretch(spans: Sequence[Span]) -> Span:
    if not spans:
        return 0, 0
    (start, end), last = spans[0], spans[-1][1]
    return start, last if last - start <= _LONGEST_PASSAGE else end
