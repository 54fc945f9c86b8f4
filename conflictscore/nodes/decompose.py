"""decompose: from an answer to its atomic claims (paper, section 3, step 1; Table 6).

An answer that was written in place keeps the claims of all that was not changed; only what took a
passage's place is taken apart. A short answer ("Yes.", "1871") is taken apart with its question in
view, since alone it says nothing that a document could support.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from conflictscore.answering.answer_replies import copied
from conflictscore.answering.claim_places import Placed, claims_in_place, place_order, placed_claims
from conflictscore.answering.claim_replies import read_claims, read_placed_claims
from conflictscore.answering.json_claims import claims_of_values
from conflictscore.answering.statements import (
    affirms,
    denies,
    opposite,
    restates,
    telling_terms,
)
from conflictscore.correcting.wording import hedge_evidence, passed_over, with_other_number
from conflictscore.errors import BudgetError, ProviderError, UnreadableReplyError
from conflictscore.json_answers import is_json
from conflictscore.labelers.denials import denial_of
from conflictscore.loop.rounds import may_look_again
from conflictscore.loop.state import (
    RagState,
    Reader,
    RunContext,
    RunRuntime,
    attempts_of,
    changes_in,
    draft_of,
    may_be_given_up,
    spent,
    with_changes,
)
from conflictscore.markdown import passages, place_of, unclaimed
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import material, material_line
from conflictscore.records import Answer, Attempt, Change, Claim, SecondLook
from conflictscore.scripts import words_in
from conflictscore.threads import at_once
from conflictscore.tokens import count_tokens

T = TypeVar("T")
C = TypeVar("C", bound=str | tuple[str, str])
_Read = Callable[[str, str], tuple[C, ...]]  # reads a reply, given the answer

_LEAST_TOKENS = 160
_MOST_TOKENS = 2048
_TOKENS_PER_TOKEN = 4
"""Claims repeat names and so are longer than their answer; a reply beyond this rambles."""
_SHORT = 6  # words of an answer that is too short to be checked without its question
_AFFIRMS, _DENIES = ("yes", "true", "correct"), ("no", "false", "incorrect")
_LEAST_WORDS = 3  # of a claim of a short answer: "False" alone is none
_TRUE_OR_FALSE = re.compile(
    r"\s*(?:is (?:it|this|the following)(?: statement)? )?(?:true or (?:is it )?false|true that)"
    r"[:?,]?\s+(?P<statement>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
"""A question that states what it asks about: "True or false: the lamp burns"."""
_ENDS = " .*_"
_BEFORE_CHARS = 600  # how much of the answer is shown before a passage that is taken apart


async def decompose(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Take the draft apart; in multiple choice the chosen option's text is the one claim.

    A decomposer that fails is recorded, and the answer stays without a score; where it fails at a
    changed passage, the change is noted as unchecked.
    """
    answer, meter, error = draft_of(state), UsageMeter(), None
    judge, changes = runtime.context.judge(meter), changes_in(state, len(state.get("attempts", ())))
    claims: tuple[Claim, ...] = ()
    left_out: str | None = None
    if answer.option is not None:
        claims = placed_claims([(answer.text, None)])
    elif changes and not changes[0].whole:
        claims, changes = await _claims_after(changes, state, judge)
        left_out = attempts_of(state)[-1].unclaimed
    else:
        try:
            claims, left_out = await _ask_for_claims(answer, state, runtime.context, judge)
        except (ProviderError, BudgetError) as failure:
            if isinstance(failure, BudgetError) and not may_be_given_up(state, runtime.context):
                raise
            error = f"the answer could not be taken apart into claims: {failure}"
    runtime.stream_writer({"event": "claims", "claims": [c.to_json() for c in claims]})
    return {
        "claims": [claim.to_json() for claim in claims],
        "decomposition_error": error,
        "unclaimed": left_out,
        "changes": with_changes(state, changes),
        "usage": spent(state, meter.usage),
    }


