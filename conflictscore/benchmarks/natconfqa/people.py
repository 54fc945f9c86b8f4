"""People's decisions about models' answers: the published ``human_judgments.jsonl``."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from conflictscore.benchmarks.harness.question_sample import lot
from conflictscore.benchmarks.harness.records import Verdict
from conflictscore.benchmarks.json_lines import read_items, text_of
from conflictscore.benchmarks.natconfqa.data import AnswerPair, NatConfQuestion
from conflictscore.benchmarks.natconfqa.metrics import with_f1
from conflictscore.errors import InputError

_SHORT_ANSWERS = "Model Answers Decomposed"
_RECALL = "Found Reference Answers in Model Answer (Recall Answer)"
_PRECISION = "Found Model Sub-Answers in Reference Answers/Passages (Precision Answer)"
_CONFLICT_RECALL = "Conflicting Reference Answer Pairs Found (Recall Conflict)"
_CONFLICT_PRECISION = "Found Conflicting Model's Sub-Answers (Conflict Precision)"
_REFERENCE_PAIRS = "conflicting_answer_pairs"
_ANSWER = "model_answer.1"

_NUMBERED = re.compile(r"(\d+):\s*(\S.*)")
_INDICES = re.compile(r"\[\s*+(\d+(?:\s*+,\s*+\d+)*+\s*+,?)?\s*+\]")
_PAIRS = re.compile(r"\(\s*\d+\s*,\s*\d+\s*\)(?:\s*,\s*\(\s*\d+\s*,\s*\d+\s*\))*")
_JUDGED_PAIR = r"\(\s*(\d+)\s*,\s*(\d+)\s*\)\s*:\s*([01])"
_JUDGED_PAIRS = re.compile(rf"\[\s*+(?:{_JUDGED_PAIR}(?:\s*+,\s*+{_JUDGED_PAIR})*+)?\s*+\]")


class JudgedByPeople(NamedTuple):
    """One answer of a model, and what people decided about it."""

    question: NatConfQuestion
    model: str
    prompt: str
    """``Normal`` or ``ContradictAware``, as published."""
    answer: str
    verdicts: Mapping[str, Verdict]
    """By measure; an error where people's decisions cannot be counted."""

    @property
    def id(self) -> str:
        """Names the answer: question, model and prompt."""
        return f"{self.question.id}/{self.model}/{self.prompt}"


def read_people(
    path: str | Path, questions: Sequence[NatConfQuestion]
) -> tuple[JudgedByPeople, ...]:
    """Read people's judgements, in the order of the file.

    Args:
        path: JSON lines, each with people's decisions as text: the short answers that they took an
            answer apart into, and lists of indices or pairs of indices.
        questions: The benchmark's questions, found by ``question_id``.

    Returns:
        One a line. A list that names an answer which is not there, as one of the published ones
        does, counts in no figure and is an error: what was meant cannot be known.
    """
    asked = {question.id: question for question in questions}
    return read_items(path, partial(_row, asked=asked), id_field="question_id").items


def drawn(
    rows: Sequence[JudgedByPeople], size: int | None, seed: int
) -> tuple[JudgedByPeople, ...]:
    """So many of them by seed, in their order; all where no size is given."""
    if size is None:
        return tuple(rows)
    if size > len(rows):
        raise InputError(f"sample is {size}; there are only {len(rows)} answers")
    ids = sorted((row.id for row in rows), key=lambda one: lot("judge check", seed, one))[:size]
    return tuple(row for row in rows if row.id in ids)


