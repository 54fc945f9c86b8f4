"""Searches for rivals of a disputed claim: different answers to the claim's own question.

The question is put to each document separately. The answers are compared with the claim. The rivals
among the answers are labelled against all documents.

Limits without a stated reason were chosen by hand.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from conflictscore.answering.claim_repairs import needs_context
from conflictscore.answering.question_terms import answers_loosely, answers_question
from conflictscore.answering.statements import (
    affirms,
    answer_span,
    is_about,
    numbers_in,
    opposite,
    telling_terms,
)
from conflictscore.correcting.looking import Looking
from conflictscore.correcting.own_fact import question_for_value
from conflictscore.correcting.readers import Answered, Rival, ask_documents, own_question
from conflictscore.correcting.relation import Related, related_answers
from conflictscore.correcting.repeating import ToRead, to_read
from conflictscore.correcting.riders import without_riders
from conflictscore.correcting.rival_labels import labelled, rivals_labelled
from conflictscore.correcting.wording import with_other_answer, with_other_number
from conflictscore.correcting.yes_or_no import (
    Readings,
    begins_with_yes_or_no,
    denied,
    is_answer_to_yes_or_no,
    read_yes_or_no,
    says_yes,
)
from conflictscore.labelers.table import overlap_scores
from conflictscore.records import (
    Claim,
    ClaimEvidence,
    Document,
    DroppedReply,
    Label,
    RelatedAnswer,
    Relation,
)

# Maximum number of rivals of a claim; the rivals that the most documents gave are kept. Each rival
# is labelled against all documents.
_MOST_RIVALS = 4
# Maximum number of other things with the same name that are explained. Each explanation adds a
# sentence to the answer, and is labelled against all documents.
_MOST_THINGS = 3
# A document with at least this P(IRRELEVANT) is not queried. With the bundled NLI model on one half
# of RAMDocs, this skips 2 of the 365 documents that give an answer, and 94 of the 137 documents
# that give none.
_SURELY_SILENT = 0.6
# At most this many documents are queried about a claim; each takes a call. The documents with
# a label on either side come first.
_MOST_ASKED = 12


class Rivals(NamedTuple):
    """A claim and its rivals, and the documents' answers that are not rivals.

    Attributes:
        question: The question that was put to the documents.
        evidence: The labels of the claim, followed by those of its rivals.
        given_by: The documents that gave each statement when they were queried separately.
        dropped: Replies that are not answers.
        related: Answers that are not rivals. Answers about other things with the
            same name have labels.
        thing: The name of the thing that the claim is about; empty if no other thing has the same
            name.
        corrects: Indices of the rivals whose document is better informed than the others in the
            judge's view.
        contested: Whether a document that supports the claim is better informed in the judge's
            view.
        is_asked: Whether documents were queried; false if the question that the claim answers could
            not be determined.
        is_denied: Whether the rival is the opposite of a yes-or-no claim.
    """

    question: str
    evidence: tuple[ClaimEvidence, ...]
    given_by: tuple[tuple[int, ...], ...]
    dropped: tuple[DroppedReply, ...] = ()
    related: tuple[RelatedAnswer, ...] = ()
    thing: str = ""
    corrects: tuple[int, ...] = ()
    contested: bool = False
    is_asked: bool = True
    is_denied: bool = False


class _Rival(NamedTuple):
    """A rival, and the answers that become identical to it when reworded like the claim."""

    statement: str
    answers: tuple[Related, ...]

    @property
    def given_by(self) -> tuple[int, ...]:
        """The documents that gave one of its answers, in ascending order."""
        return _givers_of(self.answers)

    def is_marked(self, side: Literal["rival", "claim"]) -> bool:
        """Return whether a judge called this side better informed in any of the answers."""
        return any(answer.knows_better == side for answer in self.answers)


async def rivals_of(claim: ClaimEvidence, passage: str, looking: Looking) -> Rivals:
    """Query the documents on the other side of a claim, and classify their answers.

    The only rival of a bare yes or no is its opposite. A yes or no with a reason is compared with
    its opposite only if no document gives another answer.

    Raises:
        ProviderError: No document could be queried, a relation could not be read, or no rival could
            be labelled.
    """
    is_yes_or_no = is_answer_to_yes_or_no(claim.claim.text, passage, looking)
    if is_yes_or_no and opposite(passage, looking.question) is not None:
        return await _denied(claim, passage, looking)
    rivals = await _rivals_by_answers(claim, passage, looking)
    has_answers = len(rivals.evidence) > 1 or any(each.evidence for each in rivals.related)
    return await _denied(claim, passage, looking) if is_yes_or_no and not has_answers else rivals


async def _rivals_by_answers(claim: ClaimEvidence, passage: str, looking: Looking) -> Rivals:
    """Query the documents on the other side of a claim, and classify their answers."""
    question = await _question_of(claim.claim.text, passage, looking)
    if question is None:
        return Rivals(looking.question, (claim,), ((),), is_asked=False)
    # long documents are searched, which would block the event loop
    documents = await asyncio.to_thread(_to_ask, claim, looking)
    asked = ToRead(documents)
    if not begins_with_yes_or_no(passage):
        asked = await asyncio.to_thread(to_read, claim, question, documents, looking)
    replies = _answering(
        await _answers(question, asked, claim, looking), claim.claim.text, question
    )
    all_answers = (*replies.rivals, *asked.repeated)
    answers = await related_answers(claim, question, all_answers, looking)
    rivals = _rivals_among(answers, claim.claim.text, question)
    namesakes = _namesakes(answers, claim.claim.text, question, looking)
    texts = [rival.statement for rival in rivals] + [answer.statement for answer in namesakes]
    claims = [Claim(number=number, text=text) for number, text in enumerate(texts, start=1)]
    corrects = tuple(n for n, rival in enumerate(rivals, start=1) if rival.is_marked("rival"))
    evidence = (
        await labelled(claims, looking)
        if namesakes  # an explanation needs all labels of its statements
        else await rivals_labelled(claims, claim, corrects, looking)
    )
    rival_evidence, namesake_evidence = evidence[: len(rivals)], evidence[len(rivals) :]
    same = _givers_of([answer for answer in answers if answer.relation is Relation.SAME])
    return Rivals(
        question=question,
        evidence=(claim, *rival_evidence),
        given_by=(same, *(rival.given_by for rival in rivals)),
        dropped=replies.dropped,
        related=_no_rivals(answers, dict(zip(namesakes, namesake_evidence, strict=True))),
        thing=namesakes[0].own_thing if namesakes else "",
        corrects=corrects,
        contested=any(rival.is_marked("claim") for rival in rivals),
    )


def _answering(replies: Answered, claim: str, question: str) -> Answered:
    """Reduce each reply to the clauses that answer a claim's question.

    A reply that is only an instruction is dropped.
    """
    rivals, orders = list[Rival](), list[DroppedReply]()
    for reply in replies.rivals:
        statement = without_riders(reply.statement, claim, question)
        if statement is not None:
            rivals.append(Rival(statement, reply.given_by))
            continue
        why = "it gives an order that the claim does not mention"
        orders += [
            DroppedReply(document=number, reply=reply.statement, why=why)
            for number in reply.given_by
        ]
    return Answered(tuple(rivals), (*replies.dropped, *orders))


def _rivals_among(answers: Sequence[Related], claim: str, question: str) -> list[_Rival]:
    """Return the first few rivals among answers; rivals with the same final wording are merged."""
    answers_by_statement = dict[str, list[Related]]()
    for answer in answers:
        if answer.relation is Relation.RIVAL:
            statement = _worded_alike(answer.statement, claim, question)
            answers_by_statement.setdefault(statement, []).append(answer)
    rivals = [_Rival(statement, tuple(each)) for statement, each in answers_by_statement.items()]
    return rivals[:_MOST_RIVALS]


def _no_rivals(
    answers: Sequence[Related], evidence_by_answer: Mapping[Related, ClaimEvidence]
) -> tuple[RelatedAnswer, ...]:
    """Return the answers that are not rivals, with labels if they are about other things."""
    return tuple(
        RelatedAnswer(
            statement=answer.statement,
            given_by=answer.given_by,
            relation=answer.relation,
            thing=answer.thing,
            evidence=evidence_by_answer.get(answer),
        )
        for answer in answers
        if answer.relation is not Relation.RIVAL
    )


def _givers_of(answers: Sequence[Related]) -> tuple[int, ...]:
    """Return the documents that gave one of the answers, in ascending order."""
    return tuple(sorted({number for answer in answers for number in answer.given_by}))


async def _question_of(claim: str, passage: str, looking: Looking) -> str | None:
    """Return the question to ask: the user's if the claim answers it, otherwise the claim's own.

    In an answer with several claims, a claim answers the user's question if it has all the
    informative words of the question: "was closed in 1931" does not answer when the mine was
    opened. A claim of the answer's first passage may lack words; see :func:`answers_loosely`. If
    the user asked no clear question, every claim needs a question of its own.

    Return None if no such question can be found. If an embedded reader only repeats the user's
    question, the repeated question is not used. Answers to it are not rivals of the claim.
    """
    question = looking.question
    is_answer = looking.only_claim or _answers_the_user(claim, passage, looking)
    if looking.is_question_clear and is_answer:
        return question
    secret = numbers_in(claim) - numbers_in(question)
    if not looking.reader.model.is_local:
        claim_question = await own_question(claim, question, looking.reader, secret=secret)
        is_own = claim_question != question
        return claim_question if is_own or looking.is_question_clear else None
    texts = (document.text for document in looking.documents)
    value_question = question_for_value(claim, question, looking.answer, *texts)
    if value_question is not None:
        return value_question
    claim_question = await own_question(claim, question, looking.reader, secret=secret)
    is_own = claim_question != question and answers_question(claim, claim_question)
    return claim_question if is_own else None


def _answers_the_user(claim: str, passage: str, looking: Looking) -> bool:
    """Return whether a claim of the answer answers the user's question."""
    question, answer = looking.question, looking.answer
    if is_about(claim, question) and answers_question(claim, question):
        return True
    if not answer.lstrip().startswith(passage):
        return False
    # the subject of "They found a drop of 34%" is in the question
    is_near = is_about(claim, question) or needs_context(passage)
    return is_near and answers_loosely(claim, question, answer)


