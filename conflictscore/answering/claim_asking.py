"""Asks a model for the claims of an answer or passage (paper, section 3, step 1; Table 6).

A short answer ("Yes.", "1871") is rewritten as one statement, since without its question it says
nothing that a document could support. A longer answer is split into claims, and the prompt includes
its question. If the claims leave out part of the answer, the model is asked about that part once
more. All limits below were chosen by hand.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar, cast

from conflictscore.answering.answer_replies import copied
from conflictscore.answering.claim_coverage import (
    UnclaimedPart,
    gaps_of,
    states_nothing,
    unclaimed_in,
)
from conflictscore.answering.claim_order import is_jumbled
from conflictscore.answering.claim_places import Placed, place_order, placed_claims, untranslated
from conflictscore.answering.claim_repairs import (
    sentences_as_claims,
    sole_statement,
    stands_alone,
    with_uncovered_sentences,
    without_idle_claims,
)
from conflictscore.answering.claim_replies import read_claims, read_placed_claims
from conflictscore.answering.claim_roles import exchanged_roles
from conflictscore.answering.declining import asserts_nothing
from conflictscore.answering.json_claims import claims_of_values
from conflictscore.answering.meta_claims import about_the_world
from conflictscore.answering.short_answers import read_statement, statement_of_yes_or_no
from conflictscore.errors import BudgetError, ProviderError, UnreadableReplyError
from conflictscore.json_answers import is_json
from conflictscore.loop.rounds import may_look_again
from conflictscore.loop.state import RagState, Reader, RunContext, documents_of
from conflictscore.markdown import passages, place_of
from conflictscore.prompts import material, material_line
from conflictscore.records import Claim, Document, Gap, GapKind
from conflictscore.scripts import words_in
from conflictscore.threads import LONG_CHARS, read_in_thread
from conflictscore.tokens import count_tokens

T = TypeVar("T")
C = TypeVar("C", bound=str | tuple[str, str])
_Read = Callable[[str, str], tuple[C, ...]]  # reads a reply; its second argument is the answer
_Span = tuple[int, int]

_LEAST_TOKENS = 160  # Enough for the claims of a short answer.
# Stops a model that repeats itself. The claims of an answer of about 500 tokens fit; if a reply is
# cut off here, it is unreadable, and the answer has no score.
_MOST_TOKENS = 2048
_TOKENS_PER_TOKEN = 4
"""Reply tokens per token of the answer.

