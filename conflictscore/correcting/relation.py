"""Classifies the answers of documents by their relation to a disputed claim.

A document may have the label CONTRADICTS although it is about a different predicate, entity, time
or version of the subject. So each document is queried separately, and each reply is put into one of
four classes. *The same* means that the reply states the claim. A *rival* is a different answer to
the claim's own question. A reply may also be about *another thing*. It is *nothing* if it does not
answer the question, or if this is unclear. Only rivals can get votes or be put into the answer.

Three methods are tried, the cheapest first. The first method compares the statements. The second
method labels the reply against the answer, as if the answer were a document; if the label is
SUPPORTS, the answer already states the reply. The third method asks a capable judge that sees the
claim, its answer and the documents. If the models are embedded, the third method instead compares
the words that each document uses for its fact and its subject. When in doubt, a reply does not
count as a rival.

Limits without a stated reason were chosen by hand.
"""

import re
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

from conflictscore.answering.statements import same_answer, telling_terms
from conflictscore.correcting.looking import Looking
from conflictscore.correcting.own_fact import (
    holds_only_in_part,
    is_out_of_scale,
    is_told_beside,
    is_within_bounds,
    tells_own_fact,
)
from conflictscore.correcting.readers import Rival
from conflictscore.correcting.shown_evidence import evidence_behind, passage_near
from conflictscore.correcting.superseding import says_it_replaces
from conflictscore.correcting.things import Thing, has_longer_name, told_apart
from conflictscore.labelers.quotes import stands_in
from conflictscore.labelers.table import label_table
from conflictscore.prompts import material, material_line
from conflictscore.records import Candidate, ClaimEvidence, Document, Label, Relation
from conflictscore.values import values_beyond, values_in, without_dates

# Maximum number of statements compared with a claim in one call. Later statements were given by
# fewer documents, and each statement adds a passage of its document to the prompt.
_MOST_COMPARED = 6
_TOKENS, _TOKENS_A_STATEMENT = 32, 48  # reply tokens: a fixed number, and a number for each line

# Matches a line of the judge's reply, such as "Statement 2: RIVAL | the 1951 novel".
_LINE = re.compile(
    r"[ \t>*_-]{0,6}(?:statement )?(?P<number>\d{1,2})[*_]{0,2}[ \t]{0,3}[:.)][*_ \t]{0,4}"
    r"(?P<relation>SAME|RIVAL|CORRECTS|CORRECTED|OTHER|NOTHING)\b[*_ \t.]{0,4}(?P<things>\|.*)?",
    re.IGNORECASE,
)
# Words that a reply may exchange without a change of meaning: "each month", "every month".
_QUANTIFIERS = frozenset(("each", "every", "all", "any"))
# Matches English yes-or-no questions.
_YES_NO_QUESTION = re.compile(
    r"(?:is|are|was|were|do|does|did|can|could|may|must|should|will|would|has|have|had)\b",
    re.IGNORECASE,
)
_MOST_THING_CHARS = 120  # a longer text in a reply is not a name but a sentence


class Related(NamedTuple):
    """An answer given by documents, and its relation to the claim.

    Attributes:
        statement: The text of the answer.
        given_by: The documents that gave the answer when they were queried separately.
        relation: How the answer relates to the claim.
        knows_better: The side whose document is better informed in the judge's view, which the
            weighing tests later; None if there is no such side.
        thing: The name that the document uses for another thing that also fits the question.
        own_thing: The name that the answer or its documents use for the thing that the claim is
            about.
    """

    statement: str
    given_by: tuple[int, ...]
    relation: Relation
    knows_better: Literal["rival", "claim"] | None = None
    thing: str = ""
    own_thing: str = ""


async def related_answers(
    claim: ClaimEvidence, question: str, answers: Sequence[Rival], looking: Looking
) -> tuple[Related, ...]:
    """Classify each answer by its relation to the claim, in the same order.

    A capable judge needs one call for all answers. The judge sees at most six answers; the others,
    which were given by the fewest documents, count as NOTHING.

    Raises:
        ProviderError: The judge failed, or its reply could not be read.
    """
    same = await _places_of_same(claim, question, answers, looking)
    relations = {place: _related(answers[place], Relation.SAME) for place in same}
    pending = [place for place in range(len(answers)) if place not in same]
    if pending and looking.judge.model.is_local:
        relations |= {n: _by_words(claim, question, answers[n], looking) for n in pending}
    elif pending:
        places_to_judge, left_out = pending[:_MOST_COMPARED], pending[_MOST_COMPARED:]
        verdicts = await _judged(claim, question, [answers[n] for n in places_to_judge], looking)
        relations |= dict(zip(places_to_judge, verdicts, strict=True))
        relations |= {n: _related(answers[n], Relation.NOTHING) for n in left_out}
    return tuple(relations[place] for place in range(len(answers)))


