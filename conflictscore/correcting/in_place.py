"""Writing an answer in place: each disputed passage is looked at again, and all else stays."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from conflictscore.active_content import without_active_content
from conflictscore.answering.answer_replies import cited_documents, copied, of_the_task, unframed
from conflictscore.answering.answerer import answerer_of
from conflictscore.answering.json_claims import is_prose
from conflictscore.answering.statements import telling_terms
from conflictscore.correcting.look import Correction, NewPassage, propose
from conflictscore.correcting.looking import Looking
from conflictscore.errors import BudgetError, ContextWindowError, ProviderError
from conflictscore.json_answers import new_literal, said_by, value_in
from conflictscore.loop.state import RagState, RunContext, Written, attempts_of, documents_of
from conflictscore.loop.time_budget import spare_time
from conflictscore.markdown import Passage, misfit, passages, spliced
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import material
from conflictscore.records import (
    Answer,
    Attempt,
    Change,
    ClaimEvidence,
    Document,
    RevisionAction,
    SecondLook,
    differs,
)
from conflictscore.threads import at_once, in_time
from conflictscore.tokens import count_tokens

_FEW_PASSAGES = 2  # of an answer whose one claim is taken to answer the question
_AROUND_CHARS = 1500  # how much of the answer is shown before a passage that is written again
_LEAST_TOKENS, _MOST_TOKENS = 320, 4096
_EXCERPT_CHARS = 60
_TRUTH_VALUES = ("true", "false")


class _Disputed(NamedTuple):
    """A passage with its disputed claims, those with most at stake first, and its other claims."""

    passage: Passage
    claims: tuple[ClaimEvidence, ...]
    others: tuple[str, ...]


async def write_in_place(
    last: Attempt, state: RagState, context: RunContext, meter: UsageMeter
) -> Written:
    """Look again at each disputed passage, and put what that comes to in the passage's place.

    The passages are looked at side by side, the one with most at stake first. A look that fails, or
    a text that does not fit, leaves the passage as it is, with a note.
    """
    disputed = _disputed(last)
    looked = await at_once(partial(_look, one, last, state, context, meter) for one in disputed)
    changes = sorted(looked, key=lambda change: change.start)
    notes = tuple(
        f"the passage “{excerpt(change.before)}” stands: {change.note}"
        for change in changes
        if change.note
    )
    if all(change.note for change in changes):
        return Written(tuple(changes), notes=notes if len(notes) > 1 else ())
    spans = [(change.start, change.end, change.after) for change in changes]
    if problem := _in_wrong_form(last.answer.text, spans, context):
        kept = {"accepted": False, "note": problem}
        return Written(tuple(c.model_copy(update=kept | {"after": c.before}) for c in changes))
    text = spliced(last.answer.text, spans)
    answer = explained(Answer(text=text), changes, documents_of(state))
    return Written(tuple(changes), answer, notes)


def explained(answer: Answer, changes: Sequence[Change], documents: Sequence[Document]) -> Answer:
    """An answer with the reasons of the changes that were applied to it."""
    reasons = dict.fromkeys(change.reason for change in changes if change.applied and change.reason)
    if not reasons:
        return answer
    reason = " ".join(reasons)
    cited = cited_documents(reason, [document.number for document in documents])
    return answer.model_copy(update={"justification": reason, "cited": cited})


def excerpt(passage: str) -> str:
    """The beginning of a passage, on one line."""
    folded = " ".join(passage.split())
    return folded if len(folded) <= _EXCERPT_CHARS else f"{folded[:_EXCERPT_CHARS]}…"


def _disputed(last: Attempt) -> list[_Disputed]:
    """The passages with disputed claims, the one with most at stake first.

    Where none of these claims was found in the answer, it is looked at as a whole.
    """
    if last.report is None or not last.report.disputed:
        raise ValueError("an answer is written again only where a claim is disputed")
    answer, report = last.answer.text, last.report
    claims = [report.evidence(n).excluding_zero_weight(report.weights) for n in report.disputed]
    numbers = set(report.disputed)

    def of(passage: Passage, claim: ClaimEvidence) -> bool:
        at = claim.claim.passage
        return at is not None and passage.start <= at[0] < passage.end

    disputed = []
    for passage in passages(answer):
        if held := tuple(claim for claim in claims if of(passage, claim)):
            others = [e for e in report.claims if e.claim.number not in numbers and of(passage, e)]
            disputed.append(_Disputed(passage, held, tuple(e.claim.text for e in others)))
    if not disputed:
        rest = tuple(e.claim.text for e in report.claims if e.claim.number not in numbers)
        whole = Passage(0, len(answer), "whole", (0, len(answer)))
        return [_Disputed(whole, tuple(claims), rest)]
    return sorted(disputed, key=lambda one: claims.index(one.claims[0]))


async def _look(
    disputed: _Disputed, last: Attempt, state: RagState, context: RunContext, meter: UsageMeter
) -> Change:
    answer, passage = last.answer.text, disputed.passage
    before = answer[passage.start : passage.end]
    whole, round_ = passage.kind == "whole", last.round + 1
    kept = Change.kept(before, passage.start, disputed.claims, round=round_, whole=whole)
    shown, is_value = before, passage.kind == "value"
    if is_value and (before in _TRUTH_VALUES or is_prose(before)):
        why = "A truth value, or a value of several sentences, is not replaced."
        return kept.model_copy(update={"reason": why})
    write = partial(_written, passage, last, state, context, meter)
    looking = _looking(last, state, context, meter)
    if is_value:  # a dispute cannot be told in a value; a note tells it
        shown, looking = said_by(before), replace(looking, unsettled="keep")
    try:
        alone, others = before.strip() == answer.strip(), disputed.others
        proposal = await propose(shown, disputed.claims, others, looking, write, alone=alone)
    except (ProviderError, ContextWindowError, BudgetError) as error:
        return kept.model_copy(update={"accepted": False, "note": str(error)})
    reason = without_active_content(proposal.reason)
    looked = kept.model_copy(update={"looks": proposal.looks, "reason": reason})
    text = proposal.text.rstrip()
    text = text.replace("\r\n", "\n").replace("\n", "\r\n") if "\r\n" in answer else text
    if not differs(shown, text):
        return looked
    if _stands_elsewhere(text, disputed, answer, proposal.looks):
        # the right answer stands beside the wrong one, which then has nothing to say any more
        start, end = passage.cut
        gone = {"start": start, "end": end, "before": answer[start:end], "after": ""}
        return looked.model_copy(update=gone | {"action": RevisionAction.REMOVE})
    problem = misfit(answer, passage, text)
    if is_value and not problem:
        problem = _invented(shown, text, proposal)
        text = new_literal(before, text) or before
    problem = problem or _in_wrong_form(answer, [(passage.start, passage.end, text)], context)
    if problem and is_value:  # checked all the same; a note says that the value is disputed
        return looked.model_copy(update={"reason": f"{reason} It stays: {problem}."})
    if problem:
        return looked.model_copy(update={"accepted": False, "note": problem})
    return looked.model_copy(update={"after": text, "action": _action(proposal.looks)})


def _action(looks: Sequence[SecondLook]) -> RevisionAction:
    """The action on a passage that looks changed."""
    decisions = {look.decision for look in looks}
    if "hedge" in decisions:
        return RevisionAction.HEDGE
    return RevisionAction.EXPLAIN if "explain" in decisions else RevisionAction.REPLACE


def _invented(before: str, text: str, proposal: NewPassage) -> str | None:
    """Why a value says what no winner says; None where it does not."""
    winners = (look.candidates[look.rival or 0].statement for look in proposal.looks)
    known = telling_terms(before).union(*map(telling_terms, winners))
    new = sorted(telling_terms(text) - known)
    return f"nothing that was found says “{new[0]}”" if new else None


def _in_wrong_form(
    answer: str, changes: Sequence[tuple[int, int, str]], context: RunContext
) -> str | None:
    """Why an answer with changes is not in the form that was asked for; None where it is."""
    return context.answer_check and context.answer_check(spliced(answer, changes))


def _stands_elsewhere(
    text: str, disputed: _Disputed, answer: str, looks: Sequence[SecondLook]
) -> bool:
    """Whether another passage says what takes the place of one that claims nothing else."""
    if disputed.others or any(look.decision != "replace" for look in looks):
        return False
    rest = (p for p in passages(answer) if p != disputed.passage)
    said = any(not differs(answer[p.start : p.end], text) for p in rest)
    return said and misfit(answer, disputed.passage, "") is None


def _looking(last: Attempt, state: RagState, context: RunContext, meter: UsageMeter) -> Looking:
    report = last.report
    return Looking(
        question=state["question"],
        answer=last.answer.text,
        documents=documents_of(state),
        duplicates=report.duplicates if report else {},
        weights=report.weights if report else {},
        unsettled=context.settings.unsettled,
        reader=context.reader(meter),
        judge=context.judge(meter),
        labeler=context.labeler,
        cache=context.cache,
        seconds=spare_time(state, context, attempts_of(state)),
        only_claim=report is not None
        and len(report.claims) == 1
        and len(passages(last.answer.text)) <= _FEW_PASSAGES,
    )


async def _written(
    passage: Passage,
    last: Attempt,
    state: RagState,
    context: RunContext,
    meter: UsageMeter,
    text: str,
    corrections: Iterable[Correction],
) -> str:
    answer, render = last.answer.text, context.prompts.render
    fields = ("question", "before", "passage", "corrections")
    ours = render("put_in", **dict.fromkeys(fields, ""))
    prompt = render(
        "put_in",
        question=material(state["question"]),
        before=material(answer[: passage.start][-_AROUND_CHARS:]),
        passage=material(text),
        corrections="\n\n".join(
            render("put_in_correction", wrong=material(one.wrong), right=material(one.right))
            for one in corrections
        ),
    )

    def read(reply: str) -> str:
        new = unframed(value_in(reply.strip(), answer, passage.start), text)
        if copied(new, ours, text):
            raise ValueError(f"the new passage, “{excerpt(new)}”, is copied from the request")
        if of_the_task(new, text):
            raise ValueError(f"the new passage, “{excerpt(new)}”, speaks of the passage itself")
        if not new:
            raise ValueError("it was empty")
        if problem := misfit(answer, passage, new):
            raise ValueError(problem)
        return new

    length = count_tokens(text)
    async with in_time("the model"):
        return await answerer_of(context).reply(
            state, prompt, read, meter, max_tokens=min(_MOST_TOKENS, _LEAST_TOKENS + 2 * length)
        )