Claims repeat names, so together they are longer than the answer. A reply that exceeds this limit
contains more than claims.
"""
# Maximum number of words in an answer that is not sent to a model because it only refuses, greets
# or asks, such as "I don't know.". With more words, it may state something in addition.
_FEW_WORDS = 4
# Maximum number of words in an answer that is rewritten as one statement. With more words, an
# answer usually has a subject and a verb of its own, and may make several claims.
_SHORT = 6
# Characters of the answer shown before a passage that is split: a few sentences, which contain the
# nouns that most pronouns of the passage refer to.
_BEFORE_CHARS = 600


_NOTHING = Gap(
    kind=GapKind.STATES_NOTHING, note="it refuses, greets or asks a question, and states nothing"
)


class AnswerClaims(NamedTuple):
    """The claims of an answer.

    Attributes:
        claims: The claims that assert something about the world.
        gaps: Parts of the answer that no claim covers.
        asserting_nothing: Texts of claims that were left out because they refuse, profess
            ignorance, greet or ask: no document can support them.
    """

    claims: tuple[Claim, ...]
    gaps: tuple[Gap, ...] = ()
    asserting_nothing: tuple[str, ...] = ()


async def claims_of_answer(
    answer: str, state: RagState, context: RunContext, judge: Reader
) -> AnswerClaims:
    """Split an answer into claims, by a method that depends on its format and the run's settings.

    Each value of a JSON answer becomes a statement. If the answer may be corrected in place, each
    claim records its passage. Passages are not needed for an answer that chooses an option, or in
    the paper's loop. If the question contains the statement, a bare yes or no becomes a claim
    without a model call.

    Raises:
        ProviderError: The model returned no readable claims.
        BudgetError: The run's budget is used up.
    """
    question = state.get("question", "")
    if is_json(answer):
        return await _claims_of_json(answer, question, judge)
    # An answer that is only scored has no question and is not corrected, so its claims need no
    # place in the answer.
    in_place = context.settings.regeneration == "revise" and bool(question)
    short = in_place and _is_short(answer)
    asking = _Asking(answer, material_line(question) if in_place else "", judge)
    if short and (claims := _claims_without_a_call(asking.question, answer)):
        return claims
    # if min_coverage is set, the caller needs to know whether everything was checked
    checks_all = context.settings.min_coverage is not None
    if state.get("options") or not (in_place or checks_all):
        texts = await (asking.statement() if short else asking.claims())
        return _asserting([(text, None) for text in texts])
    if short:
        return await _claim_of_short(asking, documents_of(state))
    # only a correction needs exact places, and the longer form of the reply costs more tokens
    names_places = in_place and may_look_again(state.get("attempts", ()), context)
    documents = documents_of(state)
    return await _claims_of_longer(asking, question, documents, by_model=names_places)


async def _claims_of_longer(
    asking: "_Asking", question: str, documents: Sequence[Document], *, by_model: bool
) -> AnswerClaims:
    """Return the located claims of an answer; the claims of an embedded model are repaired."""
    answer, judge = asking.answer, asking.judge
    located_claims = await asking.placed_claims(by_model=by_model)
    located_claims = untranslated(located_claims, answer, documents)
    if judge.model.is_local:
        located_claims = await off_the_loop(without_idle_claims, answer, located_claims, question)
    return await _with_the_rest(located_claims, answer, question, judge)


def _claims_without_a_call(question: str, answer: str) -> AnswerClaims | None:
    """Return the claims of a short answer that says yes or no, or refuses; None otherwise."""
    if statement := statement_of_yes_or_no(question, answer):
        return AnswerClaims(placed_claims([(statement, _place(statement, "", answer))]))
    if _only_declines(answer):
        return AnswerClaims((), (_NOTHING,), (material_line(answer),))
    return None


async def _claims_of_json(answer: str, question: str, judge: Reader) -> AnswerClaims:
    """Return the claims of a JSON answer, one for each value, with gaps for omitted values.

    If values were left out, there are no other gaps, since an uncovered part would report such a
    value for a second time. If not, the gaps are the parts of the answer that no claim covers.
    """
    json_claims = await claims_of_values(answer, question, judge)
    gaps = tuple(Gap(kind=GapKind.UNCLAIMED, note=note) for note in json_claims.left_out)
    gaps = gaps or gaps_of(answer, json_claims.claims, question)
    return AnswerClaims(placed_claims(json_claims.claims), gaps)


async def _claim_of_short(asking: "_Asking", documents: Sequence[Document]) -> AnswerClaims:
    """Return the claim that a short answer makes, as one full statement.

    The statement is accepted only if it says what the answer says. So nothing can be missing, and
    the model is not asked about missing text.
    """
    texts = await asking.statement()
    located_claims = _placed([(text, "") for text in texts], asking.answer)
    claims = _asserting(untranslated(located_claims, asking.answer, documents))
    return claims if claims.claims else claims._replace(gaps=(_NOTHING,))


async def claims_of_passage(before: str, passage: str, judge: Reader) -> tuple[str, ...]:
    """Return the claims of a passage; the model also sees the text before the passage."""
    render = partial(judge.prompts.render, "decompose_passage")
    prompt = render(before=material(before[-_BEFORE_CHARS:]), answer=material(passage))
    read_own = partial(_read_own, read_claims, render(before="", answer=""), passage)
    try:
        return await _ask(prompt, passage, read_own, judge)
    except UnreadableReplyError:
        # a sentence that a small model cannot split is checked as a whole
        if judge.model.is_local and stands_alone(passage):
            return (passage,)
        raise


@dataclass(frozen=True)
class _Asking:
    """An answer with its question, if it has one, and the model that splits it."""

    answer: str
    question: str
    judge: Reader

    async def claims(self) -> tuple[str, ...]:
        """Ask for claims without their places, since models find this format easier."""
        return await self._ask_in(read_claims)

    async def placed_claims(self, *, by_model: bool) -> list[Placed]:
        """Ask for claims, and find their places in the answer.

        If ``by_model`` is true, the model names the place of each claim. Some small models cannot
        keep to that format; such models are then asked for the claims only. If the model does not
        name the place of a claim, the claim is located by comparing words. An embedded model is not
        asked about an answer that is one plain sentence.
        """
        if self.judge.model.is_local and (statement := sole_statement(self.answer)):
            return [statement]
        if by_model:
            form = self.judge.prompts.render("decompose_places")
            # a model that cannot keep to the longer form may manage a plain list
            with suppress(UnreadableReplyError):
                return _placed(await self._ask_in(read_placed_claims, form), self.answer)
        try:
            return _placed([(text, "") for text in await self.claims()], self.answer)
        except UnreadableReplyError:
            if self.judge.model.is_local and (sentences := sentences_as_claims(self.answer)):
                return sentences
            raise

    async def statement(self) -> tuple[str, ...]:
        """Ask for the one statement that a short answer makes in reply to its question."""
        render = partial(self.judge.prompts.render, "decompose_short")
        prompt = render(question=self.question, answer=material_line(self.answer))
        ours = render(question="", answer="")
        read_reply = partial(read_statement, self.question)
        read_own = partial(_read_own, read_reply, ours, self.answer)
        return await _ask(prompt, self.answer, read_own, self.judge)

    async def _ask_in(self, read_reply: _Read[C], form: str = "") -> tuple[C, ...]:
        """Ask for claims in a given format; the prompt includes the question, if there is one."""
        render = self.judge.prompts.render
        parts, ours = [render("decompose", answer=material(self.answer))], [form]
        ours.append(render("decompose", answer=""))
        if self.question:
            parts.append(render("decompose_question", question=self.question))
            ours.append(render("decompose_question", question=""))
        prompt = "\n\n".join([*parts, form] if form else parts)
        own = partial(_read_own, read_reply, "\n".join(ours), self.answer, question=self.question)
        return await _ask(prompt, self.answer, own, self.judge)


async def _with_the_rest(
    located_claims: list[Placed], answer: str, question: str, judge: Reader
) -> AnswerClaims:
    """Add claims for parts that the first claims left out, and report any parts still not covered.

    The model is asked once more about the parts that no claim covers fully. If the model replies
    that these parts claim nothing, the reply is not trusted. Instead, the words of the parts decide
    whether they claim something.
    """
    parts = await off_the_loop(unclaimed_in, answer, located_claims, question)
    parts_left: Sequence[UnclaimedPart] | None = parts
    failure_note = ""
    if parts:
        try:
            rest = "\n\n".join(answer[part.start : part.end] for part in parts)
            # even if the call below fails, `parts` is valid: it lists passages of misread claims
            located_claims = _without_misread(located_claims, answer, parts)
            texts = await claims_of_passage(answer[: parts[0].start], rest, judge)
            located_claims = with_more(located_claims, texts, answer)
            parts_left = None  # the claims have changed, so the parts must be determined again
        except (ProviderError, BudgetError) as failure:
            # with some claims, the answer is checked in part; without any, the check has failed
            if not located_claims:
                raise
            failure_note = f" ({failure})"
        if judge.model.is_local:  # the second reply may contain such claims too
            located_claims = without_idle_claims(answer, located_claims, question)
            parts = await off_the_loop(unclaimed_in, answer, located_claims, question)
            located_claims = with_uncovered_sentences(located_claims, answer, parts)
            parts_left = None
    find_gaps = partial(gaps_of, parts=parts_left)
    gaps = await off_the_loop(find_gaps, answer, located_claims, question, failure_note)
    claims = _asserting(located_claims)
    if located_claims and not claims.claims and not gaps:
        gaps = (_NOTHING,)
    return claims._replace(gaps=gaps)


def _without_misread(
    located_claims: Sequence[Placed], answer: str, parts: Sequence[UnclaimedPart]
) -> list[Placed]:
    """Leave out jumbles of words, and claims that swap the roles that the answer states."""
    passages_left = [answer[part.start : part.end] for part in parts if part.in_others]
    return [
        (text, span)
        for text, span in located_claims
        if not is_jumbled(text, answer)
        and not any(exchanged_roles(text, passage) for passage in passages_left)
    ]


def _asserting(located_claims: Sequence[Placed]) -> AnswerClaims:
    """Return the claims that assert something, and the texts of all other claims."""
    silent = [text for text, _ in located_claims if asserts_nothing(text)]
    claims = placed_claims([each for each in located_claims if each[0] not in silent])
    return AnswerClaims(claims, asserting_nothing=tuple(silent))


async def off_the_loop(compare: Callable[..., T], answer: str, *more: object) -> T:
    """Compare an answer with its claims, in a thread if the answer is long."""
    if len(answer) < LONG_CHARS:
        return compare(answer, *more)
    return await read_in_thread(partial(compare, answer, *more), len(answer))


def with_more(located_claims: Sequence[Placed], texts: Sequence[str], answer: str) -> list[Placed]:
    """Add the claims whose text is new, and sort all claims by their place in the answer."""
    before = {text.casefold() for text, _ in located_claims}
    new = [(text, "") for text in texts if text.casefold() not in before]
    return sorted([*located_claims, *_placed(new, answer)], key=place_order)


def _is_short(answer: str) -> bool:
    """Return whether an answer is too short to be checked without its question."""
    return 0 < len(words_in(answer)) <= _SHORT and len(passages(answer)) == 1


def _only_declines(answer: str) -> bool:
    """Return whether a short answer without a number only refuses, greets or asks."""
    is_bare = len(words_in(answer)) <= _FEW_WORDS and not any(map(str.isdigit, answer))
    return is_bare and asserts_nothing(answer)


def _placed(claims: Sequence[tuple[str, str]], answer: str) -> list[Placed]:
    """Locate each claim in the answer, with the help of the first words of its passage."""
    return [(text, _place(text, opening, answer)) for text, opening in claims]


def _place(claim: str, opening: str, answer: str) -> _Span | None:
    """Return the span of the passage that makes a claim; None if it is unknown."""
    place = place_of(claim, opening, answer)
    if place is None and _is_short(answer):  # "No." has no word in common with its claim
        [place] = passages(answer)
    return (place.start, place.end) if place else None


def _read_own(
    read_reply: _Read[C], ours: str, answer: str, reply: str, *, question: str = ""
) -> tuple[C, ...]:
    """Return the claims in a reply, except claims about the answer and copies of the request.

    ``ours`` is the request without the answer and the question. Whether the remaining claims cover
    the answer is decided afterwards. Raise ValueError if every claim is copied and the answer
    states something.
    """
    claims = read_reply(reply, answer)
    texts = [claim if isinstance(claim, str) else claim[0] for claim in claims]
    is_copied = [copied(text, ours, answer) for text in texts]
    if claims and all(is_copied) and not states_nothing(answer, question):
        raise ValueError(f"“{texts[0]}” is copied from the request")
    own = [c for c, of_request in zip(claims, is_copied, strict=True) if not of_request]
    of_world = [_of_the_world(claim, answer, question) for claim in own]
    return tuple(dict.fromkeys(filter(None, of_world)))


def _of_the_world(claim: C, answer: str, question: str) -> C | None:
    """Apply :func:`about_the_world` to the text of a claim, and keep the claim's place."""
    text, place = (claim, ()) if isinstance(claim, str) else (claim[0], claim[1:])
    plain = about_the_world(text, answer, question)
    if plain is None or plain == text:
        return claim if plain else None
    # a text stays a text, and a pair stays a pair, which mypy cannot see
    return cast("C", (plain, *place) if place else plain)


async def _ask(prompt: str, text: str, read_reply: Callable[[str], T], judge: Reader) -> T:
    """Ask the judge to split a text; the longer the text, the more tokens the reply may have."""
    room = min(_MOST_TOKENS, _LEAST_TOKENS + _TOKENS_PER_TOKEN * count_tokens(text))
    return await judge.ask(prompt, read_reply, room)