async def _places_of_same(
    claim: ClaimEvidence, question: str, answers: Sequence[Rival], looking: Looking
) -> set[int]:
    """Return the indices of replies that repeat the claim or a different part of the answer."""
    own = claim.claim.text
    same = {
        n
        for n, each in enumerate(answers)
        if same_answer(each.statement, own, question)
        or is_within_bounds(each.statement, own)
        # a capable judge recognises other words for the same answer by itself
        or (looking.judge.model.is_local and is_the_claim_reworded(own, each.statement, question))
    }
    pending = [place for place in range(len(answers)) if place not in same]
    supported_places = await _told_by_the_answer([answers[n] for n in pending], looking)
    return same | {pending[place] for place in supported_places}


def is_the_claim_reworded(claim: str, reply: str, question: str) -> bool:
    """Return whether a reply has every answering word of a claim, and no further name or value.

    Words of denial are ignored: "On the first Sunday nobody pays" and "Entry is free on the first
    Sunday" give the same day. The result is False for a yes-or-no question, since a denial may be
    the answer to it.
    """
    if _YES_NO_QUESTION.match(question):
        return False
    own_terms = telling_terms(claim) - telling_terms(question) - _QUANTIFIERS
    known = telling_terms(f"{claim} {question}")
    # the first word is capitalised whether or not it is a name
    names = " ".join(word for word in reply.split()[1:] if word[0].isupper())
    adds_answer = bool(values_beyond(reply, f"{question}\n{claim}")) or telling_terms(names) - known
    return bool(own_terms) and own_terms <= telling_terms(reply) and not adds_answer


def _related(answer: Rival, relation: Relation, **more: Any) -> Related:
    return Related(answer.statement, tuple(sorted(answer.given_by)), relation)._replace(**more)


async def _told_by_the_answer(answers: Sequence[Rival], looking: Looking) -> list[int]:
    """Return the indices of replies that the answer, labelled like a document, supports.

    Only an embedded labeler is asked, since its calls cost nothing. Otherwise, the reply is left to
    the next method. The answer must also contain every value of the reply, since the label of a
    small encoder is not reliable enough alone.
    """
    if not answers or not looking.answer or not looking.is_labelled_by_embedded:
        return []
    answer_values = values_in(looking.answer)
    evidence = await label_table(
        looking.labeler,
        [answer.as_claim(number) for number, answer in enumerate(answers, start=1)],
        [Document(number=1, text=looking.answer)],
        meter=looking.reader.meter,
        cache=looking.cache,
        seconds=looking.seconds,
    )
    return [
        place
        for place, each in enumerate(evidence)
        if each.labels[0].label is Label.SUPPORTS
        and all(
            any(claim_value.agrees(answer_value) for answer_value in answer_values)
            for claim_value in values_in(each.claim.text)
        )
    ]


def _by_words(claim: ClaimEvidence, question: str, answer: Rival, looking: Looking) -> Related:
    """Classify a reply as a rival, unless its documents' words are about a different fact or thing.

    A reply is also not a rival if its value already appears in the answer outside the claim.
    """
    documents, text = looking.documents_by_number, claim.claim.text
    if is_told_beside(answer.statement, text, question, looking.answer) or is_out_of_scale(
        answer.statement, text, question
    ):
        return _related(answer, Relation.ANOTHER_THING)
    own = [documents[n] for n in claim.supports if n in documents]
    others = [
        documents[n]
        for n in answer.given_by
        if n in documents and tells_own_fact(documents[n], question, looking.question, text, own)
    ]
    if not others:
        # Without a word for the fact, a document may state nothing about it. So it is unclear
        # whether the reply is about another fact or about none.
        return _related(answer, Relation.NOTHING)
    others = [each for each in others if _is_of_the_thing(each, answer, text, own, looking)]
    if not others:
        return _related(answer, Relation.ANOTHER_THING)
    apart: tuple[Thing, Thing] | None = told_apart(own, others, f"{question}\n{text}")
    if apart is None:
        # only these documents' answers are about the claim's own fact and thing
        givers = tuple(document.number for document in others)
        return _related(answer, Relation.RIVAL)._replace(given_by=givers)
    own_thing, other_thing = apart
    return _related(
        answer, Relation.ANOTHER_THING, thing=other_thing.words, own_thing=own_thing.words
    )