async def _claims_after(
    changes: Sequence[Change], state: RagState, judge: Reader
) -> tuple[tuple[Claim, ...], tuple[Change, ...]]:
    last = attempts_of(state)[-1]
    in_json = is_json(last.answer.text)

    async def take_apart(change: Change) -> Change:
        if not change.differs or not change.after:
            return change
        before = last.answer.text[: change.start]
        hedges = [look for look in change.looks if look.decision == "hedge"]
        update: dict[str, Any]
        try:
            if hedges:
                update = await _claims_of_hedge(change, hedges, last, judge)
            elif change.looks and (in_json or _is_known(change)):
                # the statement that it makes is known, and has its labels
                update = {"new_claims": tuple(_winners(change))}
            else:
                texts = await _ask_for_passage(before, change.after, judge)
                update = {"new_claims": texts}
                left = passed_over(change.after, change.before, texts, state.get("question", ""))
                if left and change.looks:
                    update["note"] = f"it was not taken apart into claims as a whole: {left}"
        except (ProviderError, BudgetError) as failure:
            update = {"note": f"it could not be taken apart into claims: {failure}"}
        return change.model_copy(update=update)

    changed = await at_once(partial(take_apart, change) for change in changes)
    before = [evidence.claim for evidence in last.report.claims] if last.report else []
    return claims_in_place(before, [c for c in changed if c.differs]), changed


def _is_known(change: Change) -> bool:
    """Whether a passage says no more than what won: "No.", "1874", or the claim's own words.

    Those of a document may say more than the answer to the question.
    """
    if len(words_in(change.after)) < _LEAST_WORDS:
        return True
    [winner, *more], own = [*_winners(change), ""], change.looks[0].candidates[0].statement
    return (
        not any(more)
        and change.after.strip(_ENDS) == winner.strip(_ENDS)
        and with_other_number(own, winner) == winner
    )


def _winners(change: Change) -> Iterator[str]:
    for look in change.looks:
        if look.decision == "replace" and look.rival is not None:
            yield look.candidates[look.rival].statement


async def _claims_of_hedge(
    change: Change, hedges: Sequence[SecondLook], last: Attempt, judge: Reader
) -> dict[str, Any]:
    """The claims of a passage that tells a dispute: the dispute, and what else is said in it.

    Only the rival's statement is new in it. A document wrote that, so it is taken apart: more than
    the answer to the question may be in it.
    """
    told, riders = [], list[str]()
    for look in hedges:
        statement = look.candidates[look.rival or 0].statement
        texts = await _ask_for_passage("", statement, judge)
        riders += [one for one in texts if not restates(one, statement, look.question)]
        told.append(hedge_evidence(look).claim.text)
        if left := passed_over(statement, change.before, texts, look.question):
            return {"note": f"it was not taken apart into claims as a whole: {left}"}
    disputed = {look.candidates[0].statement for look in hedges}
    report = last.report
    kept = [e.claim for e in report.claims if change.holds(e.claim)] if report else []
    others = [claim.text for claim in kept if claim.text not in disputed]
    return {"new_claims": tuple(dict.fromkeys([*others, *told, *riders]))}


async def _ask_for_claims(
    answer: Answer, state: RagState, context: RunContext, judge: Reader
) -> tuple[tuple[Claim, ...], str | None]:
    """The claims of an answer, and what of it could not be taken apart, in words."""
    if is_json(answer.text):
        question = state.get("question", "")
        found = await claims_of_values(answer.text, question, judge)
        return placed_claims(found.claims), found.left_out
    render = judge.prompts.render
    prompt, form = render("decompose", answer=material(answer.text)), render("decompose_places")
    ours = f"{render('decompose', answer='')}\n{form}"
    # an answer that is scored alone has no question, and is not given again
    in_place = context.settings.regeneration == "revise" and bool(state.get("question"))
    short = in_place and _is_short(answer.text)
    asked = material_line(state.get("question", ""))
    if short and (known := _stated(asked, answer.text)):
        return placed_claims([(known, _span(known, "", answer.text))]), None
    if short:
        prompt = render("decompose_short", question=asked, answer=material_line(answer.text))
        ours = render("decompose_short", question="", answer="")

    async def ask(read: _Read[C], request: str = prompt) -> tuple[C, ...]:
        own = partial(_read_own, read, ours, answer.text)
        return await _asked(request, answer.text, own, judge)

    # with a least coverage, the caller hears whether all was checked
    told = context.settings.min_coverage is not None
    if state.get("options") or not (in_place or told):
        return placed_claims([(text, None) for text in await ask(read_claims)]), None
    placed = None
    if not short and in_place and may_look_again(state.get("attempts", ()), context):
        with suppress(UnreadableReplyError):  # then claims alone, which is the easier form
            placed = await ask(read_placed_claims, f"{prompt}\n\n{form}")
    if placed is None:
        read: _Read[str] = partial(_read_statement, asked) if short else read_claims
        placed = tuple((text, "") for text in await ask(read))
    spans = [(text, _span(text, opening, answer.text)) for text, opening in placed]
    left, why = _unclaimed(answer.text, spans), ""
    if left:
        try:
            rest = "\n\n".join(answer.text[start:end] for start, end in left)
            more = await _ask_for_passage(answer.text[: left[0][0]], rest, judge)
            held = {text.casefold() for text, _ in spans}
            new = (one for one in more if one.casefold() not in held)
            spans += [(one, _span(one, "", answer.text)) for one in new]
            spans.sort(key=place_order)
            left = _unclaimed(answer.text, spans) if more else ()  # what is left claims nothing
        except (ProviderError, BudgetError) as failure:
            if not spans:
                raise
            why = f" ({failure})"
    if not left:
        return placed_claims(spans), None
    share = sum(end - start for start, end in left) / len(answer.text)
    return placed_claims(spans), f"{share:.0%} of the answer was not taken apart into claims{why}"


