"""The parts of a final answer, each with the outcome of its check, for display on a page."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from conflictscore.markdown import Passage, passages
from conflictscore.records import Change, ClaimEvidence, ConflictReport, RevisionAction, Run

_OPEN, _CLOSE = "\u2e28", "\u2e29"
"""Characters that delimit a part in text to be rendered as HTML.

HTML tags cannot be used, since HTML in an answer is escaped. The delimiters are Unicode
punctuation, so Markdown emphasis can begin or end right next to them.
"""


class Standing(StrEnum):
    """The outcome of checking a part of the answer.

    If several outcomes apply, the first one listed here is used: changes come first, then problems.
    So a part counts as supported only if nothing else applies.
    """

    HEDGED = "hedged"  # Changed to give several answers from the documents.
    CHANGED = "changed"  # Changed to agree with the evidence.
    DISPUTED = "disputed"  # Documents disagree about at least one claim in the part.
    CONTRADICTED = "contradicted"  # Documents contradict a claim of the part, and none supports it.
    UNCLAIMED = "unclaimed"  # Some of the part's text is in no claim, so it was not checked.
    UNLABELLED = "unlabelled"  # At least one claim in the part has no label.
    UNCOVERED = "uncovered"  # At least one claim in the part is in no document.
    SUPPORTED = "supported"  # Documents support all claims of the part, and none contradicts one.


class AnswerPart(NamedTuple):
    """A passage of the answer, with the outcome of its check."""

    start: int
    end: int
    standing: Standing
    claims: tuple[int, ...]
    """Numbers of the claims read from the passage."""


def answer_parts(run: Run) -> tuple[AnswerPart, ...]:
    """Return the parts of the final answer that were checked, or should have been, in order.

    Passages that state nothing, such as greetings, are left out.
    """
    report = run.answer_report
    if not run.answer or report is None:
        return ()
    new_spans = list(_changed_spans(run))
    gaps = [gap.passage for gap in (run.examined.gaps if run.examined else ()) if gap.passage]
    parts = (_part(passage, report, new_spans, gaps) for passage in passages(run.answer))
    return tuple(part for part in parts if part is not None)


def _part(
    passage: Passage,
    report: ConflictReport,
    new_spans: Sequence[tuple[tuple[int, int], RevisionAction]],
    gaps: Sequence[tuple[int, int]],
) -> AnswerPart | None:
    """Return the part for a passage, with its claims and outcome; None if no outcome applies."""
    claims = [c for c in report.claims if _meet(c.claim.passage, passage)]
    actions = [action for span, action in new_spans if _meet(span, passage)]
    is_unclaimed = any(_meet(span, passage) for span in gaps)
    standing = _standing(claims, report, actions, is_unclaimed=is_unclaimed)
    if standing is None:
        return None
    numbers = tuple(evidence.claim.number for evidence in claims)
    return AnswerPart(passage.start, passage.end, standing, numbers)


def with_marks(answer: str, parts: Sequence[AnswerPart]) -> str | None:
    """Return the answer with a delimiter before and after each part.

    Return None if the answer already contains such delimiters, since a page could not distinguish
    them from the added ones.
    """
    if _OPEN in answer or _CLOSE in answer:
        return None
    kinds = {passage.start: passage.kind for passage in passages(answer)}
    pieces, end = list[str](), 0
    for part in parts:
        start, stop = _inside(answer, part, kinds.get(part.start, ""))
        pieces += [answer[end:start], _OPEN, answer[start:stop], _CLOSE]
        end = stop
    return "".join([*pieces, answer[end:]])


def _inside(answer: str, part: AnswerPart, kind: str) -> tuple[int, int]:
    """Return where to put a part's delimiters: inside code fences or a table row's outer pipes."""
    start, end = part.start, part.end
    if kind == "code" and answer.startswith(("```", "~~~"), start):
        first, last = answer.find("\n", start, end), answer.rfind("\n", start, end)
        # a block without lines between its fences has nothing to mark
        return (first + 1, last) if -1 < first < last else (end, end)
    if kind == "row":
        start += answer.startswith("|", start)
        end -= answer.startswith("|", end - 1)
    return start, end


def _changed_spans(run: Run) -> Iterator[tuple[tuple[int, int], RevisionAction]]:
    """Yield the span of each changed text in the final answer, with the action that changed it."""
    answer = run.answer or ""
    # a whole new answer has no single changed passage
    changes = [change for change in run.applied_changes if not change.whole]
    last = max((change.round for change in changes), default=0)
    for change in changes:
        start = change.start + _moved_by(change, changes)
        # later rounds may have moved the text, so search for it
        if change.round != last or not answer.startswith(change.after, start):
            start = answer.find(change.after)
        if change.after and start >= 0:
            yield (start, start + len(change.after)), change.action


def _moved_by(change: Change, changes: Sequence[Change]) -> int:
    """Return the number of characters by which earlier changes in the round shift this change."""
    before = (c for c in changes if c.round == change.round and c.end <= change.start)
    return sum(len(each.after) - len(each.before) for each in before)


def _meet(span: tuple[int, int] | None, passage: Passage) -> bool:
    """Return whether a span shares characters with a passage."""
    return span is not None and span[0] < passage.end and passage.start < span[1]


def _standing(
    claims: Sequence[ClaimEvidence],
    report: ConflictReport,
    actions: Sequence[RevisionAction],
    *,
    is_unclaimed: bool,
) -> Standing | None:
    if any(action in (RevisionAction.HEDGE, RevisionAction.EXPLAIN) for action in actions):
        return Standing.HEDGED
    if actions:
        return Standing.CHANGED
    standings = {_of_claim(evidence, report) for evidence in claims}
    if is_unclaimed:
        standings.add(Standing.UNCLAIMED)
    return next((standing for standing in Standing if standing in standings), None)


def _of_claim(evidence: ClaimEvidence, report: ConflictReport) -> Standing:
    """Return the outcome for a single claim.

    A claim without conflict may be disputed too, for example because two documents refute it.
    """
    if evidence.conflicting or evidence.claim.number in report.disputed:
        is_refuted = evidence.contradicts and not evidence.supports
        return Standing.CONTRADICTED if is_refuted else Standing.DISPUTED
    if evidence.contradicts:
        return Standing.CONTRADICTED
    if evidence.supports:
        return Standing.SUPPORTED
    return Standing.UNCOVERED if evidence.irrelevant else Standing.UNLABELLED
