"""Joins the records of a run into the results of each question, by method.

A record describes one step. A step is the search (``documents``), the ``loop`` that corrects
answers, the answer of a method with its own step, the comparison of two answers (``meaning``), or a
``grade``. Three methods share the loop's record: ``rag`` is its first answer, ``regenerated-rag``
its last answer, and ``guarded-rag`` the last answer that its guard accepts.

The results depend only on the questions and the set of records, not on the order of the records.
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
    """Join the records into one result for each question.

    A method appears in a result once its steps have ended. Multiple-choice answers are judged here;
    verdicts on other answers come from their grade records. If a step was recorded several times, a
    value takes precedence over an error, and a later record over an earlier one. The costs of all
    records are added up. These rules apply:

    - If the question has no documents, every method has failed. If a question has no first answer,
      every method that needs one has failed.
    - If the loop's second answer failed, ``rag`` still has its answer, but ``regenerated-rag`` and
      ``guarded-rag`` have failed.
    - ``guarded-rag`` has the last answer if it differs from the first answer and the loop's guard
      accepts it. If not, ``guarded-rag`` has the first answer.
    - Some methods start from the loop's first answer. If the loop was repeated after such a method,
      the method counts as not yet run.
    - If a method should have named the conflict type but failed, it counts as having named no type.
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
    """Turns the records of one question into results, by the rules in :func:`results`.

    For each step, grade or comparison of claims, only the record that takes precedence is read.
    Usage and seconds are summed over all records.
    """

    def __init__(
        self, question: Question, records: list[StepRecord], measures: Sequence[str]
    ) -> None:
        self._question, self._records, self._measures = question, records, measures
        # the dictionary holds the last of several records with the same step and key, so errors are
        # sorted before values, and older records before newer ones
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
        """Build the result for the question, by the rules in :func:`results`.

        ``reconsidered`` and ``justification`` come from the round that changed the answer, or from
        the last round if the answer did not change.
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
        """Return the conflict type that each of these methods named; None if the method failed."""
        answers = {name: self._value(name, AnsweredValue) for name in methods}
        return {
            name: None if answer is None else answer.conflict_type
            for name, answer in answers.items()
        }

    def _changes(self, methods: Mapping[str, BenchmarkMethod]) -> dict[str, tuple[Change, ...]]:
        """Return the changes made by the loop and by methods that start from its first answer."""
        changes = {LOOP: self._loop.changes} if isinstance(self._loop, LoopValue) else {}
        for method in methods.values():
            if method.begins_with_first and (
                answered_value := self._value(method.step, AnsweredValue)
            ):
                changes[method.step] = answered_value.changes
        return changes

    @cached_property
    def _loop(self) -> LoopValue | MethodResult | None:
        """The loop's value, or a result without an answer if it failed; None if it has not run."""
        return self._outcome(LOOP, LoopValue)

    @cached_property
    def _first(self) -> MethodResult | None:
        """The loop's first answer, which is used even if the loop failed later."""
        loop = self._loop
        return self._attempt(loop.attempts[0]) if isinstance(loop, LoopValue) else loop

    @cached_property
    def _last(self) -> MethodResult | None:
        """The loop's last answer, or a failure if the second answer is missing."""
        if not isinstance(self._loop, LoopValue):
            return self._loop
        if self._loop.regeneration_error is not None:
            return _failed(self._loop.regeneration_error)
        return self._attempt(self._loop.attempts[-1])

    @cached_property
    def _guard(self) -> Guard | None:
        """The guard's verdict, as the loop recorded it.

        For runs of format 1, the verdict is computed here.
        """
        if not isinstance(self._loop, LoopValue) or self._loop.regeneration_error is not None:
            return None
        if self._loop.guard is not None:
            return self._loop.guard
        return guard_of(self._loop.attempts[0], self._loop.attempts[-1])

    def _ended(self, method: BenchmarkMethod) -> MethodResult | None:
        """Return a method's result, by the rules of :func:`results`; None if it has not run."""
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
        # the loop may not have scored its last answer, but its grade may be a score
        report = attempt.report or method_result.report
        return method_result.model_copy(update={"report": report})

    def _judged(self, answer: Answer, grade_key: str) -> MethodResult:
        """Return an answer with the verdicts from its grade, or with none if it has no grade yet.

        Equally worded answers share a grade, even if different methods gave them.
        """
        grade, report = self._grades.get(grade_key), None
        if self._question.options:  # a choice has one measure (see ``CHOICES``)
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
        """Judge whether the correct option was chosen, or add up the correct probabilities."""
        options, gold = self._question.options, self._question.gold
        if answer.option is None:
            return Verdict(value=None, error="the answer does not name an option")
        if answer.probabilities:  # the form "mc2", in which several options may be correct
            each = zip(options, answer.probabilities, strict=True)
            right_share = fsum(p for o, p in each if o in self._question.correct)
            return Verdict(value=min(1.0, right_share))  # rounding may bring the sum above 1
        if gold is None:
            return Verdict(value=None, error="the correct option is not known")
        return Verdict(value=answer.option == gold)

    def _outcome(self, step: str, form: type[V]) -> V | MethodResult | None:
        """Return the value or the failure of a step; None if the step has not run."""
        record = self._steps.get(step)
        if record is None:
            documents = self._steps.get(DOCUMENTS)
            return _failed(documents.error) if documents and documents.error is not None else None
        return read_value(record, form) if record.error is None else _failed(record.error)

    def _value(self, step: str, form: type[V]) -> V | None:
        record = self._steps.get(step)
        return read_value(record, form) if record and record.error is None else None

    def _conflict(self) -> bool | None:
        """Return whether a claim of the first answer is in conflict; None if it has no score."""
        report = self._first.report if self._first else None
        if report is None or report.error is not None or report.cs_c is None:
            return None
        return bool(report.conflicting)

    def _usage(self) -> dict[str, dict[str, Usage]]:
        """Add up the usage by step and model, over all records, including replaced ones."""
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
        """Return the usage of a part of the loop; None if a record does not state it.

        The record of a stopped loop states only the cost so far, not which part caused the cost. So
        the usage is unknown until a later session has repeated the loop.

        A repeated loop finds its earlier replies in the cache, and its record already includes
        their tokens (see ``Usage.cold``). So the usage of the records is not added up; the largest
        record is used.
        """
        loops = [record for record in self._records if record.step == LOOP]
        if loops and all(record.stopped for record in loops):
            return None
        most: dict[str, Usage] = {}
        for record in loops:
            part_usage = _part_of(record, part)
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


