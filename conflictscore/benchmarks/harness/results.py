"""From the records of a run to what is known of each question, method by method.

A record tells of one step: the search (``documents``), the correcting loop, the answer of a method
that has a step of its own, the comparing of two answers (``meaning``), or a ``grade``. Three
methods are read from the loop's record alone: ``rag`` is its first answer, ``regenerated-rag`` its
last, and ``guarded-rag`` the one that its guard lets stand.

Pure: it depends on the questions and on which records there are, not on the order of the records.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from math import fsum
from typing import Literal

from conflictscore.benchmarks.harness.conflict_types import ConflictType
from conflictscore.benchmarks.harness.guarding import guard_of
from conflictscore.benchmarks.harness.methods.method import BenchmarkMethod
from conflictscore.benchmarks.harness.methods.method_opening import method_of
from conflictscore.benchmarks.harness.methods.registry import (
    DOCUMENTS,
    GRADE,
    LOOP,
    MEANING,
    METHODS,
    steps,
)
from conflictscore.benchmarks.harness.records import (
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
    V,
    read_value,
)
from conflictscore.loop.rounds import flipped_by
from conflictscore.records import (
    Answer,
    Attempt,
    Change,
    ClaimEvidence,
    Usage,
)


def results(
    questions: Sequence[Question],
    records: Iterable[StepRecord],
    *,
    methods: Collection[str],
    measures: Sequence[str],
) -> list[QuestionResult]:
    """Join what was recorded to one result a question.

    A method is in a result once its steps ended. A choice between options is judged here; the
    verdicts of any other answer are in the record of its grade.
    Where a step was recorded more than once, a value goes before an error, then the later record
    before the earlier; what each of them cost is counted.

    - Without documents every method failed; without a first answer so did what builds on it.
    - Where the second answer could not be had, ``rag`` stands and ``regenerated-rag`` and
      ``guarded-rag`` failed.
    - ``guarded-rag`` ends with the last answer where that differs from the first and is
      accepted by the loop's guard, otherwise with the first.
    - Methods that begin with the loop's first answer are still to come where the loop was taken
      again after them.
    - Where a method that was asked for the type of the conflict failed, it told none.
    """
    by_question: dict[str, list[StepRecord]] = {question.id: [] for question in questions}
    for record in records:
        if record.question in by_question:
            by_question[record.question].append(record)
    methods_by_name = {name: method_of(name) for name in METHODS if name in methods}
    return [
        _Recorded(question, by_question[question.id], measures).result(methods_by_name)
        for question in questions
    ]


class _Recorded:
    """The records of one question, read as results; see :func:`results` for the rules.

    Steps, grades and meanings are each read from the one record that counts; usage and seconds are
    sums over all records.
    """

    def __init__(
        self, question: Question, records: list[StepRecord], measures: Sequence[str]
    ) -> None:
        self._question, self._records, self._measures = question, records, measures
        # the last in this order counts: a value, or else an error, and of either the latest
        record_by_place = {
            (record.step, record.key): record
            for record in sorted(_current(records), key=lambda r: (r.error is None, r.time))
        }
        self._grades = {
            key: record for (step, key), record in record_by_place.items() if step == GRADE
        }
        self._meanings = {
            key: read_value(record, MeaningValue).same
            for (step, key), record in record_by_place.items()
            if step == MEANING and record.error is None
        }
        self._steps = {
            s: record for (s, _), record in record_by_place.items() if s not in (GRADE, MEANING)
        }

    def result(self, methods: Mapping[str, BenchmarkMethod]) -> QuestionResult:
        """The question's result, by the rules of :func:`results`.

        ``reconsidered`` and ``justification`` are those of the round that made the flip; where none
        did, those of the last round.
        """
        results_by_method = {name: self._ended(method) for name, method in methods.items()}
        documents = self._value(DOCUMENTS, DocumentsValue)
        attempts = self._loop.attempts if isinstance(self._loop, LoopValue) else ()
        changes = self._changes(methods)
        flipping_attempt = flipped_by(attempts) if attempts else None
        last = flipping_attempt or (attempts[-1] if attempts else None)
        return QuestionResult(
            question=self._question,
            documents=documents.documents if documents else (),
            methods={
                method: method_result
                for method, method_result in results_by_method.items()
                if method_result
            },
            conflict=self._conflict(),
            reconsidered=_reconsidered(changes.get(LOOP, ()), flipping_attempt),
            changes=changes,
            justification=last.answer.justification if last and last.round else None,
            guard=self._guard,
            predicted=self._predicted(
                name
                for name, method in methods.items()
                if method.tells_type and results_by_method[name]
            ),
            same_claims=self._meanings,
            usage=self._usage(),
            first_usage=self._part("first_usage"),
            check_usage=self._part("check_usage"),
            seconds=self._seconds(),
        )

    def _predicted(self, methods: Iterable[str]) -> dict[str, ConflictType | None]:
        """The type of conflict that each of these methods told; None where it failed."""
        answers = {name: self._value(name, AnsweredValue) for name in methods}
        return {
            name: None if answer is None else answer.conflict_type
            for name, answer in answers.items()
        }

    def _changes(self, methods: Mapping[str, BenchmarkMethod]) -> dict[str, tuple[Change, ...]]:
        """The changes of the loop, and of each method that begins with its first answer."""
        changes = {LOOP: self._loop.changes} if isinstance(self._loop, LoopValue) else {}
        for method in methods.values():
            if method.begins_with_first and (
                answered_value := self._value(method.step, AnsweredValue)
            ):
                changes[method.step] = answered_value.changes
        return changes

    @cached_property
    def _loop(self) -> LoopValue | MethodResult | None:
        """The loop's value, its failure as a result without an answer, or None while to come."""
        return self._outcome(LOOP, LoopValue)

    @cached_property
    def _first(self) -> MethodResult | None:
        """The loop's first answer, which later failures of the loop leave as it is."""
        loop = self._loop
        return self._attempt(loop.attempts[0]) if isinstance(loop, LoopValue) else loop

    @cached_property
    def _last(self) -> MethodResult | None:
        """The loop's last answer; a failure where the second one could not be had."""
        if not isinstance(self._loop, LoopValue):
            return self._loop
        if self._loop.regeneration_error is not None:
            return _failed(self._loop.regeneration_error)
        return self._attempt(self._loop.attempts[-1])

    @cached_property
    def _guard(self) -> Guard | None:
        """The guard's verdict as the loop recorded it; runs of format 1 are judged here."""
        if not isinstance(self._loop, LoopValue) or self._loop.regeneration_error is not None:
            return None
        if self._loop.guard is not None:
            return self._loop.guard
        return guard_of(self._loop.attempts[0], self._loop.attempts[-1])

    def _ended(self, method: BenchmarkMethod) -> MethodResult | None:
        """The result of a method, by the rules of :func:`results`; None where it is to come."""
        if method.step == LOOP:
            has_failed = self._last is None or self._last.answer is None
            ends_with_last = has_failed or (self._guard is not None and self._guard.accepted)
            if method.name == "regenerated-rag" or (
                method.name == "guarded-rag" and ends_with_last
            ):
                return self._last
            return self._first
        if method.begins_with_first and self._first is not None and self._first.answer is None:
            return _failed("the first answer failed")
        outcome = self._outcome(method.step, AnsweredValue)
        if not isinstance(outcome, AnsweredValue):
            return outcome
        return self._judged(outcome.answer, method.grade_key(outcome.answer.text))

    def _attempt(self, attempt: Attempt) -> MethodResult:
        method_result = self._judged(attempt.answer, attempt.answer.text)
        return method_result.model_copy(update={"report": attempt.report})

    def _judged(self, answer: Answer, grade_key: str) -> MethodResult:
        """An answer with the verdicts of its grade; without any where it was not graded yet.

        Answers of the same words share a grade, whichever methods gave them.
        """
        grade, report = self._grades.get(grade_key), None
        if self._question.options:  # then there is one measure, accuracy
            verdicts = {self._measures[0]: self._choice(answer)}
        elif grade is None:
            verdicts = {}
        elif grade.error is not None:
            verdicts = dict.fromkeys(self._measures, Verdict(value=None, error=grade.error))
        else:
            graded_value = read_value(grade, GradedValue)
            verdicts, report = graded_value.verdicts, graded_value.report
        usages = list(grade.usage.values()) if grade else []
        return MethodResult(
            answer=answer,
            verdicts=verdicts,
            report=report,
            judged_by_copy=any(u.cached_calls for u in usages) and not any(u.calls for u in usages),
        )

    def _choice(self, answer: Answer) -> Verdict:
        """Whether the right option was chosen, or how probable the right ones are together."""
        options, gold = self._question.options, self._question.gold
        if answer.option is None:
            return Verdict(value=None, error="the answer names no option")
        if answer.probabilities:
            each = zip(options, answer.probabilities, strict=True)
            right_share = fsum(p for o, p in each if o in self._question.correct)
            return Verdict(value=min(1.0, right_share))  # rounding may bring it above 1
        if gold is None:
            return Verdict(value=None, error="the right option is not known")
        return Verdict(value=answer.option == gold)

    def _outcome(self, step: str, form: type[V]) -> V | MethodResult | None:
        """A step's value, its failure, or None where it is still to come."""
        record = self._steps.get(step)
        if record is None:
            documents = self._steps.get(DOCUMENTS)
            return _failed(documents.error) if documents and documents.error is not None else None
        return read_value(record, form) if record.error is None else _failed(record.error)

    def _value(self, step: str, form: type[V]) -> V | None:
        record = self._steps.get(step)
        return read_value(record, form) if record and record.error is None else None

    def _conflict(self) -> bool | None:
        """Whether a claim of the first answer is in conflict; None where it has no score."""
        report = self._first.report if self._first else None
        if report is None or report.error is not None or report.cs_c is None:
            return None
        return bool(report.conflicting)

    def _usage(self) -> dict[str, dict[str, Usage]]:
        """Usage by step and model: of every record, also of those that count for nothing else."""
        places = defaultdict[tuple[str, str], list[StepRecord]](list)
        for record in self._records:
            places[record.step, record.key].append(record)
        usage = defaultdict[str, dict[str, Usage]](dict)
        for (step, _), records in places.items():
            for model in {model for record in records for model in record.usage}:
                whole = _of_all([record.usage.get(model, Usage()) for record in records])
                usage[step][model] = usage[step].get(model, Usage()) + whole
        return {step: dict(sorted(usage[step].items())) for step in steps() if step in usage}

    def _part(self, part: Literal["first_usage", "check_usage"]) -> dict[str, Usage] | None:
        """Usage of a part of the loop; None where a record does not say.

        A loop that was taken again found its earlier replies in the cache, and its record has their
        tokens too (``Usage.cold``). So its records do not add up: the largest counts.
        """
        most: dict[str, Usage] = {}
        for record in self._records:
            if record.step != LOOP or record.stopped:
                continue
            # a loop that failed came no further than its first answer
            part_usage: Mapping[str, Usage] | None = record.usage if part == "first_usage" else {}
            if record.error is None:
                part_usage = getattr(read_value(record, LoopValue), part)
            if part_usage is None or any(usage.cold is None for usage in part_usage.values()):
                return None
            for model, usage in part_usage.items():
                both = most.get(model, Usage()), usage.cold or Usage()
                most[model] = max(both, key=lambda usage: usage.input_tokens + usage.output_tokens)
        return most

    def _seconds(self) -> dict[str, float]:
        seconds = defaultdict[str, list[float]](list)
        for record in self._records:
            seconds[record.step].append(record.seconds)
        return {step: fsum(seconds[step]) for step in steps() if step in seconds}


