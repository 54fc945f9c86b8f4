"""From step records to each method's answers and their judgements."""

from typing import Any

import pytest

from conflictscore.benchmarks.harness.methods.registry import DOCUMENTS, LOOP, METHODS
from conflictscore.benchmarks.harness.records import Guard, Question, QuestionResult, StepRecord
from conflictscore.benchmarks.harness.results import results
from conflictscore.errors import InputError
from conflictscore.records import Answer, Change, ConflictReport, RevisionAction, Usage
from tests.benchmarks.harness.recorded import (
    MODEL,
    answered,
    attempt,
    choice,
    free,
    loop,
    option,
    record,
    report,
    text,
    tokens,
)

RAG, CONTROL, REGENERATED, GUARDED, *_ = METHODS
REVISED, OTHER = "revised-rag", "madam-rag"
SPLIT, SUPPORTED = report("+-"), report("++")
MOON, FREE_MOON = choice("moon"), free("moon")


def joined(question: Question, *records: StepRecord) -> QuestionResult:
    measures = ("accuracy",) if question.options else ("truthful", "informative")
    (result,) = results([question], records, methods=list(METHODS), measures=measures)
    return result


def flipped(after: ConflictReport | None) -> QuestionResult:
    """A choice whose wrong answer, with split evidence, became the right one."""
    new = Answer(text=MOON.options[0], option=0, justification="Doc 1 says so.", cited=(1,))
    first = attempt(option(MOON, 1), SPLIT)
    return joined(MOON, loop(MOON, first, attempt(new, after, after=SPLIT)))


def options_of(result: QuestionResult) -> dict[str, int | None]:
    return {m: r.answer.option if r.answer else None for m, r in result.methods.items()}


class TestLoop:
    def test_one_loop_gives_the_answers_of_three_methods(self) -> None:
        result = flipped(SUPPORTED)
        assert options_of(result) == {RAG: 1, REGENERATED: 0, GUARDED: 0}
        assert [r.value("accuracy") for r in result.methods.values()] == [False, True, True]
        assert [r.report for r in result.methods.values()] == [SPLIT, SUPPORTED, SUPPORTED]
        assert result.conflict is True
        assert result.reconsidered == SPLIT.evidence(1)
        assert result.justification == "Doc 1 says so."
        assert result.guard == Guard(accepted=True)

    @pytest.mark.parametrize(
        ("after", "note"),
        [(SPLIT, "not support the new text better than the old text"), (None, "no score")],
    )
    def test_a_flip_without_better_support_is_refused_and_logged(
        self, after: ConflictReport | None, note: str
    ) -> None:
        result = flipped(after)
        assert options_of(result) == {RAG: 1, REGENERATED: 0, GUARDED: 1}
        assert result.methods[GUARDED] == result.methods[RAG]
        assert result.guard is not None
        assert not result.guard.accepted
        assert note in str(result.guard.note)

    def test_the_claim_of_a_flip_is_that_of_the_passage_that_changed(self) -> None:
        question, both = free("moon"), report("+--", "+-")
        first, last = attempt(text("It is old. It is white."), both), "It is old. It is green."
        kept, changed = both.claims
        known: dict[str, Any] = {"round": 1, "start": 0, "end": 10}
        known |= {"before": "It is old.", "after": "It is old."}
        changes = [
            Change(action=RevisionAction.KEEP, claims=(kept,), **known),
            Change(
                action=RevisionAction.REPLACE,
                claims=(changed,),
                **known | {"before": "It is white.", "after": "It is green."},
            ),
        ]
        looped = loop(question, first, attempt(text(last), SUPPORTED, after=both))
        value = {**(looped.value or {}), "changes": [change.to_json() for change in changes]}

        result = joined(question, looped.model_copy(update={"value": value}))

        assert result.reconsidered == changed
        assert result.claims_about(REGENERATED) == (changed,)
        assert result.changes[LOOP] == tuple(changes)

    def test_without_a_first_answer_all_that_builds_on_it_failed(self) -> None:
        result = joined(
            MOON,
            record(MOON, LOOP, None, error="no reply"),
            answered(MOON, "control-rag", option(MOON, 0)),
        )
        errors = {method: r.error for method, r in result.methods.items()}
        assert errors == {
            RAG: "no reply",
            CONTROL: None,
            REGENERATED: "no reply",
            GUARDED: "no reply",
            REVISED: "the first answer failed",
            "resample": "the first answer failed",
            "placebo": "the first answer failed",
        }
        assert result.conflict is None

    @pytest.mark.parametrize(
        "scores",
        [None, report("??"), ConflictReport(cs_c=None, cs_r=None, coverage=None, error="?")],
    )
    def test_whether_there_is_conflict_is_not_known_without_a_score(
        self, scores: ConflictReport | None
    ) -> None:
        result = joined(MOON, loop(MOON, attempt(option(MOON, 0), scores)))
        assert result.conflict is None
        assert options_of(result)[RAG] == 0


