"""revise: a second look at what is disputed in an answer, passage by passage and in place."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from conflictscore.errors import BudgetError, ContextWindowError, ProviderError
from conflictscore.markdown import Passage, misfit, passages, spliced
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.answerer import announce, answerer_of, before_stop
from conflictscore.nodes.conflict_details import sourced_details
from conflictscore.nodes.decide import unexplained
from conflictscore.nodes.replies import (
    Revised,
    cited_documents,
    copied,
    of_the_task,
    read_revision,
    unframed,
)
from conflictscore.nodes.state import (
    RagState,
    RunContext,
    RunRuntime,
    attempts_of,
    documents_of,
    spent,
    weights_of,
)
from conflictscore.prompts import material
from conflictscore.records import (
    Answer,
    Attempt,
    ClaimEvidence,
    Document,
    Revision,
    Way,
    differs,
)
from conflictscore.threads import in_time, together
from conflictscore.tokens import count_tokens

__all__ = ["excerpt", "explained", "revise"]

_FEW = 2
"""An answer of so few passages is looked at as a whole."""
_AROUND_CHARS = 1500
"""How much of the answer is shown before a passage, and after it."""
_MOST_CLAIMS = 4
"""The most disputed claims of a passage that are shown with their evidence."""
_LEAST_TOKENS, _MOST_TOKENS = 320, 4096
_EXCERPT_CHARS = 60


class _Doubted(NamedTuple):
    """A passage, and its disputed claims, those with most at stake first."""

    passage: Passage
    claims: tuple[ClaimEvidence, ...]


async def revise(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Ask for each disputed passage what becomes of it, and put that in its place.

    The passages are asked for side by side, the one with most at stake first. One that could not
    be had, or does not fit, leaves the passage as it is, with a note; so does one that comes after
    the run's time. If none could be had, the run ends with the earlier answer.
    """
    last, meter = attempts_of(state)[-1], UsageMeter()
    doubted = _doubted(last)
    revised: dict[int, Revision] = {}

    async def look(number: int) -> None:
        revised[number] = await _revision(doubted[number], last, state, runtime.context, meter)

    async with together() as start:
        for number in range(len(doubted)):
            start(partial(look, number))
    revisions = _apart(revised.values())
    notes = [
        f"the passage “{excerpt(revision.before)}” stands: {revision.note}"
        for revision in revisions
        if revision.note
    ]
    usage = spent(state, meter.usage)
    if all(revision.note for revision in revisions):
        failure = str(revisions[0].note)
        note = f"the earlier answer stands, because it could not be regenerated: {failure}"
        return {
            "decision": "justify" if unexplained(attempts_of(state)) else "record",
            "reason": note,
            "regeneration_error": failure,
            "notes": [*state["notes"], *([note] if len(notes) == 1 else [note, *notes])],
            "usage": usage,
        }
    text = spliced(last.answer.text, [(r.start, r.end, r.after) for r in revisions])
    answer = explained(Answer(text=text), revisions, documents_of(state))
    announce(runtime, last.round + 1, answer)
    return {
        "decision": "regenerate",
        "draft": answer.to_json(),
        "reconsidered": doubted[0].claims[0].to_json(),
        "revisions": [revision.to_json() for revision in revisions],
        "notes": [*state["notes"], *notes],
        "usage": usage,
    }


def _apart(revisions: Iterable[Revision]) -> list[Revision]:
    """Revisions in the order of the answer; white space that two would take goes with the first."""
    apart: list[Revision] = []
    for one in sorted(revisions, key=lambda revision: revision.start):
        by = max(0, apart[-1].end - one.start) if apart else 0
        update = {"start": one.start + by, "before": one.before[by:]}
        apart.append(one.model_copy(update=update) if by else one)
    return apart


def explained(
    answer: Answer, revisions: Sequence[Revision], documents: Sequence[Document]
) -> Answer:
    """An answer with the reasons of the revisions that stand in it."""
    reasons = dict.fromkeys(r.reason for r in revisions if r.stands and r.changes and r.reason)
    if not reasons:
        return answer
    reason = " ".join(reasons)
    cited = cited_documents(reason, [document.number for document in documents])
    return answer.model_copy(update={"justification": reason, "cited": cited})


def excerpt(passage: str) -> str:
    """How a passage begins, on one line."""
    folded = " ".join(passage.split())
    return folded if len(folded) <= _EXCERPT_CHARS else f"{folded[:_EXCERPT_CHARS]}…"


