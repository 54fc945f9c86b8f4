"""Pairs answers with passages that give the same answer, a part of it, a different one, or none."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from random import Random

from training.answers import apart, coarser, restated, states
from training.pairs import Label, Pair
from training.questions import Question, Reply, is_measured
from training.sentences import sentences_of
from training.wordings import asked, statement, worded

_ROUNDS = {"conflict_nq": 3, "ramdocs": 4, "wikicontradict": 3}
"""How often the questions of a set are used, worded differently each time. Questions of other sets
are used once."""
_RESTATED = 0.25
"""Share of the answers that are put in a different form, if one is known."""
_QUALIFIED = 0.15
"""Share of the passages that also get a claim that names its entity."""
_ELSEWHERE = 0.35
"""Share of the answers that are also paired with a passage of a different question, which does not
bear on them."""
_SILENCED = 0.4
"""Share of the passages that are also used without their answer."""
_FEWEST_WORDS = 20
"""Minimum number of words that must remain of such a passage."""
_OPENING_WORDS = 2
"""Two questions that share this many first words ask for the same kind of thing."""


def measured_pairs(questions: Sequence[Question]) -> Iterator[Pair]:
    """Yield the pairs of RAMDocs to measure on: each answer to a question with each passage.

    A passage with a different answer contradicts the claim, even if it is about a different thing
    with the same name, since it answers the question differently. Each claim occurs twice: with the
    question repeated (``ramdocs_questions``) and, if the form of the question allows it, as a
    statement (``ramdocs_statements``).
    """
    for question in questions:
        if question.source != "ramdocs" or not is_measured(question):
            continue
        for answer in question.answers:
            said = statement(question.text, answer)
            claims = {"ramdocs_questions": asked(question.text, answer)}
            claims |= {"ramdocs_statements": said.text} if said is not None else {}
            for source, claim in claims.items():
                for reply in question.replies:
                    label: Label = "IRRELEVANT"
                    if reply.answer is not None:
                        label = "SUPPORTS" if reply.answer == answer else "CONTRADICTS"
                    yield Pair(claim, reply.text, label, source, "answer")


def learned_pairs(questions: Sequence[Question], *, seed: int) -> Iterator[Pair]:
    """Yield the pairs of the questions that are not measured on.

    Args:
        questions: All questions; those that are measured on are left out, with all their passages.
        seed: Seed for all random choices.
    """
    kept = {reply.text for one in questions if is_measured(one) for reply in one.replies}
    learned = [
        one._replace(replies=tuple(reply for reply in one.replies if reply.text not in kept))
        for one in questions
        if not is_measured(one)
    ]
    alike: dict[str, list[Question]] = defaultdict(list)
    for one in learned:
        alike[_opening(one)].append(one)
    for one in learned:
        others = [other for other in alike[_opening(one)] if other.text != one.text]
        for turn in range(_ROUNDS.get(one.source, 1)):
            rng = Random(f"{seed}:{turn}:{one.text}")  # noqa: S311 - no secret
            yield from dict.fromkeys(_of_question(one, others or learned, rng))
            rng = Random(f"{seed}:{turn}:silenced:{one.text}")  # noqa: S311 - no secret
            yield from _silenced(one, rng)


def _of_question(one: Question, others: Sequence[Question], rng: Random) -> Iterator[Pair]:
    answers = one.answers
    if len(answers) == 1 and (other := _another_answer(answers[0], others, rng)) is not None:
        answers = (*answers, other)
    for reply in one.replies:
        if not reply.text:
            continue
        for answer in answers:
            label = _label(answer, reply)
            if label is not None:
                yield from _claimed(one, answer, reply, label, rng)
        yield from _qualified(one, reply, rng)
    for answer in answers:
        if rng.random() < _ELSEWHERE and others:
            near = rng.choice(others)
            passages = [reply for reply in near.replies if not states(reply.text, answer)]
            if near.text != one.text and passages:
                claim = worded(one.text, answer, rng)
                text = rng.choice(passages).text
                yield Pair(claim.claim, text, "IRRELEVANT", one.source, "elsewhere")


def _silenced(one: Question, rng: Random) -> Iterator[Pair]:
    """Yield passages without the sentences that state the answer; they are still on the topic."""
    for reply in one.replies:
        if reply.answer is None or rng.random() > _SILENCED:
            continue
        sentences = sentences_of(reply.text)
        left = " ".join(text for text in sentences if not states(text, reply.answer))
        stated = any(states(left, answer) for answer in one.answers)
        if stated or left == " ".join(sentences) or len(left.split()) < _FEWEST_WORDS:
            continue
        for answer in rng.sample(one.answers, min(2, len(one.answers))):
            claim = worded(one.text, answer, rng)
            yield Pair(claim.claim, left, "IRRELEVANT", one.source, "silenced")


def _label(answer: str, reply: Reply) -> Label | None:
    """Return the label of a passage for an answer; None if the label is not certain."""
    if reply.answer is None:
        return None if states(reply.text, answer) else "IRRELEVANT"
    if answer == reply.answer:
        return "SUPPORTS"
    if apart(answer, reply.answer) and not states(reply.text, answer):
        return "CONTRADICTS"
    return None


def _claimed(one: Question, answer: str, reply: Reply, label: Label, rng: Random) -> Iterator[Pair]:
    said, kind = answer, label.lower()
    if label == "SUPPORTS" and rng.random() < _RESTATED and (less := coarser(answer)):
        said, kind = less, "coarser"
    elif rng.random() < _RESTATED and (other := restated(answer, rng)):
        said, kind = other, f"{kind}_restated"
    sentences = [other.sentence for other in one.replies if other.answer == answer]
    if sentences and sentences[0] and rng.random() < 0.5:
        yield Pair(sentences[0], reply.text, label, one.source, f"{kind}:sentence")
        return
    claim = worded(one.text, said, rng)
    if claim.negated and label != "IRRELEVANT":
        label = "CONTRADICTS" if label == "SUPPORTS" else "SUPPORTS"
    yield Pair(claim.claim, reply.text, label, one.source, f"{kind}:{claim.kind}")


def _qualified(one: Question, reply: Reply, rng: Random) -> Iterator[Pair]:
    """Yield a claim that names its entity, with a passage about the entity or about a namesake."""
    others = [other for other in one.replies if other.entity and other.entity != reply.entity]
    if not reply.entity or reply.answer is None or not others or rng.random() > _QUALIFIED:
        return
    other = rng.choice(others)
    claim = f'The answer to the question "{one.text}" is, for {reply.entity}, {reply.answer}.'
    yield Pair(claim, reply.text, "SUPPORTS", one.source, "entity")
    if not states(other.text, reply.answer):
        yield Pair(claim, other.text, "IRRELEVANT", one.source, "other_entity")


def _another_answer(answer: str, others: Sequence[Question], rng: Random) -> str | None:
    """Return an answer to a different question of the same kind."""
    known = [other for one in others for other in one.answers if apart(other, answer)]
    return rng.choice(known) if known else None


def _opening(question: Question) -> str:
    return " ".join(question.text.lower().split()[:_OPENING_WORDS])
