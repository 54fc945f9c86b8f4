"""Reads answers that annotators judged, and the documents that belong to their questions.

No language model splits the answers into claims. Every sentence counts as a claim.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup, GroupDocument
from conflictscore.benchmarks.harness.question_sample import lot, question_id
from conflictscore.benchmarks.natconfqa.data import read_natconfqa
from conflictscore.benchmarks.natconfqa.people import read_people
from conflictscore.benchmarks.wikicontradict.benchmark import Rating
from conflictscore.benchmarks.wikicontradict.people import read_human_eval
from conflictscore.markdown import passages

_VALUES = {str(Rating.INCORRECT): 0.0, str(Rating.PARTIALLY_CORRECT): 0.5, str(Rating.CORRECT): 1.0}
"""The value of each rating, in [0, 1].

Correlations depend only on the order of the values; the mean depends on their distances too.
"""


class JudgedAnswer(NamedTuple):
    """An answer and the annotators' judgement of it."""

    id: str
    part: str
    """The part of the data set to which the answer belongs, named after the answer's prompt.

    Figures are computed for each part, since annotators judge each part by a different rule.
    """
    question: str
    """The id of the question. Answers to the same question are not independent."""
    text: str
    documents: tuple[GroupDocument, ...]
    people: float
    """The annotators' judgement, in [0, 1]; higher is better."""

    @property
    def groups(self) -> list[ClaimGroup]:
        """One group for each sentence of the answer; the sentence is its claim."""
        sentences = [self.text[passage.start : passage.end] for passage in passages(self.text)]
        return [
            ClaimGroup(
                set="answers",
                id=f"{self.id}/{number}",
                claim=sentence,
                documents=self.documents,
                has_conflict=False,  # a required field, which is not used here
            )
            for number, sentence in enumerate(filter(str.strip, sentences), start=1)
        ]


def wikicontradict_answers(path: str | Path) -> list[JudgedAnswer]:
    """Read WikiContradict's rated answers, and convert each rating to 0, .5 or 1.

    Every answer is checked against both passages, even if its prompt showed only one or none.
    """
    return [
        JudgedAnswer(
            id=f"{question_id('wc', row.question)}/{row.model}/{number}",
            part=f"template {number}",
            question=question_id("wc", row.question),
            text=answer,
            documents=(GroupDocument(text=row.context1), GroupDocument(text=row.context2)),
            people=_VALUES[rating],
        )
        for row in read_human_eval(path)
        for number, answer, rating in row.rated()
    ]


def natconfqa_answers(questions: str | Path, judgements: str | Path) -> list[JudgedAnswer]:
    """Read NatConfQA's answers; the judgement is the share of conflicts that an answer reports."""
    return list(_natconfqa(questions, judgements))


def _natconfqa(questions: str | Path, judgements: str | Path) -> Iterator[JudgedAnswer]:
    for row in read_people(judgements, read_natconfqa(questions).items):
        verdict = row.verdicts.get("conflicts recall")
        # questions without a conflict have no such verdict
        if verdict is not None and verdict.value is not None:
            yield JudgedAnswer(
                id=row.id,
                part=row.prompt,
                question=row.question.id,
                text=row.answer,
                documents=tuple(GroupDocument(text=text) for text in row.question.passages),
                people=float(verdict.value),
            )


def drawn_questions(
    answers: Sequence[JudgedAnswer], questions: int | None, seed: int
) -> list[JudgedAnswer]:
    """Draw ``questions`` questions at random, and return all answers to them.

    If ``questions`` is None or exceeds the number of questions, all answers are returned.
    """
    ids = sorted(
        {answer.question for answer in answers}, key=lambda id_: lot("validity", seed, id_)
    )
    chosen_ids = set(ids[:questions])
    return [answer for answer in answers if answer.question in chosen_ids]
