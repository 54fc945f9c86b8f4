"""Corrects the disputed passages of an answer in place, and keeps everything else.

Limits without a stated reason were chosen by hand.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from conflictscore.active_content import without_active_content
from conflictscore.answering.answer_replies import cited_documents, copied, of_the_task, unframed
from conflictscore.answering.answerer import answerer_of
from conflictscore.answering.json_claims import is_prose
from conflictscore.answering.statements import telling_terms, words_beside_values
from conflictscore.correcting.looking import Looking
from conflictscore.correcting.proposal import Correction, NewPassage, propose
from conflictscore.correcting.wording import can_stand_for
from conflictscore.errors import BudgetError, ContextWindowError, FailureKind, ProviderError
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
from conflictscore.values import StatedValue, all_values_in, values_in

_FEW_PASSAGES = 2
"""Maximum number of passages in an answer whose only claim is assumed to answer the question.

Two passages allow for the claim and a sentence that introduces it. In a longer answer, the model
must have overlooked other claims, so the only listed claim may not answer the question.
"""
_AROUND_CHARS = 1500
"""Number of characters of the preceding text that the model sees when it rewrites a passage. The
preceding text shows the style, and the nouns that the passage's pronouns refer to.
"""
_LEAST_TOKENS, _MOST_TOKENS = 320, 4096
"""Lower and upper limit for the reply tokens of a rewritten passage, which may be one sentence
longer than the old passage."""
_EXCERPT_CHARS = 60  # characters of a passage in a note: enough to recognise it
_TRUTH_VALUES = ("true", "false")
# If a passage lacks at least this many words of its claim, another passage may make the claim.
_FOREIGN_WORDS = 2


class _Dispute(NamedTuple):
    """A passage, its disputed claims (the most important first), and its other claims."""

    passage: Passage
    claims: tuple[ClaimEvidence, ...]
    others: tuple[str, ...]


async def write_in_place(
    last: Attempt, state: RagState, context: RunContext, meter: UsageMeter
) -> Written:
    """Take a second look at each disputed passage, and replace the passage with the outcome.

    A second look is a new examination of one disputed claim (``look.py``). Passages are examined
    concurrently, starting with the one that has the most important claim. If a look fails or the
    new text does not fit, the passage is kept and a note is added.
    """
    disputes = _disputes_in(last)
    changes_by_stake = await at_once(
        partial(_look, dispute, last, state, context, meter) for dispute in disputes
    )
    changes = sorted(changes_by_stake, key=lambda change: change.start)
    kept_notes = tuple(
        f"the passage “{excerpt(change.before)}” was kept: {change.note}"
        for change in changes
        if change.note
    )
    notes = (*kept_notes, *_notes_on_unplaced(last, disputes))
    if all(change.note for change in changes):
        # the caller itself reports why the first passage was kept
        return Written(tuple(changes), notes=notes if len(notes) > 1 else ())
    spans = [(change.start, change.end, change.after) for change in changes]
    if problem := _in_wrong_form(last.answer.text, spans, context):
        # each change fits alone, but together they do not fit, and it is unclear which one to
        # drop
        refusal = {"accepted": False, "note": problem}
        return Written(tuple(c.model_copy(update=refusal | {"after": c.before}) for c in changes))
    text = spliced(last.answer.text, spans)
    new_answer = Answer(text=text, early_ending=last.answer.early_ending)
    answer = explained(new_answer, changes, documents_of(state))
    return Written(tuple(changes), answer, notes)


def explained(answer: Answer, changes: Sequence[Change], documents: Sequence[Document]) -> Answer:
    """Return the answer, with the reasons for its changes as its justification."""
    reasons = dict.fromkeys(change.reason for change in changes if change.applied and change.reason)
    if not reasons:
        return answer
    reason = " ".join(reasons)
    cited_numbers = cited_documents(reason, [document.number for document in documents])
    return answer.model_copy(update={"justification": reason, "cited": cited_numbers})


def excerpt(passage: str) -> str:
    """Return the beginning of a passage, on one line."""
    line = " ".join(passage.split())
    return line if len(line) <= _EXCERPT_CHARS else f"{line[:_EXCERPT_CHARS]}…"


def _disputes_in(last: Attempt) -> list[_Dispute]:
    """Return the passages with disputed claims; the most important claim's passage is first.

    If no disputed claim could be located in the answer, the whole answer counts as one passage.
    Documents with a weight of 0 are left out, since such a document can neither dispute nor replace
    a claim.
    """
    if last.report is None or not last.report.disputed:
        raise ValueError("an answer is edited only if a claim is disputed")
    answer, report = last.answer.text, last.report
    claims = [report.evidence(n).excluding_zero_weight(report.weights) for n in report.disputed]
    others = [each for each in report.claims if each.claim.number not in report.disputed]
    disputes = []
    for passage in passages(answer):
        claims_here = tuple(claim for claim in claims if _makes(passage, claim))
        if claims_here:
            others_here = tuple(each.claim.text for each in others if _makes(passage, each))
            disputes.append(_Dispute(passage, claims_here, others_here))
    if not disputes:
        whole = Passage(0, len(answer), "whole", (0, len(answer)))
        return [_Dispute(whole, tuple(claims), tuple(each.claim.text for each in others))]
    # claims follow the order of report.disputed, with the most important claim first
    return sorted(disputes, key=lambda dispute: claims.index(dispute.claims[0]))


def _notes_on_unplaced(last: Attempt, disputes: Sequence[_Dispute]) -> Iterator[str]:
    """Yield a note for each disputed claim that stays uncorrected because no passage makes it."""
    examined = {claim.claim.number for dispute in disputes for claim in dispute.claims}
    for number in last.report.disputed if last.report else ():
        if last.report and number not in examined:
            text = excerpt(last.report.evidence(number).claim.text)
            yield f"the claim “{text}” is disputed, but its place in the answer was not found"


def _makes(passage: Passage, evidence: ClaimEvidence) -> bool:
    """Return whether a claim belongs to a passage: its span begins in the passage."""
    span = evidence.claim.passage
    return span is not None and passage.start <= span[0] < passage.end


async def _look(
    dispute: _Dispute, last: Attempt, state: RagState, context: RunContext, meter: UsageMeter
) -> Change:
    """Take a second look at a disputed passage; if the look fails, nothing changes.

    A value of a JSON answer is compared as plain words. A value cannot state both sides of a
    dispute, so it is not changed if the dispute is not settled.
    """
    answer, passage = last.answer.text, dispute.passage
    before = answer[passage.start : passage.end]
    whole, round_ = passage.kind == "whole", last.round + 1
    no_change = Change.kept(before, passage.start, dispute.claims, round=round_, whole=whole)
    shown_text, looking = before, _looking(last, state, context, meter)
    if passage.kind == "value":
        # a document's answer is one statement; it cannot replace true, false or several sentences
        if before in _TRUTH_VALUES or is_prose(before):
            why = (
                "A value that is “true” or “false”, or is several sentences long, is not replaced."
            )
            return no_change.model_copy(update={"reason": why})
        shown_text, looking = said_by(before), replace(looking, unsettled="keep")
    write = partial(_written, passage, last, state, context, meter)
    try:
        alone, others = before.strip() == answer.strip(), dispute.others
        proposal = await propose(shown_text, dispute.claims, others, looking, write, alone=alone)
    except (ProviderError, ContextWindowError, BudgetError) as error:
        failure = {"note": str(error), "failure": error.failure}
        return no_change.model_copy(update={"accepted": False, **failure})
    reason = without_active_content(proposal.reason)  # the reason quotes documents
    change = no_change.model_copy(update={"looks": proposal.looks, "reason": reason})
    return _put_in(change, dispute, shown_text, proposal, answer, context)


def _put_in(
    change: Change,
    dispute: _Dispute,
    shown_text: str,
    proposal: NewPassage,
    answer: str,
    context: RunContext,
) -> Change:
    """Add the proposed text to a change, if the text fits in place of the passage.

    Args:
        change: The change, with its looks but without a new text.
        dispute: The passage and its claims.
        shown_text: The passage in the form that the looks examined; if the passage is a JSON value,
            the words of the value.
        proposal: The proposed text.
        answer: The whole answer.
        context: The run's context, which specifies the form that the answer must have.
    """
    passage, is_value = dispute.passage, dispute.passage.kind == "value"
    misplaced_looks = (look for look in proposal.looks if _is_misplaced(look, shown_text, answer))
    if (look := next(misplaced_looks, None)) is not None:
        why = f"it does not say what is disputed: “{excerpt(look.candidates[0].statement)}”"
        refusal = {"accepted": False, "note": why, "failure": FailureKind.FAILED}
        return change.model_copy(update=refusal)
    text = proposal.text.rstrip()
    if "\r\n" in answer:  # models always write \n, even if the answer's lines end in \r\n
        text = text.replace("\r\n", "\n").replace("\n", "\r\n")
    if not differs(shown_text, text):
        return change
    if _stands_elsewhere(text, dispute, answer, proposal.looks):
        # a replacement would repeat a statement that the answer already makes
        start, end = passage.cut
        removal = {"start": start, "end": end, "before": answer[start:end], "after": ""}
        return change.model_copy(update=removal | {"action": RevisionAction.REMOVE})
    problem = misfit(answer, passage, text)
    if is_value and not problem:
        # the guard checks sentences by their claims, but a bare word or number makes no claim
        problem = _invented(shown_text, text, proposal)
        # a text that is not of the value's type, such as a word for a number, changes nothing
        text = new_literal(change.before, text) or change.before
    problem = problem or _in_wrong_form(answer, [(passage.start, passage.end, text)], context)
    if problem and is_value:  # this is not a failure, so the problem is added to the reason
        return change.model_copy(update={"reason": f"{change.reason} The value stays: {problem}."})
    if problem:
        return change.model_copy(update={"accepted": False, "note": problem})
    return change.model_copy(update={"after": text, "action": _action(proposal.looks)})


def _is_misplaced(look: SecondLook, passage: str, answer: str) -> bool:
    """Return whether a replaced claim was read from another passage than the one to be changed.

    A claim may combine two sentences, of which only one gives the disputed value. A sentence that
    refers back to the value ("in the same year") has most words of its claim.
    """
    if look.decision != "replace" or look.rival is None:
        return False
    own, rival_values = look.candidates[0].statement, values_in(look.counterpart.statement)
    own_values = [v for v in values_in(own) if not any(v.agrees(each) for each in rival_values)]
    disputed_values = [
        each for each in own_values if any(_are_rivals(each, new) for new in rival_values)
    ]
    if not disputed_values or _has_any(disputed_values, passage):
        return False
    foreign = words_beside_values(own) - telling_terms(passage)
    return len(foreign) >= _FOREIGN_WORDS and _has_any(disputed_values, answer)


def _are_rivals(own: StatedValue, rival: StatedValue) -> bool:
    return can_stand_for(own, rival) and own.is_year == rival.is_year


def _has_any(stated_values: Sequence[StatedValue], text: str) -> bool:
    return any(each.agrees(own) for each in all_values_in(text) for own in stated_values)


def _action(looks: Sequence[SecondLook]) -> RevisionAction:
    """Return the kind of change that results from the decisions of the looks."""
    decisions = {look.decision for look in looks}
    if "hedge" in decisions:
        return RevisionAction.HEDGE
    return RevisionAction.EXPLAIN if "explain" in decisions else RevisionAction.REPLACE


def _invented(before: str, text: str, proposal: NewPassage) -> str | None:
    """Return why a new value is refused; None if all its words occur in the candidates.

    The value may come from a model that wrote more than it was asked for.
    """
    statements = (look.counterpart.statement for look in proposal.looks)
    known_terms = telling_terms(before).union(*map(telling_terms, statements))
    new = sorted(telling_terms(text) - known_terms)
    return f"no document's answer contains “{new[0]}”" if new else None


def _in_wrong_form(
    answer: str, changes: Sequence[tuple[int, int, str]], context: RunContext
) -> str | None:
    """Return why the changed answer violates the caller's JSON schema; None if it is valid."""
    return context.answer_check and context.answer_check(spliced(answer, changes))


