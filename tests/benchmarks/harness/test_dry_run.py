"""The estimate of a dry run, compared with the calls of real runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from conflictscore.benchmarks.harness.definition import Benchmark
from conflictscore.benchmarks.harness.dry_run import Amounts, Estimate, estimate, power_card
from conflictscore.benchmarks.harness.figures import Interval, Paired
from conflictscore.benchmarks.harness.methods.registry import GRADE, LOOP, MEANING
from conflictscore.benchmarks.harness.setup import RunSettings, Setup, paper_loop
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.prices import Price, PriceTable
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, EvidenceLabel, Usage
from conflictscore.tokens import count_tokens
from tests.benchmarks.harness.dry import named
from tests.benchmarks.harness.quiz import Quiz, changed, lamps, run_quiz
from tests.fakes.openai_server import OpenAIServer

PRICES = PriceTable({"test-model": Price(input=1.0, output=2.0, source="test")})


def planned(
    benchmark: Benchmark,
    *methods: str,
    judge: LanguageModel | None = None,
    labeler: Any = "choice",
    assumed: tuple[int, int] | None = None,
    **settings: Any,
) -> Estimate:
    setup = Setup.open(
        RunSettings(methods=methods),
        paper_loop(**{"labeler": labeler, "prompts": None, **settings}),
        model=named(),
        judge=judge or named(),
        cache=False,
    )
    return estimate(benchmark, setup, prices=PRICES, assumed_documents=assumed)


def calls(amounts: Sequence[Amounts]) -> dict[str, float]:
    """Calls by step and in total."""
    return {amount.step: amount.calls for amount in amounts}


def two_documents(benchmark: Benchmark) -> Benchmark:
    """The quiz with its first two documents; the third is a copy, which is labelled once."""
    return changed(benchmark, lambda documents: documents[:2])


@pytest.mark.parametrize("free_form", [False, True], ids=["multiple-choice", "free-form"])
@pytest.mark.parametrize("disagreeing", [False, True], ids=["agreeing", "disagreeing"])
async def test_the_bounds_are_what_runs_without_conflict_and_with_it_take(
    tmp_path: Path, free_form: bool, disagreeing: bool
) -> None:
    benchmark = two_documents(lamps(2, free_form=free_form, disagreeing=disagreeing))
    methods = ("regenerated-rag", "control-rag")
    with OpenAIServer(Quiz()) as server:
        run = await run_quiz(tmp_path / "run", server, benchmark, methods=methods)
        read = sum(count_tokens(request.prompt) + 8 for request in server.requests)
    taken = run.figures.cost.by_step
    asked = {step: u.calls + u.cached_calls for step, u in taken.items() if u != Usage()}
    made = planned(benchmark, *methods)
    bound = calls(made.high if disagreeing else made.low)
    if free_form:  # an answer of the quiz has one claim; the estimate assumes three
        labels = 2 if disagreeing else 1  # of the first answer only; equal documents count as one
        bound[LOOP] -= len(benchmark.questions) * 2 * labels
        bound[GRADE] = asked[GRADE]  # many scripted answers are equal, and judged once
        assert asked.pop(MEANING, 0) <= bound.pop(MEANING, 0)  # unless the claims differ anyway
    del bound["total"]
    assert bound == asked
    if not free_form:
        total = (made.high if disagreeing else made.low)[-1].input_tokens
        assert total == pytest.approx(read, rel=0.05)


def test_every_method_is_counted_and_what_is_expected_lies_between_the_bounds() -> None:
    benchmark = lamps(2, free_form=True)
    made = planned(benchmark, *benchmark.offered)
    ended = {"documents", "agreeing-pair", "asked-agreeing", "no-documents"}
    own = {amount.step for amount in made.high} - ended
    assert {"control-rag", "oracle", "madam-rag", "balanced", "revised-rag", GRADE} <= own
    for low, expected, high in zip(made.low, made.expected, made.high, strict=True):
        assert low.calls <= expected.calls <= high.calls
        assert low.input_tokens <= expected.input_tokens <= high.input_tokens


@pytest.mark.parametrize(("labeler", "labels"), [("json", 6), ("choice", 6), ("per-document", 2)])
def test_labelers_are_counted_by_what_they_put_into_a_call(labeler: str, labels: int) -> None:
    benchmark = two_documents(lamps(1, free_form=True))
    made = planned(benchmark, "rag", labeler=labeler)
    assert calls(made.low)[LOOP] == 1 + 1 + labels
    assert calls(planned(benchmark, "rag", labeler=labeler, max_claims=1).low)[LOOP] <= 2 + labels


def test_a_labeler_of_ones_own_makes_no_call_that_is_counted() -> None:
    class Mine:
        name, identity = "mine", None

        async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
            raise AssertionError("a dry run asks no labeler of one's own")

    assert calls(planned(lamps(1), "regenerated-rag", labeler=Mine()).high)[LOOP] == 1 + 1


def test_documents_that_a_search_would_be_paid_for_are_assumed() -> None:
    made = planned(changed(lamps(1), lambda _: ()), "rag", assumed=(4, 200))
    assert calls(made.low)[LOOP] == 1 + 4
    assert made.low[-1].input_tokens > 2 * 4 * 200


def test_each_model_has_its_own_price_and_an_unknown_one_makes_the_cost_unknown() -> None:
    benchmark = lamps(1)
    made = planned(benchmark, "rag", judge=named("local:judge", endpoint="local"))
    ours, local = (
        next(a for a in made.expected if a.model == name) for name in ("test-model", "local:judge")
    )
    assert local.cost == 0
    assert ours.cost == pytest.approx((ours.input_tokens + 2 * ours.output_tokens) / 1e6)
    assert made.expected[-1].cost == pytest.approx(ours.cost)
    unknown = planned(benchmark, "rag", judge=named("unpriced"))
    assert (unknown.unknown_prices, unknown.expected[-1].cost) == (("unpriced",), None)
    assert Estimate.model_validate(unknown.to_json()) == unknown


def test_a_gain_that_no_number_of_questions_shows_is_not_said_to_need_none() -> None:
    so_far = Paired(
        method="regenerated-rag",
        measure="accuracy",
        n=5000,
        both_right=0,
        both_wrong=0,
        corrected=2001,
        harmed=2000,
        p_value=1.0,
        difference=Interval(value=0.0002, n=5000),
    )
    card = power_card(lamps(1), [so_far])
    assert card is not None
    assert "this run so far: 80.0 % of answers change. To show this gain" in card.note
    assert "a run needs more than ten million questions" in card.note
