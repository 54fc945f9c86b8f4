"""Reads the answers that annotators judged (appendix G) from ``human_judgments.jsonl``."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import Field

from conflictscore.benchmarks.harness.records import Verdict
from conflictscore.benchmarks.json_lines import PublishedRow, Text, read_items
from conflictscore.benchmarks.natconfqa.data import AnswerPair, NatConfQuestion
from conflictscore.benchmarks.natconfqa.metrics import with_f1
from conflictscore.errors import InputError


class JudgedByPeople(NamedTuple):
    """A model's answer, and the annotators' decisions about it."""

    question: NatConfQuestion
    model: str
    prompt: str
    """The published name of the prompt, which is ``Normal`` or ``ContradictAware``."""
    answer: str
    verdicts: Mapping[str, Verdict]
    """The verdicts by measure; a verdict has an error if the decisions cannot be counted."""
    references: tuple[bool, ...] = ()
    """For each reference answer, whether the model's answer gives it.

    Empty if the annotators' decisions cannot be counted.
    """
    reference_conflicts: tuple[bool, ...] = ()
    """For each conflict of the question, whether the answer reports it."""

    @property
    def id(self) -> str:
        """The answer's id, which consists of the question's id, the model and the prompt."""
        return f"{self.question.id}/{self.model}/{self.prompt}"


_PAIR = r"\(\s*\d+\s*,\s*\d+\s*\)"
# "(1, 3): 1" says that the conflict between the short answers 1 and 3 is real.
_JUDGED_PAIR = re.compile(r"\(\s*(\d+)\s*,\s*(\d+)\s*\)\s*:\s*([01])")
# One of the published lists ends with a comma.
_Indices = Annotated[str, Field(pattern=r"^\s*\[\s*(\d+(\s*,\s*\d+)*\s*,?)?\s*\]\s*$")]
_Pairs = Annotated[str, Field(pattern=rf"^\s*{_PAIR}(\s*,\s*{_PAIR})*\s*$")]
_Judged = Annotated[
    str, Field(pattern=rf"^\s*\[\s*({_PAIR}\s*:\s*[01](\s*,\s*{_PAIR}\s*:\s*[01])*)?\s*\]\s*$")
]


class _Published(PublishedRow):
    """A row of the published spreadsheet, with an answer and what annotators found in it."""

    question_id: Text
    model: Text
    prompt_template: Text
    # the only column with the answer: the published file has no ``model_answer``
    answer: Text = Field(alias="model_answer.1")
    reference_answers: Text
    reference_pairs: _Pairs | None = Field(alias="conflicting_answer_pairs")
    short_answers: Text = Field(alias="Model Answers Decomposed")
    found: _Indices = Field(alias="Found Reference Answers in Model Answer (Recall Answer)")
    supported: _Indices = Field(
        alias="Found Model Sub-Answers in Reference Answers/Passages (Precision Answer)"
    )
    # null if annotators found none of the pairs
    found_pairs: _Pairs | None = Field(
        alias="Conflicting Reference Answer Pairs Found (Recall Conflict)"
    )
    judged_pairs: _Judged = Field(
        alias="Found Conflicting Model's Sub-Answers (Conflict Precision)"
    )


_FOUND_PAIRS = _Published.model_fields["found_pairs"].alias


def read_people(
    path: str | Path, questions: Sequence[NatConfQuestion]
) -> tuple[JudgedByPeople, ...]:
    """Read the annotators' judgements, one per line, in file order.

    One of the published lists contains the index of an answer that does not exist. The meaning of
    such an index is unknown, so the verdict has an error and is left out of all figures.
    """
    questions_by_id = {question.id: question for question in questions}
    return read_items(
        path, _Published, partial(_judged, questions_by_id=questions_by_id), id_field="question_id"
    ).items


def _judged(
    row: _Published, where: str, questions_by_id: Mapping[str, NatConfQuestion]
) -> JudgedByPeople:
    """Compute NatConfQA's measures for the answer in a row from the annotators' lists.

    Raises:
        InputError: The question is unknown, its references have changed, or a listed pair is not
            among the question's conflicts.
    """
    if (question := questions_by_id.get(row.question_id)) is None:
        raise InputError(f"{where}, field question_id: there is no question {row.question_id!r}")
    # the references that annotators used must equal those of the question
    there = len(row.reference_answers.splitlines())  # each answer is on a line of its own
    if there != len(question.answers) or _pairs(row.reference_pairs) != set(question.conflicts):
        raise InputError(
            f"{where}, field reference_answers: the answers or their conflicting pairs differ from"
            " those of the question"
        )
    conflicts = _pairs(row.found_pairs)
    if not conflicts <= set(question.conflicts):
        raise InputError(
            f"{where}, field {_FOUND_PAIRS}: a pair is not among the question's conflicts"
        )
    short_answers = len(row.short_answers.splitlines())
    found_indices, supported_indices = _indices(row.found), _indices(row.supported)
    rulings = {
        _ascending(int(first), int(second)): right == "1"
        for first, second, right in _JUDGED_PAIR.findall(row.judged_pairs)
    }
    indices = [index for pair in rulings for index in pair]
    shares = {
        "answers recall": _share(
            len(found_indices), found_indices, len(question.answers), "reference answers"
        ),
        "answers precision": _share(
            len(supported_indices), supported_indices, short_answers, "short answers"
        ),
        "conflicts recall": _share(len(conflicts), (), len(question.conflicts), "conflicts"),
        "conflicts precision": _share(
            sum(rulings.values()), indices, short_answers, "short answers", of=len(rulings)
        ),
    }
    return JudgedByPeople(
        question=question,
        model=row.model,
        prompt=row.prompt_template,
        answer=row.answer,
        verdicts=with_f1(shares),
        references=(
            tuple(index in found_indices for index in range(there))
            if all(index < there for index in found_indices)
            else ()
        ),
        reference_conflicts=tuple(pair in conflicts for pair in question.conflicts),
    )


def _share(
    hits: int, indices: Iterable[int], there: int, what: str, *, of: int | None = None
) -> Verdict | None:
    if beyond := sorted({index for index in indices if index >= there}):
        names = ", ".join(map(str, beyond))
        why = f"the list contains {names} (counted from 0), but there are only {there} {what}"
        return Verdict(value=None, error=why)
    n = there if of is None else of
    return Verdict(value=hits / n) if n else None


def _indices(text: str) -> frozenset[int]:
    return frozenset(map(int, re.findall(r"\d+", text)))


def _pairs(text: str | None) -> frozenset[AnswerPair]:
    numbers = [int(number) for number in re.findall(r"\d+", text or "")]
    return frozenset(map(_ascending, numbers[::2], numbers[1::2]))


def _ascending(first: int, second: int) -> AnswerPair:
    return min(first, second), max(first, second)
