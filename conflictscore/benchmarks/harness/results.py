"""From the records of a run to what is known of each question, method by method.

Pure: it depends on the questions and on which records there are, not on the order of the records.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from math import fsum
from typing import Literal, TypeVar

from pydantic import ValidationError

from conflictscore.benchmarks.harness.methods.method import BenchmarkMethod
from conflictscore.benchmarks.harness.methods.registry import (
    DOCUMENTS,
    GRADE,
    LOOP,
    MEANING,
    METHODS,
    begins_with_first,
    method_of,
    steps,
)
from conflictscore.benchmarks.harness.records import (
    STOPPED,
    Guard,
    MethodResult,
    Question,
    QuestionResult,
    StepRecord,
    Verdict,
)
from conflictscore.benchmarks.harness.step_values import (
    AnsweredValue,
    DocumentsValue,
    GradedValue,
    LoopValue,
    MeaningValue,
    StepValue,
)
from conflictscore.errors import InputError
from conflictscore.nodes.decide import flipped_by
from conflictscore.nodes.guard import judge_change
from conflictscore.records import (
    Answer,
    Attempt,
    Change,
    ConflictReport,
    RevisionAction,
    Usage,
    first_fault,
)

FREE_FORM_MEASURES = ("truthful", "informative")
"""The measures of a free-form answer; pairs are counted by the first."""


_V = TypeVar("_V", bound=StepValue)


def results(
    questions: Sequence[Question],
    records: Iterable[StepRecord],
    *,
    methods: Collection[str],
    measures: Sequence[str] = FREE_FORM_MEASURES,
) -> list[QuestionResult]:
    """Join what was recorded to one result a question.

    A method is in a result once its steps ended; in free form its verdicts come with the grade.
    Where a step was recorded more than once, a value goes before an error, then the later record
    before the earlier; what each of them cost is counted.

    - Without documents every method failed; without a first answer so did what builds on it.
    - Where the second answer could not be had, ``rag`` stands and ``regenerated-rag`` and
      ``guarded-rag`` failed.
    - ``guarded-rag`` ends with the last answer where that differs from the first and is
      accepted by the loop's guard, otherwise with the first.
    - Methods that begin with the loop's first answer end with it where there was nothing to ask
      about; where the loop was taken again after them, they are still to come.
    - Where a method that was asked for the type of the conflict failed, it told none.
    """
    by_question: dict[str, list[StepRecord]] = {question.id: [] for question in questions}
    for record in records:
        if record.question in by_question:
            by_question[record.question].append(record)
    wanted = {name: method_of(name) for name in METHODS if name in methods}
    return [
        Recorded(question, by_question[question.id], measures).result(wanted)
        for question in questions
    ]


def part_usage(
    records: Iterable[StepRecord], part: Literal["first_usage", "check_usage"]
) -> dict[str, dict[str, Usage]]:
    """Usage of a part of the loop without a cache, by the question's id and the model's name.

    ``first_usage`` is of the first answer alone, which ``rag`` pays for; of a loop that failed, it
    is all. ``check_usage`` is of the score and the explanation of the last answer, which the paper
    does without. A loop that was taken again found its own replies, so its records do not add up:
    the largest counts. A question is absent where no loop was recorded, or one does not say.
    """
    usages: dict[str, dict[str, Usage]] = {}
    silent = set()
    for record in records:
        if record.step != LOOP or record.error == STOPPED:
            continue
        if record.error is not None:
            known: Mapping[str, Usage] | None = record.usage if part == "first_usage" else {}
        else:
            known = getattr(_read_value(record, LoopValue), part)
        if known is None or any(usage.cold is None for usage in known.values()):
            silent.add(record.question)
            continue
        most = usages.setdefault(record.question, {})
        for model, usage in known.items():
            both = most.get(model, Usage()), usage.cold or Usage()
            most[model] = max(both, key=lambda one: one.input_tokens + one.output_tokens)
    return {question: usage for question, usage in usages.items() if question not in silent}


class Recorded:
    """The records of one question, in which methods read their answers."""

    def __init__(
        self,
        question: Question,
        records: list[StepRecord],
        measures: Sequence[str],
    ) -> None:
        self.measures = measures
        self.question = question
        self.records = records
        settled = {
            (record.step, record.key): record
            for record in sorted(_current(records), key=lambda r: (r.error is None, r.time))
        }
        self.grades = {key: record for (step, key), record in settled.items() if step == GRADE}
        self.meanings = {
            key: _read_value(record, MeaningValue).same
            for (step, key), record in settled.items()
            if step == MEANING and record.error is None
        }
        self.steps: dict[str, StepRecord] = {
            step: record for (step, _), record in settled.items() if step not in (GRADE, MEANING)
        }

    def result(self, methods: Mapping[str, BenchmarkMethod]) -> QuestionResult:
        """The question's result by these methods."""
        found = {name: method.answer(method, self) for name, method in methods.items()}
        documents = self._value(DOCUMENTS, DocumentsValue)
        placebo = self._value("placebo", AnsweredValue)
        attempts = self._loop.attempts if isinstance(self._loop, LoopValue) else ()
        changes = self._changes(methods)
        telling = flipped_by(attempts) if attempts else None
        looked = [c for c in changes.get(LOOP, ()) if telling is None or c.round == telling.round]
        about = [claim for c in looked if c.applied or telling is None for claim in c.claims]
        last = telling or (attempts[-1] if attempts else None)
        return QuestionResult(
            question=self.question,
            documents=documents.documents if documents else (),
            methods={method: result for method, result in found.items() if result},
            conflict=self._conflict(),
            reconsidered=about[0] if about else None,
            changes=changes,
            justification=last.answer.justification if last and last.round else None,
            guard=self.guard,
            donor=placebo.donor if placebo else None,
            predicted={
                name: told.conflict_type if (told := self._value(name, AnsweredValue)) else None
                for name, method in methods.items()
                if method.tells_type and found[name]
                if self._disputed or not method.begins_with_first
            },
            same_claims=self.meanings,
            notes=self._notes(),
            usage=self._usage(),
            seconds=self._seconds(),
        )

    def _changes(self, methods: Mapping[str, BenchmarkMethod]) -> dict[str, tuple[Change, ...]]:
        """The changes of the loop, and of each method that corrects by the loop's own step."""
        changes = {LOOP: self._loop.changes} if isinstance(self._loop, LoopValue) else {}
        for method in methods.values():
            if method.own_loop and (value := self._value(method.step, AnsweredValue)):
                changes[method.step] = value.changes
        return changes

    @cached_property
    def _loop(self) -> LoopValue | MethodResult | None:
        return self._outcome(LOOP, LoopValue)

    @cached_property
    def first(self) -> MethodResult | None:
        """The first answer."""
        return (
            self._attempt(self._loop.attempts[0])
            if isinstance(self._loop, LoopValue)
            else self._loop
        )

    @cached_property
    def last(self) -> MethodResult | None:
        """The loop's last answer."""
        if not isinstance(self._loop, LoopValue):
            return self._loop
        if self._loop.regeneration_error is not None:
            return _failed(self._loop.regeneration_error)
        return self._attempt(self._loop.attempts[-1])

    @cached_property
    def guard(self) -> Guard | None:
        """The loop's guard on the change from the first answer to the last."""
        if self.first is None or self.last is None:
            return None
        pair = {"rag": self.first, "regenerated-rag": self.last}
        both = QuestionResult(question=self.question, methods=pair)
        if not both.flipped("regenerated-rag"):
            return None
        before, after = self.first.report, self.last.report
        if before is None or after is None or not self.first.answer or not self.last.answer:
            return Guard(accepted=False, note="one of the answers has no score")
        old, new = self.first.answer.text, self.last.answer.text
        change = judge_change(
            Change(
                round=1,
                start=0,
                end=len(old),
                before=old,
                after=new,
                action=RevisionAction.REPLACE,
                whole=True,
                claims=tuple(before.evidence(number) for number in before.disputed),
            ),
            before,
            after,
        )
        return Guard(accepted=change.accepted, note=change.note)

    def answer_of(
        self, step: str, *, after_first: bool = False, grade_key: Callable[[str], str] = str
    ) -> MethodResult | None:
        """The answer of a step, the failure that it ended in, or None where it is still to come."""
        if after_first and self.first is not None and self.first.answer is None:
            return _failed("the first answer failed")
        outcome = self._outcome(step, AnsweredValue)
        if not isinstance(outcome, AnsweredValue):
            return outcome
        if after_first and not self._disputed:
            return self.first
        return self._judged(outcome.answer, grade_key(outcome.answer.text))

    @property
    def _disputed(self) -> bool:
        """Whether the first answer has a claim to reconsider."""
        report = self.first.report if self.first else None
        return report is not None and report.reconsider is not None

    def _attempt(self, attempt: Attempt) -> MethodResult:
        return self._judged(attempt.answer, attempt.answer.text).model_copy(
            update={"report": attempt.report}
        )

    def _judged(self, answer: Answer, grade_key: str) -> MethodResult:
        grade = self.grades.get(grade_key)
        used = list(grade.usage.values()) if grade else []
        return MethodResult(
            answer=answer,
            verdicts=self._verdicts(answer, grade),
            report=_score(grade),
            judged_by_copy=any(u.cached_calls for u in used) and not any(u.calls for u in used),
        )

    def _verdicts(self, answer: Answer, grade: StepRecord | None) -> dict[str, Verdict]:
        if self.question.options:
            return {self.measures[0]: self._choice(answer)}
        if grade is None:
            return {}
        if grade.error is not None:
            return dict.fromkeys(self.measures, Verdict(value=None, error=grade.error))
        return _read_value(grade, GradedValue).verdicts

    def _choice(self, answer: Answer) -> Verdict:
        """Whether the right option was chosen, or how probable the right ones are together."""
        options, gold = self.question.options, self.question.gold
        if answer.option is None:
            return Verdict(value=None, error="the answer names no option")
        if answer.probabilities:
            each = zip(options, answer.probabilities, strict=True)
            return Verdict(value=min(1.0, fsum(p for o, p in each if o in self.question.correct)))
        if gold is None:
            return Verdict(value=None, error="the right option is not known")
        return Verdict(value=answer.option == gold)

    def _outcome(self, step: str, form: type[_V]) -> _V | MethodResult | None:
        """A step's value, its failure, or None where it is still to come."""
        record = self.steps.get(step)
        if record is None:
            documents = self.steps.get(DOCUMENTS)
            return _failed(documents.error) if documents and documents.error is not None else None
        return _read_value(record, form) if record.error is None else _failed(record.error)

    def _value(self, step: str, form: type[_V]) -> _V | None:
        record = self.steps.get(step)
        return _read_value(record, form) if record and record.error is None else None

    def _conflict(self) -> bool | None:
        report = self.first.report if self.first else None
        if report is None or report.error is not None or report.cs_c is None:
            return None
        return bool(report.conflicting)

    def _notes(self) -> tuple[str, ...]:
        told = [self._value(step, StepValue) for step in steps()]
        return tuple(dict.fromkeys(note for value in told if value for note in value.notes))

    def _usage(self) -> dict[str, dict[str, Usage]]:
        places = defaultdict[tuple[str, str], list[StepRecord]](list)
        for record in self.records:
            places[record.step, record.key].append(record)
        usage = defaultdict[str, dict[str, Usage]](dict)
        for (step, _), records in places.items():
            for model in {model for record in records for model in record.usage}:
                whole = _of_all([record.usage.get(model, Usage()) for record in records])
                usage[step][model] = usage[step].get(model, Usage()) + whole
        return {step: dict(sorted(usage[step].items())) for step in steps() if step in usage}

    def _seconds(self) -> dict[str, float]:
        seconds = defaultdict[str, list[float]](list)
        for record in self.records:
            seconds[record.step].append(record.seconds)
        return {step: fsum(seconds[step]) for step in steps() if step in seconds}


