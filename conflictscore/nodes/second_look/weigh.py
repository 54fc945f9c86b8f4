"""Weighing two sides that counting leaves open: blind, in both orders, and on a named ground."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from functools import partial
from typing import NamedTuple

from conflictscore.active_content import without_active_content
from conflictscore.errors import BudgetError, ContextWindowError, ProviderError, brief_reason
from conflictscore.models.replies import labelled_lines
from conflictscore.nodes.conflict_details import witnesses
from conflictscore.nodes.second_look.readers import Reader
from conflictscore.nodes.second_look.statements import asks_for_current
from conflictscore.prompts import PromptSet, material, material_line
from conflictscore.records import (
    Candidate,
    ClaimEvidence,
    Document,
    Ground,
    Label,
    Ruling,
    Weighing,
)
from conflictscore.threads import at_once

_REPLY_TOKENS = 160
_MOST_DOCUMENTS = 4
"""Of a side; more of them would be an argument by number."""
_SHOWN_CHARS = 900
"""Of a document: enough for the sentence that explains an error beside the one that corrects it."""
_DATE = re.compile(r"(?<!\d)(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?(?!\d)")


class _Verdict(NamedTuple):
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
    """Compare two candidates' evidence, and let only a stable verdict on a ground decide.

    Where the question asks for what is current and every document of one side is newer than every
    one of the other, the dates decide alone. Otherwise the judge sees both sides twice, each first
    once, and is not told which one the answer said. A call that fails leaves a ruling with its
    error, and then nothing decides. The embedded model is not asked: it is too small for it.
    """
    known = {document.number: document for document in documents}
    current = asks_for_current(question)
    if current and (newer := newer_side([candidates[n].votes for n in sides], known)) is not None:
        chosen = sides[newer]
        return Weighing(sides=sides, by_date=True, chosen=chosen, ground=Ground.NEWER)
    if judge.model.is_local:  # it never kept to the form, in either order
        return Weighing(sides=sides)
    render = judge.prompts.render
    grounds = [ground for ground in Ground if current or ground is not Ground.NEWER]

    async def rule(shown: tuple[int, int]) -> Ruling:
        one, other = (candidates[n] for n in shown)
        prompt = render(
            "weigh",
            question=material(question),
            statement_a=material(one.statement),
            statement_b=material(other.statement),
            evidence_a=_evidence(one, known, judge.prompts, weights),
            evidence_b=_evidence(other, known, judge.prompts, weights),
            grounds="\n".join(render(f"ground_{ground}") for ground in grounds),
        )
        try:
            verdict = await judge.ask(prompt, partial(read_ruling, grounds=grounds), _REPLY_TOKENS)
        except (ProviderError, ContextWindowError, BudgetError) as error:
            return Ruling(shown=shown, error=brief_reason(error))
        chosen = None if verdict.side is None else shown[verdict.side]
        return Ruling(shown=shown, chosen=chosen, ground=verdict.ground, reason=verdict.reason)

    one, other = await at_once(partial(rule, shown) for shown in (sides, (sides[1], sides[0])))
    stable = one.chosen is not None and one.chosen == other.chosen
    decides = stable and one.ground is not None and other.ground is not None
    return Weighing(
        sides=sides,
        rulings=(one, other),
        chosen=one.chosen if decides else None,
        ground=one.ground if decides else None,
    )


def read_ruling(reply: str, grounds: Iterable[Ground]) -> _Verdict:
    """``SIDE: …``, ``GROUND: …`` and ``REASON: …``."""
    said = labelled_lines(reply, ("side", "ground", "reason"))
    side = said.get("side", "").strip(".\"' ").upper().removeprefix("STATEMENT ")
    if side not in ("A", "B", "NEITHER"):
        raise ValueError('no line "SIDE:" had A, B or NEITHER')
    by_name = {ground.name: ground for ground in grounds}
    reason = " ".join(without_active_content(said.get("reason", "")).split()) or None
    ground = by_name.get(said.get("ground", "").strip(".\"' ").upper())
    return _Verdict({"A": 0, "B": 1}.get(side), ground, reason)


def _evidence(
    candidate: Candidate,
    known: Mapping[int, Document],
    prompts: PromptSet,
    weights: Mapping[int, float],
) -> str:
    """The documents behind a candidate: those that vote for it, or else all that support it."""
    behind = candidate.votes or candidate.evidence.supports
    labels = tuple(
        pair.model_copy(update={"label": Label.SUPPORTS, "error": None})
        for pair in candidate.evidence.labels
        if pair.document in behind
    )
    held = ClaimEvidence(claim=candidate.evidence.claim, labels=labels)
    lines = [
        prompts.render(
            "evidence_source",
            number=witness.document.number,
            source=witness.source or "unknown",
            passage=_shown(witness.document, witness.passage),
        )
        for witness in witnesses(held, Label.SUPPORTS, [*known.values()], weights)
    ]
    return "\n".join(lines[:_MOST_DOCUMENTS]) or "none"


def _shown(document: Document, passage: str) -> str:
    """Shown text of a document: all of a short one, or the text around its passage."""
    text = material_line(document.text)
    if len(text) <= _SHOWN_CHARS:
        return text
    at = text.find(passage[:60])
    if not passage or at < 0:
        return passage or f"{text[:_SHOWN_CHARS]} …"
    start = max(0, min(at - (_SHOWN_CHARS - len(passage)) // 2, len(text) - _SHOWN_CHARS))
    end = start + _SHOWN_CHARS
    return f"{'… ' if start else ''}{text[start:end]}{' …' if end < len(text) else ''}"


def newer_side(sides: Sequence[Sequence[int]], known: Mapping[int, Document]) -> int | None:
    """The side of two whose documents, all dated, are newer than all of the other's; else None."""
    dates = [[date_of(known[number]) for number in side] for side in sides]
    if not all(dates) or any(day is None for side in dates for day in side):
        return None
    one, other = ([day for day in side if day] for side in dates)
    if min(one) > max(other):
        return 0
    return 1 if min(other) > max(one) else None


def date_of(document: Document) -> date | None:
    """When a document was published, by its metadata; None where that is not a date."""
    found = _DATE.search(str(document.metadata.get("date") or "")[:40])
    if found is None:
        return None
    year, month, day = (int(part or 1) for part in found.groups())
    try:
        return date(year, month, day)
    except ValueError:
        return None