def _namesakes(
    answers: Sequence[Related], claim: str, claim_question: str, looking: Looking
) -> list[Related]:
    """Return the answers about other things of the same name that the new answer should explain.

    No answer is returned if the question, the answer or the claim already says which thing is
    meant. The value that the question asks for does not identify the thing. For example, "Ada Lowe
    drew the map" does not say that the thing meant is Ada Lowe's map.
    """
    stated_terms = telling_terms(looking.answer) | telling_terms(claim)
    if span := answer_span(claim, claim_question):
        stated_terms -= telling_terms(claim[slice(*span)])
    terms = stated_terms | telling_terms(looking.question)
    namesakes = dict[str, Related]()
    for answer in answers:
        if answer.relation is not Relation.ANOTHER_THING or not answer.thing:
            continue
        if _has_words_of_thing(terms, answer):
            return []
        namesakes.setdefault(answer.thing.casefold(), answer)
    return list(namesakes.values())[:_MOST_THINGS]


def _has_words_of_thing(terms: frozenset[str], answer: Related) -> bool:
    """Return whether these terms distinguish the subject of the claim from a different thing."""
    telling = telling_terms(answer.own_thing) - telling_terms(answer.thing)
    return bool(telling) and telling <= terms


def _worded_alike(rival: str, claim: str, question: str) -> str:
    """Reword a rival like the claim, if only one value differs or the rival is not a sentence.

    The labeler then has to compare only the value, and the answer is free of the reader's bad
    grammar.
    """
    if is_about(rival, question):
        return with_other_number(claim, rival, question) or rival
    return with_other_answer(claim, rival, question) or rival


