"""Every change of answer, and every conflict that was kept, as the page shows it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from conflictscore.benchmarks.harness.methods.registry import BASELINE
from conflictscore.benchmarks.harness.records import MethodResult, QuestionResult
from conflictscore.benchmarks.harness.report.flips import (
    FlipKind,
    flip_kind,
    justification,
    second_look,
)
from conflictscore.benchmarks.harness.report.page.html import shown, web_address, web_host
from conflictscore.benchmarks.harness.report.page.run import Annotation, ReportRun
from conflictscore.records import ConflictType, Document, EvidenceLabel, Label
from conflictscore.reporting.figure_text import percent

__all__ = [
    "KEPT",
    "Card",
    "Excerpt",
    "Judged",
    "OtherAnswer",
    "Passage",
    "Said",
    "cards",
    "excerpts",
]

KEPT = "kept"
"""The kind of a card whose answer did not change."""

_NEAR = 240
"""Characters shown on either side of a passage at first."""
_FAR = 600
"""The same, once the reader asks for more."""
_LONGEST_PASSAGE = 1200
_ENDS = "\"'“”‘’… ."  # what a judge puts around a quotation


@dataclass(frozen=True)
class Excerpt:
    """A stretch of a document with a passage in it."""

    before: str
    passage: str
    """Empty where nothing is marked; then all stands in ``before``."""
    after: str
    starts_inside: bool
    """Whether the document begins earlier."""
    ends_inside: bool
    """Whether the document goes on."""

    @property
    def length(self) -> int:
        """Characters of the document that it holds."""
        return len(self.before) + len(self.passage) + len(self.after)


@dataclass(frozen=True)
class Judged:
    """A verdict, as a card shows it."""

    measure: str
    value: bool | float | None
    explanation: str
    """The judge's, or why there is no value."""

    @property
    def tone(self) -> str:
        """What its colour stands for: ``right``, ``wrong``, ``unknown``, or none for a grade."""
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
    verdicts: tuple[Judged, ...]
    """The first measure of the run before the others."""

    @property
    def letter(self) -> str:
        """The chosen option as a letter; empty in free form."""
        return "" if self.option is None else chr(ord("A") + self.option)


@dataclass(frozen=True)
class OtherAnswer:
    """What another method did with the same question."""

    method: str
    said: Said | None
    error: str | None
    kind: FlipKind | None
    """None where its answer is the baseline's."""
    donor: str | None
    """Whose evidence the placebo showed."""
    told: ConflictType | None
    """The type of the conflict that it told; None where it tells none, or could not."""


@dataclass(frozen=True)
class Passage:
    """What one document says about the claim."""

    document: Document
    pair: EvidenceLabel
    near: Excerpt
    far: Excerpt | None

    @property
    def address(self) -> str | None:
        """Where the document is on the web; None where it is not on the web."""
        return web_address(self.document.url)

    @property
    def origin(self) -> str:
        """Where it is from, in short."""
        return web_host(self.document.url)


@dataclass(frozen=True)
class Card:
    """One question whose first answer had evidence on both sides."""

    run: ReportRun
    result: QuestionResult
    method: str
    kind: str
    """A :class:`FlipKind`, or ``kept``."""
    before: Said
    after: Said
    others: tuple[OtherAnswer, ...]

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
        return self.method == "typed-rag"

    @property
    def told(self) -> ConflictType | None:
        """The type that the method told; None where it tells none, or could not."""
        return self.result.predicted.get(self.method)

    @property
    def justification(self) -> str | None:
        """The model's reason for the new answer."""
        return justification(self.result, self.method)

    @property
    def guarded(self) -> str:
        """``stands`` or ``refused`` by ``guarded-rag``; empty where nothing changed."""
        guard = None if self.typed else self.result.guard
        return "" if guard is None else "stands" if guard.stands else "refused"

    @property
    def annotation(self) -> Annotation | None:
        """What reviewers said of it; they are shown one flip a question."""
        if self.method != second_look(self.result):
            return None
        return self.run.annotations.get(self.result.question.id)

    @property
    def supports(self) -> list[Passage]:
        """The documents that support the reconsidered claim."""
        return list(self._passages(Label.SUPPORTS))

    @property
    def contradicts(self) -> list[Passage]:
        """The documents that contradict it."""
        return list(self._passages(Label.CONTRADICTS))

    def _passages(self, label: Label) -> Iterator[Passage]:
        known = {document.number: document for document in self.result.documents}
        claim = self.result.reconsidered
        for pair in claim.labels if claim else ():
            document = known.get(pair.document)
            if pair.label is label and document is not None:
                near, far = excerpts(document.text, pair.snippet if pair.snippet_found else None)
                yield Passage(document, pair, near, far)