def _is_short(answer: str) -> bool:
    """Whether an answer is too short to be checked without its question."""
    return 0 < len(words_in(answer)) <= _SHORT and len(passages(answer)) == 1


def _stated(question: str, answer: str) -> str | None:
    """The statement of a bare yes or no to a question that states what it asks about."""
    asked = _TRUE_OR_FALSE.fullmatch(question)
    if asked is None or opposite(answer) is None:
        return None
    statement = asked["statement"].rstrip(" ?")
    return statement if affirms(answer, question) else denial_of(statement)


def _read_statement(question: str, reply: str, answer: str) -> tuple[str, ...]:
    line = next(filter(None, map(str.strip, reply.splitlines())), "")
    statement = line.removeprefix("Sentence:").strip('"“” ')
    if len(words_in(statement)) < max(_LEAST_WORDS, len(words_in(answer))):
        raise ValueError(f"“{statement}” is no full sentence in answer to the question")
    own = telling_terms(answer) - {*_AFFIRMS, *_DENIES}
    wanted = own or telling_terms(question)
    if wanted and not 2 * len(wanted & telling_terms(statement)) >= (len(own) or 1):
        raise ValueError(f"“{statement}” is not what the answer says")
    first = words_in(answer)[0]
    if first in (*_AFFIRMS, *_DENIES) and affirms(statement, question) != (first in _AFFIRMS):
        if own or first in _AFFIRMS or denies(statement):
            raise ValueError(f"“{statement}” is the opposite of what the answer says")
        return (denial_of(statement),)  # small models write what a bare "No." denies
    return (statement,)


def _span(claim: str, opening: str, answer: str) -> tuple[int, int] | None:
    place = place_of(claim, opening, answer)
    if place is None and _is_short(answer):  # "No." shares no word with what it claims
        [place] = passages(answer)
    return (place.start, place.end) if place else None


def _unclaimed(answer: str, found: Sequence[Placed]) -> tuple[tuple[int, int], ...]:
    return unclaimed(answer, [text for text, _ in found], [span for _, span in found if span])


async def _ask_for_passage(before: str, passage: str, judge: Reader) -> tuple[str, ...]:
    """The claims of a passage, with what the answer says before it in view."""
    render = partial(judge.prompts.render, "decompose_passage")
    prompt = render(before=material(before[-_BEFORE_CHARS:]), answer=material(passage))
    read = partial(_read_own, read_claims, render(before="", answer=""), passage)
    return await _asked(prompt, passage, read, judge)


def _read_own(read: _Read[C], ours: str, answer: str, reply: str) -> tuple[C, ...]:
    """The claims of a reply; one that is copied from the request is none of the answer's."""
    claims = read(reply, answer)
    for claim in claims:
        text = claim if isinstance(claim, str) else claim[0]
        if copied(text, ours, answer):
            raise ValueError(f"“{text}” is copied from the request")
    return claims


async def _asked(prompt: str, text: str, read: Callable[[str], T], judge: Reader) -> T:
    length = count_tokens(text)
    room = min(_MOST_TOKENS, _LEAST_TOKENS + _TOKENS_PER_TOKEN * length)
    return await judge.ask(prompt, read, room)
