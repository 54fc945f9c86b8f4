"""Makes pairs from RAMDocs: claims that name their entity, each with all documents of its question.

Since a claim names its entity, documents about namesakes, and noise, do not bear on it. The pairs
come from the first half of the questions; results are measured on the second half.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from training.answers import states
from training.pairs import Label, Pair, claim_key
from training.questions import Question, Reply, is_measured, questions_in
from training.wordings import statement

SOURCE = "ramdocs_entities"


def halves(files: Sequence[Path]) -> tuple[list[Question], list[Question]]:
    """Return the first and the second half of the questions of RAMDocs, in file order.

    Raises:
        InputError: The file cannot be read.
    """
    paths = [path for path in files if path.stem == "ramdocs"]
    questions = list(questions_in(paths))
    middle = len(questions) // 2
    return questions[:middle], questions[middle:]


def entity_pairs(questions: Sequence[Question], *, seed: int) -> Iterator[Pair]:
    """Yield a claim for each answer whose entity is known, paired with each document.

    A document that gives a different answer without naming its entity (misinformation) contradicts
    the claim only if all known answers are about one entity. A document is left out if RAMDocs says
    that it is about something else, although it contains the claim's answer word for word.
    """
    for question in questions:
        entities = {reply.answer: reply.entity for reply in question.replies if reply.entity}
        for answer, entity in entities.items():
            if answer is None:
                continue
            rng = Random(f"{seed}:{question.text}:{answer}")  # noqa: S311 - no secret
            claim = named(question.text, answer, entity, rng)
            for reply in question.replies:
                label = _label(answer, entity, reply, only_entity=len(entities) == 1)
                if label is not None:
                    yield Pair(claim, reply.text, label, SOURCE, label.lower())


def learned(questions: Sequence[Question], *, seed: int) -> Iterator[Pair]:
    """Return the pairs of the questions that are not used for measuring."""
    return entity_pairs([one for one in questions if not is_measured(one)], seed=seed)


def named(question: str, answer: str, entity: str, rng: Random) -> str:
    """Return a claim that an answer is correct for an entity."""
    name = entity.split(" (")[0]
    said = statement(question, answer)
    if said is not None and name in said.text and entity not in said.text:
        return said.text.replace(name, entity, 1)
    if name in question and entity not in question:
        asked = question.replace(name, entity, 1)
        forms = (f'The answer to the question "{asked}" is {answer}.', f"{asked} {answer}.")
        return rng.choice(forms)
    return rng.choice(
        (
            f'The answer to the question "{question}" is, for {entity}, {answer}.',
            f"For {entity}: {question} {answer}.",
        )
    )


def _label(answer: str, entity: str, reply: Reply, *, only_entity: bool) -> Label | None:
    if reply.answer == answer and reply.entity == entity:
        return "SUPPORTS"
    if states(reply.text, answer):
        return None
    if reply.answer is None or (reply.entity and reply.entity != entity):
        return "IRRELEVANT"
    if claim_key(reply.answer) == claim_key(answer):
        return None
    return "CONTRADICTS" if only_entity else None