async def _answers(
    question: str, asked: ToRead, claim: ClaimEvidence, looking: Looking, *, yes_no: bool = False
) -> Answered:
    quotations = {pair.document: pair.snippet for pair in claim.labels if pair.snippet}
    # the bundled encoders quote the nearest window, which need not decide their label
    is_quoted_by_judge = not (yes_no or looking.is_labelled_by_embedded)
    return await ask_documents(
        question,
        asked.documents,
        looking.reader,
        yes_no=yes_no,
        quotations=quotations,
        claim=claim.claim.text if is_quoted_by_judge else "",
        only_values=asked.only_values,
    )


async def _denied(claim: ClaimEvidence, passage: str, looking: Looking) -> Rivals:
    """Use the opposite of a yes-or-no claim as its rival, and find the documents that support it.

    Normally, the documents that support the opposite are those that contradict the claim. But an
    embedded labeler often gives the label SUPPORTS to a document that is merely on the topic, and
    often misses negations. If such a labeler is used, a document counts for the opposite only if it
    gives the opposite answer when it is queried separately. If the reader reports how sure it is,
    all these documents together must clearly be read as the opposite.
    """
    question = looking.question
    if not looking.is_labelled_by_embedded:
        denial = denied(claim)
        return Rivals(question, (claim, denial), ((), claim.contradicts), is_denied=True)
    is_yes = says_yes(passage, question)
    readings = await _readings(claim, looking)
    is_unsure = looking.reader.model.has_grammars and not readings.oppose(claim, is_yes=is_yes)
    given_by = (readings.saying(is_yes), () if is_unsure else readings.saying(not is_yes))
    return Rivals(question, (claim, denied(claim)), given_by, readings.dropped, is_denied=True)


