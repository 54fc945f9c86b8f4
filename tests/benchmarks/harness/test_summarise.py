"""From results to figures: the paper's counts, honest denominators, and costs."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conflictscore.benchmarks.harness.figures import Figures, Interval, Proportion
from conflictscore.benchmarks.harness.methods.registry import BASELINE, GRADE, LOOP, METHODS
from conflictscore.benchmarks.harness.records import Question, StepRecord
from conflictscore.benchmarks.harness.results import results
from conflictscore.records import ConflictReport, Usage
from tests.benchmarks.harness.recorded import (
    MODEL,
    answered,
    attempt,
    choice,
    figures_of,
    free,
    grade,
    loop,
    option,
    record,
    report,
    text,
    tokens,
    unpriced,
)

RAG, CONTROL, REGENERATED, GUARDED, *_ = METHODS
OTHER, REVISED = "madam-rag", "revised-rag"
SIX = (RAG, CONTROL, REGENERATED, GUARDED, OTHER, REVISED)
SPLIT, SUPPORTED = report("+-"), report("++")


def dollar_a_token(usage: Mapping[str, Usage]) -> tuple[float | None, tuple[str, ...]]:
    unknown = tuple(model for model in usage if model != MODEL)
    return (None if unknown else sum(u.input_tokens for u in usage.values())), unknown


def summed(
    questions: Sequence[Question],
    records: Sequence[StepRecord],
    *,
    methods: Sequence[str] = SIX,
    measures: Sequence[str] = ("accuracy",),
    **options: Any,
) -> Figures:
    known = {"money": dollar_a_token, **options}
    return figures_of(questions, records, methods, measures, **known)


def chosen(question: Question, *options: int, conflict: bool | None = None) -> StepRecord:
    """The loop on a multiple choice: the first answer and, after a conflict, the second."""
    first, *second = (option(question, number) for number in options)
    split = bool(second) if conflict is None else conflict
    attempts = [attempt(first, SPLIT if split else SUPPORTED)]
    return loop(question, *attempts, *(attempt(a, SUPPORTED, after=SPLIT) for a in second))


def corrected(question: Question, **rest: Any) -> StepRecord:
    """The loop on a multiple choice: a wrong answer with evidence on both sides, corrected."""
    first = attempt(option(question, 1), SPLIT)
    return loop(question, first, attempt(option(question, 0), SUPPORTED, after=SPLIT), **rest)


def share(figure: Proportion | Interval) -> Proportion:
    assert isinstance(figure, Proportion)
    return figure


def percent(of: Proportion) -> tuple[float, float]:
    assert of.low is not None
    assert of.high is not None
    return round(100 * of.low, 1), round(100 * of.high, 1)


def test_the_papers_counts_give_the_papers_figures() -> None:
    questions = [choice(f"q{number}") for number in range(779)]
    ways: list[tuple[int, ...]] = [*[(1, 0)] * 16, *[(0, 1)] * 8]  # corrected, harmed
    ways += [(0, 0)] * 200 + [(1, 1)] * 24  # conflict, retained
    ways += [(0,)] * (656 - 208) + [(1,)] * (779 - 248 - 448)
    records = [chosen(q, *way) for q, way in zip(questions, ways, strict=True)]
    made = summed(questions, records, methods=[RAG, REGENERATED])

    rag, regenerated = (share(method.measures["accuracy"]) for method in made.methods)
    assert (rag.count, regenerated.count, rag.n, regenerated.n) == (656, 664, 779, 779)
    assert rag.value == pytest.approx(0.8421, abs=5e-5)
    assert regenerated.value == pytest.approx(0.8524, abs=5e-5)

    (paired,) = made.paired
    assert (paired.both_right, paired.both_wrong) == (648, 107)
    assert (paired.corrected, paired.harmed, paired.n) == (16, 8, 779)
    assert paired.p_value == pytest.approx(0.152, abs=5e-4)
    assert paired.difference.value == pytest.approx(8 / 779)
    assert paired.difference.low is not None
    assert paired.difference.low < 0

    (changes,) = made.transitions
    assert (changes.conflict, changes.failed, changes.unjudged) == (248, 0, 0)
    assert (changes.retained.count, changes.revised.count) == (224, 24)
    assert (changes.corrections.count, changes.harms.count, changes.neutral.count) == (16, 8, 0)
    assert percent(changes.corrections) == (46.7, 82.0)
    assert percent(changes.harms) == (18.0, 53.3)
    assert (changes.harms_of_conflict.count, changes.harms_of_conflict.n) == (8, 248)
    assert percent(changes.harms_of_conflict) == (1.6, 6.2)
    recovered = changes.recovered_of_wrong
    assert recovered is not None
    assert (recovered.count, recovered.n) == (16, 16 + 24)


def test_the_papers_own_comparison_is_tested_and_p_is_adjusted_over_all_tests() -> None:
    questions = [choice(f"q{number}") for number in range(20)]
    records = [
        item
        for number, q in enumerate(questions)
        for item in (
            chosen(q, int(number >= 9), int(number != 19)),
            answered(q, CONTROL, option(q, int(number >= 5))),
        )
    ]
    made = summed(questions, records, methods=[RAG, CONTROL, REGENERATED])
    (compared,) = made.compared
    assert (compared.method, compared.against, compared.measure) == (
        REGENERATED,
        CONTROL,
        "accuracy",
    )
    # rag is wrong on 10, control-rag on 15 and regenerated-rag on 18 of 20
    assert (compared.corrected, compared.harmed, compared.n) == (1, 5, 20)
    assert compared.p_value == pytest.approx(0.21875)
    assert compared.difference.value == pytest.approx(-4 / 20)
    ps = sorted(pair.p_value for pair in made.tests if pair.p_value is not None)
    smallest = min(made.tests, key=lambda pair: pair.p_value or 0)
    assert len(ps) == 3
    assert smallest.p_holm == pytest.approx(min(1.0, 3 * ps[0]))
    assert all((pair.p_holm or 0) >= (pair.p_value or 0) for pair in made.tests)
    alone = summed(questions, records, methods=[RAG, CONTROL])
    assert (alone.compared, alone.paired[0].p_holm) == ((), None)
    named = summed(questions, records, methods=[RAG, CONTROL], compare=[(RAG, CONTROL)])
    assert named == alone  # every method is compared with the baseline anyway
    pair, other_pair = (REGENERATED, CONTROL), (GUARDED, RAG)
    once = summed(questions, records, methods=[RAG, CONTROL, REGENERATED], compare=[pair])
    twice = [other_pair, pair, pair[::-1], pair]
    repeated = summed(questions, records, methods=[RAG, CONTROL, REGENERATED], compare=twice)
    assert repeated == once == made  # a test that is named twice counts once


def test_a_pair_that_no_question_was_judged_for_is_no_test_of_holms() -> None:
    questions = [choice(f"q{number}") for number in range(3)]
    records = [chosen(q, 0, 1) for q in questions]
    made = summed(questions, records, methods=[RAG, CONTROL, REGENERATED])
    assert [pair.p_value for pair in made.tests] == [None, 0.25, None]
    assert [pair.p_holm for pair in made.tests] == [None, None, None]


def test_an_unjudged_flip_is_counted_and_neither_a_correction_nor_a_harm() -> None:
    judged, unread, _ = questions = [free(name) for name in ("judged", "unread", "ungraded")]
    records = [
        loop(q, attempt(text("Old."), SPLIT), attempt(text("New."), SUPPORTED, after=SPLIT))
        for q in questions
    ]
    records += [grade(q, "Old.", False) for q in questions]
    records.append(grade(judged, "New.", False))
    records.append(record(unread, GRADE, None, key="New.", error="no reply"))
    made = summed(
        questions, records, methods=[RAG, REGENERATED], measures=["truthful", "informative"]
    )
    rag, regenerated = made.methods
    assert [regenerated.measures["truthful"].n, rag.measures["truthful"].n] == [1, 3]
    assert regenerated.unjudged == {"truthful": 1, "informative": 1}
    assert [(p.measure, p.n) for p in made.paired] == [("truthful", 1), ("informative", 1)]
    (changes,) = made.transitions
    assert (changes.measure, changes.revised.count, changes.unjudged) == ("truthful", 3, 2)
    assert (changes.neutral.count, changes.neutral.n, changes.harms_of_conflict.n) == (1, 1, 1)


class TestCost:
    def run(self, *, said: bool = True) -> tuple[list[Question], list[StepRecord]]:
        """Two wrong answers with conflict: the loop corrects both, and a debate corrects one."""
        questions = [choice("one"), choice("two")]
        records = []
        for number, q in enumerate(questions):
            known = {"first_usage": tokens(100)} if said else {}
            records += [
                corrected(q, usage=tokens(1000, calls=9), seconds=2.0, **known),
                answered(q, OTHER, option(q, number), usage=tokens(110), seconds=0.5),
                answered(q, REVISED, option(q, 0), usage=tokens(200)),
                answered(q, "control-rag", option(q, 1), usage=tokens(120)),
            ]
        return questions, records

    def test_each_method_is_counted_what_it_cost_beyond_the_baseline(self) -> None:
        cost = summed(*self.run()).cost
        assert cost.net_corrections == {
            CONTROL: 0,
            REGENERATED: 2,
            GUARDED: 2,
            OTHER: 1,
            REVISED: 2,
        }
        assert cost.tokens_per_net_correction == {
            CONTROL: None,
            REGENERATED: 900,
            GUARDED: 900,
            OTHER: 220,
            REVISED: 200,
        }
        assert cost.cold_money_per_net_correction == cost.tokens_per_net_correction
        assert cost.usage == {MODEL: Usage(calls=24, input_tokens=2860)}
        assert cost.by_step[LOOP] == Usage(calls=18, input_tokens=2000)
        assert (cost.money, cost.unknown_prices, cost.seconds) == (2860, (), 5.0)

    def test_a_reply_of_a_cache_costs_nothing_now_and_has_its_price_all_the_same(self) -> None:
        q = choice("one")
        kept = Usage(cached_calls=1, counted_calls=1, kept_input_tokens=40)
        half = {MODEL: Usage(calls=2, input_tokens=100) + kept + kept}
        both = corrected(q, first_usage={MODEL: Usage(calls=1, input_tokens=50)}, usage=half)
        cached = answered(q, CONTROL, option(q, 0), usage={MODEL: kept})
        cost = summed([q], [both, cached], methods=(RAG, CONTROL, REGENERATED)).cost
        assert (cost.money, cost.cold_money) == (100, 220)
        assert cost.cold_money_per_net_correction == {CONTROL: 40, REGENERATED: 130}
        assert cost.unknown_prices == ()

    def test_replies_kept_without_their_tokens_have_no_price_and_are_never_free(self) -> None:
        q = choice("one")
        kept = {MODEL: Usage(cached_calls=4)}
        both = corrected(q, first_usage={MODEL: Usage(cached_calls=1)}, usage=kept)
        cost = summed([q], [both], methods=(RAG, REGENERATED)).cost
        assert (cost.money, cost.cold_money) == (0, None)
        assert cost.cold_money_per_net_correction == {REGENERATED: None}
        assert cost.uncounted_calls == 4

    def test_a_second_look_of_unknown_cost_stays_unknown(self) -> None:
        cost = summed(*self.run(said=False)).cost
        unknown = {
            m for m, tokens_each in cost.tokens_per_net_correction.items() if not tokens_each
        }
        assert unknown == {CONTROL, REGENERATED, GUARDED}
        assert cost.tokens_per_net_correction[OTHER] == 220

    def test_a_loop_that_was_only_stopped_is_not_counted_as_cost_beyond_the_baseline(self) -> None:
        questions, records = self.run()
        third = choice("three")
        stopped = record(third, LOOP, None, error="ended", failure="stopped", usage=tokens(70))
        cost = summed([*questions, third], [*records, stopped]).cost
        assert cost.tokens_per_net_correction[REGENERATED] is None
        assert cost.tokens_per_net_correction[GUARDED] is None
        assert cost.tokens_per_net_correction[OTHER] == 220
        assert cost.by_step[LOOP].input_tokens == 2070
        # the repeated loop finds the 70 tokens of the stopped one in the cache
        again = Usage(calls=8, input_tokens=930, cached_calls=1, counted_calls=1)
        again = again.model_copy(update={"kept_input_tokens": 70})
        ended = corrected(third, usage={MODEL: again}, first_usage=tokens(100))
        whole = summed([*questions, third], [*records, stopped, ended]).cost
        assert whole.tokens_per_net_correction[GUARDED] == 900

    def test_an_unknown_price_is_an_unknown_cost_and_never_0(self) -> None:
        questions, records = self.run()
        other = {"mystery": Usage(calls=1, input_tokens=1)}
        extra = record(questions[0], GRADE, None, key="?", error="x", usage=other)
        cost = summed(questions, [*records, extra]).cost
        assert (cost.money, cost.unknown_prices) == (None, ("mystery",))
        assert cost.cold_money_per_net_correction[REGENERATED] == 900

        without = summed(questions, records, money=unpriced).cost
        assert (without.money, without.unknown_prices) == (None, (MODEL,))
        assert set(without.cold_money_per_net_correction.values()) == {None}
        assert without.tokens_per_net_correction[REGENERATED] == 900


def test_a_run_that_has_not_begun_has_no_figure_that_looks_like_one() -> None:
    made = summed([choice("one")], [])
    assert (made.questions, made.ended, made.failed) == (1, 0, 0)
    assert {m.measures["accuracy"].value for m in made.methods} == {None}
    assert {p.p_value for p in made.paired} == {None}
    assert made.coverage == Interval(value=None)


def test_a_question_that_waits_for_a_grade_has_not_ended() -> None:
    waiting, graded, unread = questions = [free(name) for name in ("waiting", "graded", "unread")]
    records = [loop(q, attempt(text("Old."), SUPPORTED)) for q in questions]
    records.append(grade(graded, "Old.", True))
    records.append(record(unread, GRADE, None, key="Old.", error="no reply"))
    measures = ["truthful", "informative"]
    assert summed(questions, records, methods=[RAG], measures=measures).ended == 2
    records.append(grade(waiting, "Old.", True))
    assert summed(questions, records, methods=[RAG], measures=measures).ended == 3


@pytest.mark.parametrize("second_report", [SUPPORTED, None])
def test_a_method_has_a_mean_score_only_if_all_its_answers_were_scored(
    second_report: ConflictReport | None,
) -> None:
    calm, split = questions = [choice("calm"), choice("split")]
    second = attempt(option(split, 0), second_report, after=SPLIT)
    records = [chosen(calm, 0), loop(split, attempt(option(split, 1), SPLIT), second)]
    made = summed(questions, records, methods=[RAG, REGENERATED])
    means = {scores.method: scores.cs_c.value for scores in made.scores}
    assert means == ({RAG: 0.5} if second_report is None else {RAG: 0.5, REGENERATED: 0.0})


def test_without_the_baseline_nothing_is_paired() -> None:
    question = choice("one")
    made = summed(
        [question], [answered(question, "control-rag", option(question, 0))], methods=[CONTROL]
    )
    assert share(made.methods[0].measures["accuracy"]).count == 1
    assert (made.paired, made.transitions, made.cost.net_corrections) == ((), (), {})


@st.composite
def runs(draw: st.DrawFn) -> tuple[list[Question], list[StepRecord]]:
    """Free-form runs with every kind of trouble: failures, missing steps, scores and grades."""
    questions, records = [], []
    answers = st.sampled_from(["Yes.", "No.", "no.", "Maybe."])
    scores = st.sampled_from([None, SPLIT, SUPPORTED, report("00"), report("-?", "+-")])
    for number in range(draw(st.integers(0, 6))):
        q = free(f"q{number}", category=draw(st.sampled_from(["", "Law"])))
        questions.append(q)
        before = draw(scores)
        attempts = [attempt(text(draw(answers)), before)]
        error = None
        if before is SPLIT:
            error = draw(st.sampled_from([None, "no reply"]))
            if error is None:
                attempts.append(attempt(text(draw(answers)), draw(scores), after=SPLIT))
        match draw(st.sampled_from(["done", "done", "done", "failed", "to come"])):
            case "done":
                records.append(loop(q, *attempts, regeneration_error=error, usage=tokens(9)))
            case "failed":
                records.append(record(q, LOOP, None, error="no reply", usage=tokens(2)))
        records += [
            answered(q, step, text(draw(answers)), seconds=0.1)
            for step in (OTHER, REVISED)
            if draw(st.booleans())
        ]
        for key in ("Yes.", "No.", "no."):
            verdict = draw(st.sampled_from([True, False, None]))
            if verdict is None:
                records.append(record(q, GRADE, None, key=key, error="no reply"))
            else:
                records.append(grade(q, key, verdict))
    return questions, records


FREE: dict[str, Any] = {"measures": ["truthful", "informative"]}


@settings(max_examples=12)
@given(runs(), st.randoms(use_true_random=False))
def test_figures_do_not_depend_on_the_order_of_the_records_and_survive_json(
    run: tuple[list[Question], list[StepRecord]], random: Any
) -> None:
    questions, records = run
    made = summed(questions, records, **FREE)
    shuffled, mixed = list(records), list(questions)
    random.shuffle(shuffled)
    random.shuffle(mixed)
    assert summed(mixed, shuffled, **FREE).model_dump_json() == made.model_dump_json()
    assert Figures.model_validate_json(made.model_dump_json()) == made


@settings(max_examples=20)
@given(runs())
def test_all_counts_add_up(run: tuple[list[Question], list[StepRecord]]) -> None:
    questions, records = run
    found = results(questions, records, methods=SIX, **FREE)
    made = summed(questions, records, **FREE)
    by_method = {m.method: m for m in made.methods}
    for method, of in by_method.items():
        ended = [r.methods[method] for r in found if method in r.methods]
        graded = [r for r in ended if r.answer and r.answer.text != "Maybe."]
        for measure, figure in of.measures.items():
            right = share(figure)
            assert right.n + of.unjudged[measure] == len(graded)
            assert of.failed + len(graded) <= of.questions == len(ended)
            split = [share(c.measures[method][measure]) for c in made.categories]
            if split:
                assert sum(s.n for s in split) == right.n
                assert sum(s.count for s in split) == right.count
    for pair in made.paired:
        assert pair.both_right is not None
        assert pair.both_wrong is not None
        assert pair.both_right + pair.both_wrong + pair.corrected + pair.harmed == pair.n
        limit = min(by_method[m].measures[pair.measure].n for m in (BASELINE, pair.method))
        assert pair.n == pair.difference.n <= limit
    for change in made.transitions:
        answered_ones = change.conflict - change.failed
        assert change.retained.n == change.revised.n == answered_ones
        assert change.retained.count + change.revised.count == answered_ones
        judged = [change.corrections, change.harms, change.neutral]
        assert {kind.n for kind in judged} == {change.revised.count - change.unjudged}
        assert sum(kind.count for kind in judged) == judged[0].n
        assert change.harms_of_conflict.count == change.harms.count
        assert judged[0].n <= change.harms_of_conflict.n <= answered_ones
        wrong = change.recovered_of_wrong
        assert wrong is None or change.corrections.count <= wrong.n <= change.harms_of_conflict.n
    assert sum(c.questions for c in made.categories) in (0, len(questions))
    assert sum(made.cost.by_step.values(), Usage()) == sum(made.cost.usage.values(), Usage())