def _stands_elsewhere(
    text: str, dispute: _Dispute, answer: str, looks: Sequence[SecondLook]
) -> bool:
    """Return whether a passage makes no other claim, and a different passage makes the same claim.

    A passage whose claim is also made elsewhere can be removed. A passage that describes a dispute
    is never removed.
    """
    if dispute.others or any(look.decision != "replace" for look in looks):
        return False
    rest = (p for p in passages(answer) if p != dispute.passage)
    is_said = any(not differs(answer[p.start : p.end], text) for p in rest)
    return is_said and misfit(answer, dispute.passage, "") is None


def _looking(last: Attempt, state: RagState, context: RunContext, meter: UsageMeter) -> Looking:
    report = last.report
    return Looking(
        question=state["question"],
        is_question_clear=state.get("is_question_clear", True),
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
    """Ask the answerer to put corrections into a passage.

    The prompt contains the end of the preceding text. ``text`` is the passage after the corrections
    that needed no model. A reply that counts as unreadable is requested once more. It counts as
    such if it copies the request, is about the passage itself, or does not fit in place of the
    passage. A caller's agent has no deadline of its own, unlike a model, so the call gets one here.
    """
    answer, render = last.answer.text, context.prompts.render
    fields = ("question", "before", "passage", "corrections")
    ours = render("put_in", **dict.fromkeys(fields, ""))  # the prompt with empty fields
    before = material(answer[: passage.start][-_AROUND_CHARS:])
    pairs = [(material(each.wrong), material(each.right)) for each in corrections]
    prompt = render(
        "put_in",
        question=material(state["question"]),
        before=before,
        passage=material(text),
        corrections="\n\n".join(
            render("put_in_correction", wrong=wrong, right=right) for wrong, right in pairs
        ),
    )
    shown_texts = (before, *(each for pair in pairs for each in pair))

    def read(reply: str) -> str:
        # if the caller's own answerer can only return JSON, it returns the whole answer, with the
        # new value
        new = unframed(value_in(reply.strip(), answer, passage.start), text, shown_texts)
        if copied(new, ours, text):
            raise ValueError(f"the new passage, “{excerpt(new)}”, is copied from the request")
        if of_the_task(new, text):
            raise ValueError(f"the new passage, “{excerpt(new)}”, is about the passage itself")
        if not new:
            raise ValueError("it was empty")
        if not differs(text, new):
            raise ValueError("it was the old passage, without the correction")
        if problem := misfit(answer, passage, new):
            raise ValueError(problem)
        return new

    length = count_tokens(text)
    async with in_time("the model"):
        return await answerer_of(context).reply(
            state, prompt, read, meter, max_tokens=min(_MOST_TOKENS, _LEAST_TOKENS + 2 * length)
        )