def _row(record: Any, where: str, asked: Mapping[str, NatConfQuestion]) -> JudgedByPeople:
    name = text_of(record, "question_id", where)
    if (question := asked.get(name)) is None:
        raise InputError(f"{where}, field question_id: there is no question {name!r}")
    _check_references(record, question, where)
    short_answers = _short_answers(record, where)
    found = _indices(record, _RECALL, where)
    supported = _indices(record, _PRECISION, where)
    conflicts = _found_conflicts(record, question, where)
    judged = _judged_pairs(record, where)
    named = [index for pair in judged for index in pair]
    shares = {
        "answers recall": _share(len(found), found, len(question.answers), "reference answers"),
        "answers precision": _share(len(supported), supported, short_answers, "short answers"),
        "conflicts recall": _share(len(conflicts), (), len(question.conflicts), "conflicts"),
        "conflicts precision": _share(
            sum(judged.values()), named, short_answers, "short answers", of=len(judged)
        ),
    }
    return JudgedByPeople(
        question=question,
        model=text_of(record, "model", where),
        prompt=text_of(record, "prompt_template", where),
        answer=text_of(record, _ANSWER, where),
        verdicts=with_f1(shares),
    )


def _share(
    hits: int, named: Iterable[int], there: int, what: str, *, of: int | None = None
) -> Verdict | None:
    """Hits of all that there are, or of so many; an error if an index is beyond what is there."""
    if beyond := sorted({index for index in named if index >= there}):
        names = ", ".join(map(str, beyond))
        why = f"it names {names}, counted from 0, and there are {there} {what}"
        return Verdict(value=None, error=why)
    n = there if of is None else of
    return Verdict(value=hits / n) if n else None


def _check_references(record: Any, question: NatConfQuestion, where: str) -> None:
    """People judged by the references of that day; they must be those of the questions."""
    field = "reference_answers"
    there = len(text_of(record, field, where).splitlines())
    if there != len(question.answers):
        raise InputError(
            f"{where}, field {field}: there are {there}, and the question has"
            f" {len(question.answers)}"
        )
    if _pairs(record, _REFERENCE_PAIRS, where) != set(question.conflicts):
        raise InputError(f"{where}, field {_REFERENCE_PAIRS}: not the pairs of the question")


def _short_answers(record: Any, where: str) -> int:
    lines = text_of(record, _SHORT_ANSWERS, where).splitlines()
    for number, line in enumerate(lines):
        found = _NUMBERED.fullmatch(line.strip())
        if found is None or int(found[1]) != number:
            raise InputError(
                f'{where}, field {_SHORT_ANSWERS}: "{number}: " and a short answer were expected'
                f" in its line {number + 1}"
            )
    return len(lines)


def _matched(record: Any, field: str, pattern: re.Pattern[str], like: str, where: str) -> str:
    """A field's text, if all of it is of a form."""
    text = text_of(record, field, where)
    if pattern.fullmatch(text) is None:
        raise InputError(f"{where}, field {field}: {text[:80]!r} is not like {like}")
    return text


def _indices(record: Any, field: str, where: str) -> frozenset[int]:
    text = _matched(record, field, _INDICES, "[0, 1]", where)
    return frozenset(map(int, re.findall(r"\d+", text)))


def _found_conflicts(record: Any, question: NatConfQuestion, where: str) -> frozenset[AnswerPair]:
    found = _pairs(record, _CONFLICT_RECALL, where)
    for pair in sorted(found.difference(question.conflicts)):
        raise InputError(
            f"{where}, field {_CONFLICT_RECALL}: {pair} is no conflict of the question"
        )
    return found


def _pairs(record: Any, field: str, where: str) -> frozenset[AnswerPair]:
    """Pairs of indices; null stands for none."""
    if field in record and record[field] is None:
        return frozenset()
    text = _matched(record, field, _PAIRS, "(0, 1),(0, 2)", where)
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    return frozenset(map(_ascending, numbers[::2], numbers[1::2]))


def _judged_pairs(record: Any, where: str) -> dict[AnswerPair, bool]:
    text = _matched(record, _CONFLICT_PRECISION, _JUDGED_PAIRS, "[(0, 1): 1]", where)
    found = re.findall(_JUDGED_PAIR, text)
    return {_ascending(int(one), int(other)): right == "1" for one, other, right in found}


def _ascending(one: int, other: int) -> AnswerPair:
    return min(one, other), max(one, other)