def test_without_documents_every_method_failed() -> None:
    result = joined(MOON, record(MOON, DOCUMENTS, None, error="nothing found"))
    assert list(result.methods) == list(METHODS)
    assert {r.answer for r in result.methods.values()} == {None}
    assert result.methods[CONTROL].error == result.methods[RAG].error == "nothing found"


def test_a_choice_is_right_where_it_is_the_gold_option() -> None:
    question = choice("moon", gold=1)
    values = [
        joined(question, answered(question, "control-rag", answer)).methods[CONTROL]
        for answer in (option(question, 1), option(question, 0), text("no idea"))
    ]
    assert [v.value("accuracy") for v in values] == [True, False, None]
    assert values[2].verdicts["accuracy"].error == "the answer does not name an option"


class TestRecords:
    @pytest.mark.parametrize("order", [1, -1])
    def test_a_step_that_failed_and_was_tried_again_counts_once_and_costs_twice(
        self, order: int
    ) -> None:
        failed = record(MOON, "control-rag", None, error="no reply", usage=tokens(5), seconds=1.0)
        again = answered(MOON, "control-rag", option(MOON, 0), usage=tokens(7), seconds=2.0)
        result = joined(MOON, *[failed, again][::order])
        assert options_of(result) == {CONTROL: 0}
        assert result.usage == {"control-rag": {MODEL: Usage(calls=2, input_tokens=12)}}
        assert result.seconds == {"control-rag": 3.0}

    @pytest.mark.parametrize("order", [1, -1])
    def test_what_began_with_an_answer_that_was_replaced_is_still_to_come(self, order: int) -> None:
        old, new = (
            loop(FREE_MOON, attempt(text(said), SPLIT), time=time)
            for said, time in (("Old.", "2026-11-21T01:00Z"), ("New.", "2026-11-21T03:00Z"))
        )
        revised, later = (
            answered(FREE_MOON, REVISED, text(said), time=time)
            for said, time in (("On old.", "2026-11-21T02:00Z"), ("On new.", "2026-11-21T04:00Z"))
        )
        lost = record(FREE_MOON, LOOP, None, error="no reply", time="2026-11-21T03:00Z")

        def ended(*records: StepRecord) -> dict[str, str]:
            methods = joined(FREE_MOON, *records[::order]).methods
            return {m: r.answer.text for m, r in methods.items() if r.answer is not None}

        assert ended(old, revised, new) == {RAG: "New.", REGENERATED: "New.", GUARDED: "New."}
        assert ended(old, revised, new, later)[REVISED] == "On new."
        assert ended(old, revised, lost)[REVISED] == "On old.", "the first answer stands"

    @pytest.mark.parametrize(
        ("step", "value", "field"),
        [
            (LOOP, {"attempts": []}, "attempts"),
            (LOOP, {}, "attempts"),
            ("control-rag", {"answer": {"text": 3}}, "answer.text"),
            ("pipeline", {"answer": {"text": "so"}, "conflict_type": "odd"}, "conflict_type"),
        ],
    )
    def test_a_value_of_another_form_is_refused_by_name(
        self, step: str, value: dict[str, Any], field: str
    ) -> None:
        with pytest.raises(InputError, match=rf"question 'moon', step {step}: {field}: .*new run"):
            joined(MOON, record(MOON, step, value))

    def test_what_the_first_answer_cost_is_known_where_the_loop_says_so(self) -> None:
        first, whole = attempt(option(MOON, 0), SUPPORTED), tokens(50, calls=9)
        said = joined(MOON, loop(MOON, first, first_usage=tokens(5), usage=whole))
        assert (said.first_usage, said.check_usage) == (tokens(5), None)
        silent = joined(MOON, loop(MOON, first, usage=whole))
        assert (silent.first_usage, silent.check_usage) == (None, None)
        failed = joined(MOON, record(MOON, LOOP, None, error="no reply", usage=tokens(4)))
        assert (failed.first_usage, failed.check_usage) == (tokens(4), {})

    def test_what_the_first_answer_cost_is_unknown_while_the_loop_has_only_been_stopped(
        self,
    ) -> None:
        stopped = record(MOON, LOOP, None, error="ended", failure="stopped", usage=tokens(7))
        only = joined(MOON, stopped)
        assert (only.first_usage, only.check_usage) == (None, None)
        first = attempt(option(MOON, 0), SUPPORTED)
        ended = loop(MOON, first, first_usage=tokens(5), usage=tokens(50), time="2")
        assert joined(MOON, stopped, ended).first_usage == tokens(5)
        unreached = joined(MOON)
        assert (unreached.first_usage, unreached.check_usage) == ({}, {})


def test_a_last_answer_that_only_its_grade_scored_has_that_score() -> None:
    first, last = attempt(text("Old."), SPLIT), attempt(text("New."), None, after=SPLIT)
    verdicts = {"cs-c": {"value": 0.0}}
    graded = record(FREE_MOON, "grade", {"verdicts": verdicts, "report": SUPPORTED.to_json()})
    result = joined(
        FREE_MOON, loop(FREE_MOON, first, last), graded.model_copy(update={"key": "New."})
    )
    assert result.methods[RAG].report == SPLIT
    assert result.methods[REGENERATED].report == SUPPORTED