def _part_of(
    loop: StepRecord, part: Literal["first_usage", "check_usage"]
) -> Mapping[str, Usage] | None:
    """Return the usage of a part of one loop, empty if the loop was stopped; None if not stated."""
    if loop.stopped:
        return {}
    if loop.error is not None:
        # a loop that failed did not get past its first answer, so it checked no last answer
        return loop.usage if part == "first_usage" else {}
    value = read_value(loop, LoopValue)
    return value.first_usage if part == "first_usage" else value.check_usage


def _reconsidered(
    changes: Iterable[Change], flipping_attempt: Attempt | None
) -> ClaimEvidence | None:
    """Return the claim that was reconsidered: the first claim of the first change.

    If an attempt changed the answer, only changes that were applied in its round are considered.
    """
    for change in changes:
        is_of_flip = flipping_attempt is not None and change.round == flipping_attempt.round
        if flipping_attempt is None or (change.applied and is_of_flip):
            for claim in change.claims:
                return claim
    return None


def _of_all(records: Sequence[Usage]) -> Usage:
    """Combine the usage of a step over all its records.

    If a step was stopped and repeated, it finds its own replies in the cache. The tokens of these
    replies must not count twice, as paid and as cached. The complete attempt has the largest
    record: it reads all tokens of the step, some of them from the cache. So the number of cached
    tokens is that of the largest record (paid and cached) minus the paid tokens of all records.
    """
    whole = sum(records, Usage())
    own_replies = {}
    for name in ("input_tokens", "cache_read_tokens", "output_tokens"):
        cold = max(getattr(usage, name) + getattr(usage, f"kept_{name}") for usage in records)
        own_replies[f"kept_{name}"] = max(0, cold - getattr(whole, name))
    return whole.model_copy(update=own_replies)


def _current(records: Sequence[StepRecord]) -> list[StepRecord]:
    """Drop records of stopped steps, and records based on a first answer that was later replaced.

    If the loop has been rerun, methods that start from its first answer must be rerun too. A loop
    that failed gave no first answer to start from, so only loops with a value are compared.
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