def _doubted(last: Attempt) -> list[_Doubted]:
    """The passages with disputed claims, the one with most at stake first, or the whole answer.

    The whole is looked at where it is one or two passages, where the disputed ones are more than
    half of it, and where no disputed claim was found in it.
    """
    if last.report is None or not last.report.disputed:
        raise ValueError("revise was reached without a disputed claim")
    answer = last.answer.text
    weights = last.report.weights
    disputed = [last.report.evidence(number).heard(weights) for number in last.report.disputed]
    whole = _Doubted(Passage(0, len(answer), "whole", (0, len(answer))), tuple(disputed))
    known = passages(answer)
    held = {
        p: tuple(e for e in disputed if e.claim.passage and p.start <= e.claim.passage[0] < p.end)
        for p in known
    }
    doubted = [_Doubted(passage, claims) for passage, claims in held.items() if claims]
    length = sum(p.end - p.start for p, _ in doubted)
    if len(known) <= _FEW or not doubted or 2 * length > sum(p.end - p.start for p in known):
        return [whole]
    return sorted(doubted, key=lambda doubt: disputed.index(doubt.claims[0]))


async def _revision(
    doubt: _Doubted, last: Attempt, state: RagState, context: RunContext, meter: UsageMeter
) -> Revision:
    answer, passage = last.answer.text, doubt.passage
    ways = _ways(passage, context)
    fields = ("question", "before", "after", "passage", "disputes", "ways")
    ours = context.prompts.render("revise", **dict.fromkeys(fields, ""))

    def read(reply: str) -> Revised:
        revised = read_revision(reply, ways)
        text = unframed(revised.text, before := answer[passage.start : passage.end])
        if copied(text, ours, before):
            raise ValueError(f"the new passage, “{excerpt(text)}”, is copied from the request")
        if of_the_task(text, before):
            raise ValueError(f"the new passage, “{excerpt(text)}”, speaks of the passage itself")
        text = before_stop(text, context.answer_parameters).rstrip()
        if revised.text and not text:
            raise ValueError("a stop word of the caller leaves nothing of it")
        text = text.replace("\n", "\r\n") if "\r\n" in answer else text
        if revised.way is not Way.KEEP and (problem := misfit(answer, passage, text)):
            raise ValueError(problem)
        return revised._replace(text=text)

    length = count_tokens(answer[passage.start : passage.end], context.generator.name).n
    try:
        async with in_time("the one who answers"):
            revised = await answerer_of(context).reply(
                state,
                _prompt(doubt, ways, answer, state, context),
                read,
                meter,
                max_tokens=min(_MOST_TOKENS, _LEAST_TOKENS + 2 * length),
            )
    except (ProviderError, ContextWindowError, BudgetError) as error:
        return _kept(doubt, last, str(error))
    kept = _kept(doubt, last, None)
    # small models say REPLACE and repeat the passage
    repeated = revised.way is not Way.REMOVE and not differs(kept.before, revised.text)
    if revised.way is Way.KEEP or repeated:
        return kept.model_copy(update={"reason": revised.reason})
    start, end = passage.cut if revised.way is Way.REMOVE else (passage.start, passage.end)
    update = {"start": start, "end": end, "before": answer[start:end], "after": revised.text}
    return kept.model_copy(update=update | {"way": revised.way, "reason": revised.reason})


def _kept(doubt: _Doubted, last: Attempt, note: str | None) -> Revision:
    passage = doubt.passage
    before = last.answer.text[passage.start : passage.end]
    return Revision(
        round=last.round + 1,
        start=passage.start,
        end=passage.end,
        before=before,
        after=before,
        way=Way.KEEP,
        whole=passage.kind == "whole",
        claims=doubt.claims,
        stands=note is None,
        note=note,
    )


def _ways(passage: Passage, context: RunContext) -> list[Way]:
    """What may become of a passage; a whole answer is never removed."""
    ways = [Way.REPLACE, Way.HEDGE, Way.REMOVE, Way.KEEP]
    if context.unsettled == "keep":
        ways.remove(Way.HEDGE)
    if passage.kind == "whole":
        ways.remove(Way.REMOVE)
    return ways


def _prompt(
    doubt: _Doubted, ways: Sequence[Way], answer: str, state: RagState, context: RunContext
) -> str:
    passage, prompts, documents = doubt.passage, context.prompts, documents_of(state)
    before, after = answer[: passage.start], answer[passage.end :]
    disputes = [
        prompts.render(
            "revise_claim",
            claim=material(claim.claim.text),
            evidence=sourced_details(claim, documents, prompts, weights_of(state)),
        )
        for claim in doubt.claims[:_MOST_CLAIMS]
    ]
    return prompts.render(
        "revise",
        question=material(state["question"]),
        before=material(before[-_AROUND_CHARS:]),
        after=material(after[:_AROUND_CHARS]),
        passage=material(answer[passage.start : passage.end]),
        disputes="\n\n".join(disputes),
        ways="\n".join(
            prompts.render(
                "revise_keep_unsettled"
                if way is Way.KEEP and Way.HEDGE not in ways
                else f"revise_{way}"
            )
            for way in ways
        ),
    )