def cards(run: ReportRun) -> tuple[list[Card], list[Card]]:
    """The flips of a run, and the conflicts whose answer was kept, each in the run's order.

    A question has a second card where ``typed-rag`` was run beside the method that is shown, and
    changed the answer too.
    """
    flips, kept = [], []
    for result in run.results:
        look = second_look(result)
        first = _said(run, result.methods.get(BASELINE))
        if look is None or first is None:
            continue
        for method in dict.fromkeys((look, "typed-rag")):
            after = _said(run, result.methods.get(method))
            if after is None:
                continue
            kind = flip_kind(result, method, run.first_measure, falls=run.falls)
            others = tuple(_others(run, result, method))
            if kind is not None:
                flips.append(Card(run, result, method, kind.value, first, after, others))
            elif result.conflict and method == look:
                kept.append(Card(run, result, method, KEPT, first, after, others))
    return flips, kept


def _said(run: ReportRun, ended: MethodResult | None) -> Said | None:
    if ended is None or ended.answer is None:
        return None
    verdicts = sorted(ended.verdicts.items(), key=lambda item: item[0] != run.first_measure)
    return Said(
        ended.answer.text,
        ended.answer.option,
        tuple(Judged(name, v.value, v.explanation or v.error or "") for name, v in verdicts),
    )


def _others(run: ReportRun, result: QuestionResult, shown: str) -> Iterator[OtherAnswer]:
    for method, ended in result.methods.items():
        if method not in (BASELINE, shown):
            yield OtherAnswer(
                method,
                _said(run, ended),
                ended.error,
                flip_kind(result, method, run.first_measure, falls=run.falls),
                result.donor if method == "placebo" else None,
                result.predicted.get(method),
            )


def excerpts(text: str, snippet: str | None) -> tuple[Excerpt, Excerpt | None]:
    """What is shown of a document at first, and the longer stretch for readers who want more.

    Args:
        text: The document.
        snippet: The judge's quotation. It is looked for with white space and case folded, and
            without the quotation marks and dots around it.

    Returns:
        The stretch around the quotation, or the beginning of the document where there is none or
        it does not stand there; and None where there is no more to show.
    """
    whole = shown(text)
    start, end = _find(whole, shown(snippet)) if snippet else (0, 0)
    near, far = (_around(whole, start, end, reach) for reach in (_NEAR, _FAR))
    return near, far if far.length > near.length else None


def _around(text: str, start: int, end: int, reach: int) -> Excerpt:
    end = min(end, start + _LONGEST_PASSAGE)
    if start == end:
        reach *= 2
    first, last = max(0, start - reach), min(len(text), end + reach)
    return Excerpt(
        before=text[first:start] if start != end else text[first:last],
        passage=text[start:end],
        after=text[end:last] if start != end else "",
        starts_inside=first > 0,
        ends_inside=last < len(text),
    )


def _find(text: str, snippet: str) -> tuple[int, int]:
    words = snippet.strip(_ENDS).casefold().split()
    folded = text.casefold()
    found = re.search(r"\s+".join(map(re.escape, words)), folded) if words else None
    if found is None:
        return 0, 0
    if len(folded) == len(text):
        return found.span()
    # a letter such as ß is longer when its case is folded
    origin = [index for index, letter in enumerate(text) for _ in letter.casefold()]
    return origin[found.start()], origin[found.end() - 1] + 1