def _reconsidered(
    changes: Iterable[Change], flipping_attempt: Attempt | None
) -> ClaimEvidence | None:
    """The claim that the second look was about: the first claim of the first change.

    Where an attempt flipped the answer, only changes that were applied in its round count.
    """
    for change in changes:
        is_of_flip = flipping_attempt is not None and change.round == flipping_attempt.round
        if flipping_attempt is None or (change.applied and is_of_flip):
            for claim in change.claims:
                return claim
    return None


def _of_all(records: Sequence[Usage]) -> Usage:
    """Usage of a step by all its records.

    A step that was stopped and taken again finds its own replies in the cache. Counted as kept,
    they would count twice: kept are the tokens that the costliest record has beyond the sum.
    """
    whole = sum(records, Usage())
    own_replies = {}
    for name in ("input_tokens", "cache_read_tokens", "output_tokens"):
        cold = max(getattr(usage, name) + getattr(usage, f"kept_{name}") for usage in records)
        own_replies[f"kept_{name}"] = max(0, cold - getattr(whole, name))
    return whole.model_copy(update=own_replies)


def _current(records: Sequence[StepRecord]) -> list[StepRecord]:
    """The records that may count: none of a stopped step, nor of a first answer replaced later.

    Once the loop was taken again, a method that begins with its first answer is still to come.
    """
    loops = [r.time for r in records if r.step == LOOP and r.error is None]
    since = max(loops) if len(loops) > 1 else ""
    return [
        r
        for r in records
        if not r.stopped
        if r.time >= since or r.step not in METHODS or not method_of(r.step).begins_with_first
    ]


def _failed(error: str) -> MethodResult:
    return MethodResult(answer=None, error=error)
