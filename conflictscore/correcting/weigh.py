"""Weighs two sides by the quality of their evidence, if the votes leave the dispute open.

A side wins only for a recognised reason (:class:`~conflictscore.records.Ground`). For example, its
source was in a position to know, or its document says that it corrects the other statement. The
number of documents is not such a reason.

Limits without a stated reason were chosen by hand.
"""

import re
from calendar import monthrange
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import NamedTuple

from conflictscore.active_content import without_active_content
from conflictscore.answering.question_terms import asks_for_current
from conflictscore.correcting.shown_evidence import evidence_behind
from conflictscore.errors import BudgetError, ContextWindowError, ProviderError, brief_reason
from conflictscore.loop.state import Reader
from conflictscore.models.replies import labelled_lines
from conflictscore.prompts import material
from conflictscore.records import Candidate, Document, Ground, Ruling, Weighing

_REPLY_TOKENS = 160  # a reply needs room for a side, a ground and a reason of one or two sentences
_DATE = re.compile(
    r"(?:in |on |as of |published:? |updated:? )?"
    r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:[T ].{0,24})?)?)?",
    re.IGNORECASE,
)
"""Matches an ISO 8601 date. The day and month may be missing, and a time may follow."""
# Dates such as "3 May 2021" and "Monday, May 3rd, 2021", perhaps with a time of day.
_DATE_IN_WORDS = re.compile(
    r"(?:[a-z]{3,9}\.?,? )?(?:(?P<day>\d{1,2})(?:st|nd|rd|th)? (?P<month>[a-z]{3})[a-z]{0,6}\.?"
    r"|(?P<month_first>[a-z]{3})[a-z]{0,6}\.? (?P<second_day>\d{1,2})(?:st|nd|rd|th)?),?"
    r" (?P<year>\d{4})(?:[ ,].{0,24})?",
    re.IGNORECASE,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_TOMORROW = timedelta(days=1)  # in some time zones, it is already tomorrow


class _Verdict(NamedTuple):
    """A judge's reply: the winning side (0 is the first, 1 the second), its ground and a reason.

    Parts that the reply lacks are None. If the reply is NEITHER, the side is None.
    """

    side: int | None
    ground: Ground | None
    reason: str | None


async def weigh(
    question: str,
    candidates: Sequence[Candidate],
    sides: tuple[int, int],
    documents: Sequence[Document],
    judge: Reader,
    weights: Mapping[int, float] = {},
) -> Weighing:
    """Compare the evidence of two candidates; only a stable verdict with a :class:`Ground` decides.

    If the question asks for the current state, dates alone can decide. For this, all documents on
    one side must be newer than all documents on the other side, and must not have less weight. If
    the dates do not decide, the judge compares the two sides in both orders, without knowing which
    side the answer stated. A verdict is stable if both rulings agree on the side. The grounds of
    the two rulings may differ; the first is reported. If the first ruling names no side or no
    ground, the judge is not asked again. If a call fails, its ruling contains the error, and
    nothing is decided. An embedded model is too small for this task, so it is not asked.
    """
    documents_by_number = {document.number: document for document in documents}
    current = asks_for_current(question)
    if current and (newer := _newer(candidates, sides, documents_by_number)) is not None:
        return Weighing(sides=sides, by_date=True, chosen=newer, ground=Ground.NEWER)
    if judge.model.is_local:  # such a model does not follow the reply format
        return Weighing(sides=sides)
    render = judge.prompts.render
    grounds = [ground for ground in Ground if current or ground is not Ground.NEWER]

    async def rule(order: tuple[int, int]) -> Ruling:
        side_a, side_b = (candidates[n] for n in order)
        prompt = render(
            "weigh",
            question=material(question),
            statement_a=material(side_a.statement),
            statement_b=material(side_b.statement),
            evidence_a=evidence_behind(side_a, documents_by_number, judge.prompts, weights),
            evidence_b=evidence_behind(side_b, documents_by_number, judge.prompts, weights),
            grounds="\n".join(render(f"ground_{ground}") for ground in grounds),
        )
        try:
            verdict = await judge.ask(prompt, partial(read_ruling, grounds=grounds), _REPLY_TOKENS)
        except (ProviderError, ContextWindowError, BudgetError) as error:
            return Ruling(shown=order, error=brief_reason(error))
        winner = None if verdict.side is None else order[verdict.side]
        return Ruling(shown=order, chosen=winner, ground=verdict.ground, reason=verdict.reason)

    first_ruling = await rule(sides)
    if first_ruling.chosen is None or first_ruling.ground is None:
        return Weighing(sides=sides, rulings=(first_ruling,))
    second_ruling = await rule((sides[1], sides[0]))
    decides = first_ruling.chosen == second_ruling.chosen and second_ruling.ground is not None
    return Weighing(
        sides=sides,
        rulings=(first_ruling, second_ruling),
        chosen=first_ruling.chosen if decides else None,
        ground=first_ruling.ground if decides else None,
    )


def read_ruling(reply: str, grounds: Iterable[Ground]) -> _Verdict:
    """Read the lines ``SIDE: …``, ``GROUND: …`` and ``REASON: …`` of a judge's reply."""
    fields = labelled_lines(reply, ("side", "ground", "reason"))
    side = fields.get("side", "").strip(".\"' ").upper().removeprefix("STATEMENT ")
    if side not in ("A", "B", "NEITHER"):
        raise ValueError('no line "SIDE:" had A, B or NEITHER')
    by_name = {ground.name: ground for ground in grounds}
    reason = " ".join(without_active_content(fields.get("reason", "")).split()) or None
    ground = by_name.get(fields.get("ground", "").strip(".\"' ").upper())
    return _Verdict({"A": 0, "B": 1}.get(side), ground, reason)


def _newer(
    candidates: Sequence[Candidate],
    sides: tuple[int, int],
    documents_by_number: Mapping[int, Document],
) -> int | None:
    """Return the newer candidate, if its votes have no less weight than the votes of the older."""
    newer = newer_side([candidates[n].votes for n in sides], documents_by_number)
    if newer is None:
        return None
    newer_candidate, older = candidates[sides[newer]], candidates[sides[1 - newer]]
    return sides[newer] if newer_candidate.worth >= older.worth else None


def newer_side(
    sides: Sequence[Sequence[int]], documents_by_number: Mapping[int, Document]
) -> int | None:
    """Return the side whose documents are all newer than the others; None if a date is missing.

    A document dated "2021" may be from any day of the year, so it is not older than a document from
    May 2021.
    """
    first, second = (_days_of_side(side, documents_by_number) for side in sides)
    if first is None or second is None:
        return None
    if first[0] > second[1]:
        return 0
    return 1 if second[0] > first[1] else None


def _days_of_side(
    side: Sequence[int], documents_by_number: Mapping[int, Document]
) -> tuple[date, date] | None:
    """Return the first and last day on which documents may have been published.

    Return None if there are no documents, or if one has no date.
    """
    days = [_days_of(documents_by_number[number]) for number in side]
    dated = [each for each in days if each is not None]
    if not dated or len(dated) < len(days):
        return None
    return min(first for first, _ in dated), max(last for _, last in dated)


def date_of(document: Document) -> date | None:
    """Return the first day on which a document may have been published; see :func:`_days_of`."""
    days = _days_of(document)
    return days and days[0]


def _days_of(document: Document) -> tuple[date, date] | None:
    """Return the first and last day of a document's publication date; it may be a month or a year.

    The date comes from the search or the download. Return None if the metadata contain more than a
    date ("room 1871"), a date in the future, or a date that comes from the page itself
    (``date_from``).
    """
    if document.metadata.get("date_from") == "page":
        return None
    # a longer text is not just a date; the cut also bounds the time of the search
    text = str(document.metadata.get("date") or "")[:60].strip()
    year, month, day = _parts_of_date(text)
    if year is None:
        return None
    try:
        # a date without month or day may be any day of the year or month
        first = date(year, month or 1, day or 1)
        last = date(year, month or 12, day or monthrange(year, month or 12)[1])
    except ValueError:
        return None
    return (first, last) if first <= datetime.now(UTC).date() + _TOMORROW else None


def _parts_of_date(text: str) -> tuple[int | None, int | None, int | None]:
    """Return the year, month and day that a text states; None for parts that it does not state."""
    if match := _DATE.fullmatch(text):
        year, month, day = (int(part) if part else None for part in match.groups())
        return year, month, day
    match = _DATE_IN_WORDS.fullmatch(text)
    name = str(match["month"] or match["month_first"]).casefold() if match else ""
    if match is None or name not in _MONTHS:
        return None, None, None
    return int(match["year"]), _MONTHS.index(name) + 1, int(match["day"] or match["second_day"])
