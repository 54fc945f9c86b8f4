"""The documents vote between an answer's claim and its rivals, and what that leaves is weighed.

A document votes for the one statement that it supports against the others. The thresholds and the
rule were chosen on one half of RAMDocs and reported on the other (docs/findings).
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from functools import partial
from typing import Literal, NamedTuple

from conflictscore.active_content import without_active_content
from conflictscore.answering.evidence_text import witnesses
from conflictscore.answering.statements import asks_for_current
from conflictscore.errors import BudgetError, ContextWindowError, ProviderError, brief_reason
from conflictscore.loop.state import Reader
from conflictscore.metric import worth
from conflictscore.models.replies import labelled_lines
from conflictscore.prompts import PromptSet, material, material_line
from conflictscore.records import (
    Candidate,
    ClaimEvidence,
    Document,
    EvidenceLabel,
    Ground,
    Label,
    Ruling,
    Weighing,
)
from conflictscore.threads import at_once

_REPLY_TOKENS = 160
_MOST_DOCUMENTS = 4  # of a side; more of them would be an argument by number
_SHOWN_CHARS = 900
"""Of a document: enough for the sentence that explains an error beside the one that corrects it."""
_DATE = re.compile(r"(?<!\d)(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?(?!\d)")

_LEAST_SUPPORT = 0.4  # P(SUPPORTS) from which a document stands behind a statement
_LEAST_LEAD = 0.1  # by how much P(SUPPORTS) of the statement exceeds that of every other one
_WITNESSES = 2
"""Independent documents that a change takes. One alone is too often a wrong label, or a forgery."""


class VoteOutcome(NamedTuple):
    """The outcome for the passage, and the strongest rival; None where none counts.

    ``open``: counting does not settle it. ``keep``: no rival counts, or a single dissenter.
    """

    kind: Literal["replace", "open", "keep"]
    rival: int | None = None


def votes_of(
    statements: Sequence[ClaimEvidence], given_by: Sequence[Collection[int]]
) -> list[tuple[int, ...]]:
    """For each statement the documents that vote for it, ascending.

    By P(SUPPORTS) where the labeler gives it for all statements: at least .4, and .1 more than for
    every other one. Otherwise by labels: SUPPORTS for this statement and for no other. A document
    that is on the side of several votes for the one that it gave when it was asked alone.
    """
    by_document: dict[int, list[EvidenceLabel | None]] = {}
    for place, statement in enumerate(statements):
        for pair in statement.labels:
            by_document.setdefault(pair.document, [None] * len(statements))[place] = pair
    votes: list[list[int]] = [[] for _ in statements]
    for document, pairs in sorted(by_document.items()):
        gave = [document in givers for givers in given_by]
        if (chosen := _vote(pairs, gave)) is not None:
            votes[chosen].append(document)
    return [tuple(each) for each in votes]


def _vote(pairs: Sequence[EvidenceLabel | None], gave: Sequence[bool]) -> int | None:
    supports = [pair.p_supports if pair else None for pair in pairs]
    known = [p for p in supports if p is not None]
    if len(known) == len(pairs):
        most = max(known) - _LEAST_LEAD
        near = [n for n, p in enumerate(known) if p > most and p >= _LEAST_SUPPORT]
    else:
        near = [n for n, pair in enumerate(pairs) if pair and pair.label is Label.SUPPORTS]
    chosen = near if len(near) == 1 else [n for n in near if gave[n]]
    return chosen[0] if len(chosen) == 1 else None


def tallied(
    statements: Sequence[ClaimEvidence],
    given_by: Sequence[tuple[int, ...]],
    duplicates: Mapping[int, int] = {},
    weights: Mapping[int, float] = {},
    *,
    yes_no: bool = False,
) -> tuple[Candidate, ...]:
    """The statements with their votes."""
    made = list[Candidate]()
    for statement, givers, votes in zip(
        statements, given_by, votes_of(statements, given_by), strict=True
    ):
        # The labels of an opposite are the claim's, turned around: a document has to have said it.
        unsaid = {*votes} - {*givers} if yes_no and made else set[int]()
        audible = tuple(n for n in votes if weights.get(n, 1.0) > 0 and n not in unsaid)
        against = [n for n in statement.contradicts if n not in audible]
        made.append(
            Candidate(
                evidence=statement,
                given_by=givers,
                votes=audible,
                witnesses=len({duplicates.get(n, n) for n in audible}),
                worth=worth(audible, duplicates, weights),
                against=worth(against, duplicates, weights),
            )
        )
    return tuple(made)


def outcome(candidates: Sequence[Candidate]) -> VoteOutcome:
    """Whether a rival takes the place of the answer's own claim, by the vote alone.

    It does with at least two independent witnesses, worth more than those of the claim, and no more
    documents against it than for it. Where two stand behind the claim as well, counting does not
    settle it: errors are copied from source to source, and the few that know better are outvoted. A
    rival for which no document votes that gave it was misread or invented, and does not count.
    """
    claim = candidates[0]
    sound = [
        place
        for place, rival in enumerate(candidates[1:], start=1)
        if rival.witnesses and not set(rival.given_by).isdisjoint(rival.votes)
    ]
    ranked = sorted(sound, key=lambda n: (-candidates[n].worth, candidates[n].against, n))
    for place in ranked:
        rival = candidates[place]
        backed = rival.witnesses >= _WITNESSES and rival.against <= rival.worth
        if backed and rival.worth > claim.worth:
            return VoteOutcome("replace" if claim.witnesses < _WITNESSES else "open", place)
    if not ranked:
        return VoteOutcome("keep")
    best = candidates[ranked[0]]
    dissenter = best.witnesses < _WITNESSES and best.worth < claim.worth
    return VoteOutcome("keep" if dissenter else "open", ranked[0])


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