def _of_all(records: Sequence[Usage]) -> Usage:
    """Usage of a step by all its records: one that was stopped finds its own replies kept."""
    whole = sum(records, Usage())
    kept = {}
    for name in ("input_tokens", "cache_read_tokens", "output_tokens"):
        cold = max(getattr(one, name) + getattr(one, f"kept_{name}") for one in records)
        kept[f"kept_{name}"] = max(0, cold - getattr(whole, name))
    return whole.model_copy(update=kept)


def _current(records: Sequence[StepRecord]) -> list[StepRecord]:
    """All but stopped steps, and those that began with a first answer which was replaced later."""
    loops = [r.time for r in records if r.step == LOOP and r.error is None]
    since = max(loops) if len(loops) > 1 else ""
    return [
        r
        for r in records
        if r.error != STOPPED and (not begins_with_first(r.step) or r.time >= since)
    ]


def _score(grade: StepRecord | None) -> ConflictReport | None:
    if grade is None or grade.error is not None:
        return None
    return _read_value(grade, GradedValue).report


def _failed(error: str) -> MethodResult:
    return MethodResult(answer=None, error=error)


def _read_value(record: StepRecord, form: type[_V]) -> _V:
    """The value of a step that has one."""
    try:
        return form.model_validate(record.value)
    except ValidationError as error:
        field, why = first_fault(error)
        raise InputError(
            f"question {record.question!r}, step {record.step}: {field or 'value'}: {why};"
            " the records are of another version, or were edited: start a new run"
        ) from None