def _is_of_the_thing(
    document: Document,
    answer: Rival,
    claim: str,
    own: Sequence[Document],
    looking: Looking,
) -> bool:
    """Return whether a document's answer is about the claim's own thing, and holds in general."""
    # Here the user's question counts, since it names the thing that the user means. The claim's own
    # question is written from the claim, and may name something else.
    if has_longer_name(document, without_dates(looking.question), own):
        return False
    # A notice of a new limit may also say how long the limit holds.
    return says_it_replaces(document, answer.statement) or not holds_only_in_part(
        document, answer.statement, claim, looking.question
    )


async def _judged(
    claim: ClaimEvidence, question: str, answers: Sequence[Rival], looking: Looking
) -> list[Related]:
    """Ask a capable judge for the relations, and for names that distinguish other things."""
    documents, judge = looking.documents_by_number, looking.judge
    # For each answer, the first document is shown, since documents come from best to worst.
    givers = [documents[min(answer.given_by)] for answer in answers]
    prompt = judge.prompts.render(
        "relation",
        question=material(question),
        answer=material(looking.answer or claim.claim.text),
        claim=material(claim.claim.text),
        evidence=evidence_behind(
            Candidate(evidence=claim), documents, judge.prompts, looking.weights
        ),
        statements="\n".join(
            judge.prompts.render(
                "relation_statement",
                number=number,
                statement=material_line(answer.statement),
                document=giver.number,
                source=material_line(giver.title or giver.site) or "unknown",
                passage=passage_near(answer.statement, giver),
            )
            for number, (answer, giver) in enumerate(zip(answers, givers, strict=True), start=1)
        ),
    )
    room = _TOKENS + _TOKENS_A_STATEMENT * len(answers)
    verdicts = await judge.ask(prompt, partial(read_relations, count=len(answers)), room)
    behind = [documents[n] for n in claim.supports if n in documents]
    texts = [Document(number=1, text=f"{looking.answer}\n{claim.claim.text}"), *behind]
    relations = []
    for answer, giver, verdict in zip(answers, givers, verdicts, strict=True):
        is_named = stands_in(verdict.thing, giver)  # an empty name is in no document
        own_stands = any(stands_in(verdict.own_thing, text) for text in texts)
        apart = is_named and own_stands  # a single name does not distinguish two things
        relations.append(
            _related(
                answer,
                verdict.relation,
                knows_better=verdict.knows_better,
                thing=verdict.thing if apart else "",
                own_thing=verdict.own_thing if apart else "",
            )
        )
    return relations


class RelationVerdict(NamedTuple):
    """The verdict in one line of a judge's reply.

    The names in the line are untrusted, so a name is used only if it appears in a document.
    """

    relation: Relation
    knows_better: Literal["rival", "claim"] | None = None
    thing: str = ""
    own_thing: str = ""


def read_relations(reply: str, count: int) -> list[RelationVerdict]:
    """Read a judge's reply, one line for each statement: ``1: RIVAL``, ``2: OTHER | name | name``.

    Raises:
        ValueError: A statement has no line, or has several lines with different relations.
    """
    verdicts = dict[int, RelationVerdict]()
    for match in filter(None, map(_LINE.match, reply.splitlines())):
        number, verdict = int(match["number"]), _verdict(match)
        earlier = verdicts.setdefault(number, verdict)
        # RIVAL, CORRECTS and CORRECTED have the same relation, but name different sides as better
        is_same_side = earlier.knows_better == verdict.knows_better
        if earlier.relation is not verdict.relation or not is_same_side:
            raise ValueError(f"statement {number} was given two different relations")
    missing = [number for number in range(1, count + 1) if number not in verdicts]
    if missing:
        raise ValueError(f'there was no line "{missing[0]}:" with one of the six relations')
    return [verdicts[number] for number in range(1, count + 1)]


def _verdict(match: re.Match[str]) -> RelationVerdict:
    """Return the verdict in one line; if a name in it is too long, both names are dropped."""
    name = match["relation"].upper()
    if name == "OTHER":
        things = match["things"] or ""
        # the text after OTHER is "| words for the document's thing | words for the claim's thing"
        words = [part.strip(" \t\"'“”*_.") for part in things.split("|")[1:3]]
        if any(len(each) > _MOST_THING_CHARS for each in words):
            words = []
        return RelationVerdict(
            Relation.ANOTHER_THING,
            thing=words[0] if words else "",
            own_thing=words[1] if len(words) > 1 else "",
        )
    if name == "CORRECTS":
        return RelationVerdict(Relation.RIVAL, knows_better="rival")
    if name == "CORRECTED":
        return RelationVerdict(Relation.RIVAL, knows_better="claim")
    if name == "RIVAL":
        return RelationVerdict(Relation.RIVAL)
    return RelationVerdict(Relation.SAME if name == "SAME" else Relation.NOTHING)