async def _readings(claim: ClaimEvidence, looking: Looking) -> Readings:
    """Ask the documents a yes-or-no question.

    A reader that reports no probabilities is asked for its answer instead.
    """
    model, question = looking.reader.model, looking.question
    documents = await asyncio.to_thread(_to_ask, claim, looking)
    if not model.has_grammars:
        replies = await _answers(question, ToRead(documents), claim, looking, yes_no=True)
        odds = {
            number: 1.0 if affirms(answer.statement, question) else -1.0
            for answer in replies.rivals
            for number in answer.given_by
        }
        return Readings(odds, replies.dropped)
    quotations = {pair.document: pair.snippet for pair in claim.labels if pair.snippet}
    return await read_yes_or_no(question, documents, looking.reader, quotations=quotations)


def _to_ask(claim: ClaimEvidence, looking: Looking) -> list[Document]:
    """Return the documents to query: documents that contradict the claim, except copies that agree.

    An embedded labeler misses some of the documents that contradict a claim, and any labeler may
    miss all of them. So if the labeler is embedded, or if no document contradicts the claim,
    further documents are queried. These are documents that share a word with the question or the
    claim, and documents that support the claim. A document is left out if the labeler is sure that
    it is irrelevant: a small reader would invent an answer.
    """
    numbers, shares = set(claim.contradicts), dict[int, float]()
    if looking.is_labelled_by_embedded or not numbers:
        shares = _shares(claim, looking)
        numbers |= {*claim.supports, *(shares.keys() - _surely_silent(claim, shares))}
    numbers -= {number for number, weight in looking.weights.items() if not weight}
    label_of = {pair.document: pair.label for pair in claim.labels}
    first: dict[tuple[int, Label | None], Document] = {}
    for document in looking.documents:
        if document.number in numbers:
            group = document.duplicate_of or document.number
            # a forged copy may differ from its original only in the word that matters
            first.setdefault((group, label_of.get(document.number)), document)
    sides = {*claim.supports, *claim.contradicts}
    by_relevance = sorted(
        first.values(), key=lambda d: (d.number not in sides, -shares.get(d.number, 0))
    )
    return sorted(by_relevance[:_MOST_ASKED], key=lambda document: document.number)


def _shares(claim: ClaimEvidence, looking: Looking) -> dict[int, float]:
    """Return, for each document, the share of the question's and the claim's words in it."""
    words = Claim(number=1, text=f"{looking.question} {claim.claim.text}")
    [shares] = overlap_scores([words], looking.documents)
    return dict(zip((d.number for d in looking.documents), shares, strict=True))


def _surely_silent(claim: ClaimEvidence, shares: dict[int, float]) -> set[int]:
    """Return documents whose share is 0 or whose P(IRRELEVANT) is at least ``_SURELY_SILENT``."""
    likely = {pair.document: pair.probabilities or {} for pair in claim.labels}
    sure = {n for n, p in likely.items() if p.get(Label.IRRELEVANT, 0.0) >= _SURELY_SILENT}
    return sure | {number for number, share in shares.items() if not share}
