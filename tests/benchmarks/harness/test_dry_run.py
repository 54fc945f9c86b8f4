"""What a run is expected to take, held against what runs then took."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.retrievers import BaseRetriever
from pydantic import ValidationError

from conflictscore import create_self_correcting_rag
from conflictscore.benchmarks.harness.conflict_types import ConflictType
from conflictscore.benchmarks.harness.definition import Benchmark
from conflictscore.benchmarks.harness.dry_run import estimate
from conflictscore.benchmarks.harness.estimate import Assumptions, Estimate, Range
from conflictscore.benchmarks.harness.methods.registry import COMMON_METHODS, GRADE, LOOP
from conflictscore.benchmarks.harness.records import Question, StepRecord, Verdict
from conflictscore.benchmarks.harness.setup import RunSettings, Setup
from conflictscore.benchmarks.truthfulqa.judges import STAND_INS, judge_answer
from conflictscore.graph.settings import LoopSettings
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.prices import Price, PriceTable
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.retrieve import given_documents
from conflictscore.nodes.state import RagInput
from conflictscore.prompts import PromptSet
from conflictscore.records import Claim, Document, EvidenceLabel, Usage
from conflictscore.tokens import count_tokens
from tests.benchmarks.harness.dry import named
from tests.benchmarks.harness.quiz import Quiz, lamps, run_quiz
from tests.benchmarks.harness.recorded import answered, attempt, grade, loop, option, report, text
from tests.fakes.openai_server import OpenAIServer
from tests.models.calling import calling
from tests.world import DISAGREEING, PAPER, World

PROMPTS = PromptSet.load()
DOCUMENTS = [
    Document.model_validate({"number": n, **item}) for n, item in enumerate(DISAGREEING, start=1)
]
OPTIONS = ("It was lit in 1871.", "It was lit in 1874.")
CHOICE = Question(id="choice", question="When was it lit?", options=OPTIONS, gold=1)
FREE = Question(
    id="free", question="When was it lit?", correct=("In 1874.",), incorrect=("In 1871.",)
)
RAG, SECOND_LOOK = "rag", "regenerated-rag"


MODEL = named()
PRICES = PriceTable({"test-model": Price(input=1.0, output=2.0, source="test")})


def sure(figure: float) -> Range:
    return Range(low=figure, expected=figure, high=figure)


CERTAIN = Assumptions(
    conflict_rate=sure(1),
    flipped=sure(1),
    reworded=sure(1),
    claims=sure(1),
    claim_tokens=sure(9),
    answer_tokens=sure(9),
    retried=sure(0),
)
"""A conflict, a change of mind and one claim an answer, as in the scripted world."""


class Mine:
    """A labeler of one's own, which makes no call that is counted."""

    name = "mine"
    identity = None

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        raise AssertionError("a dry run asks no labeler of one's own")


class FindsNothing(BaseRetriever):
    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Any]:
        return []


async def judge_free_form(question: Question, answer: str, **given: Any) -> dict[str, Verdict]:
    """The questions of a run have one form; here some have options, and are graded by no model."""
    return {} if question.options else await judge_answer(question, answer, **given)


def planned(
    questions: Sequence[Question],
    *methods: str,
    documents: Sequence[Document] | None = DOCUMENTS,
    model: LanguageModel = MODEL,
    judge: LanguageModel = MODEL,
    answer_judge: LanguageModel | None = MODEL,
    labeler: Any = "json",
    assumptions: Assumptions = CERTAIN,
    recorded: Sequence[StepRecord] = (),
    **settings: Any,
) -> Estimate:
    """With ``documents`` None nothing is known of them, and with none nothing is found."""
    given = [{"text": d.text, "title": d.title, "url": d.url} for d in documents or ()]
    benchmark = Benchmark(
        name="lamps",
        form="free-form",
        questions=tuple(
            question.model_copy(update={"documents": tuple(given)}) for question in questions
        ),
        judge=judge_free_form if answer_judge else None,
        stand_ins=STAND_INS,
        assumptions=assumptions,
    )
    setup = Setup.open(
        RunSettings(methods=tuple(methods)),
        LoopSettings(judge=judge, labeler=labeler, cache=False, **settings),
        model=model,
        answer_judge=answer_judge,
        retriever=FindsNothing(),
    )
    free = documents is not None
    return estimate(benchmark, setup, prices=PRICES, free_search=free, recorded=recorded)


def two(question: Question) -> list[Question]:
    """A placebo needs another question."""
    return [question, question.model_copy(update={"id": "another", "question": "When was it?"})]


class TestAgainstRuns:
    @pytest.mark.parametrize("labeler", ["json", "choice", "per-document", "matrix"])
    @pytest.mark.parametrize(
        ("question", "world"),
        [
            (
                CHOICE,
                World(
                    answer="(A)", regenerated=f"B – {OPTIONS[1]}\nJustification: The log (Doc 2)."
                ),
            ),
            (FREE, World(answer=OPTIONS[0], regenerated=OPTIONS[1])),
        ],
        ids=["multiple choice", "free form"],
    )
    async def test_a_run_that_goes_as_assumed_takes_what_was_estimated(
        self, question: Question, world: World, labeler: Any
    ) -> None:
        start: RagInput = {
            "question": question.question,
            "options": list(question.options),
            "documents": DISAGREEING,
        }
        with OpenAIServer(replace(world)) as server:
            graph = create_self_correcting_rag(
                calling(server), labeler=labeler, cache=False, **PAPER
            )
            state = await graph.ainvoke(start)
        assert state["flipped"]

        step = planned([question], SECOND_LOOK, labeler=labeler).by_step[LOOP]
        assert step.calls.expected == len(server.requests)
        read = sum(count_tokens(request.prompt).n + 8 for request in server.requests)
        assert step.input_tokens.expected == pytest.approx(read, rel=0.02)

    @pytest.mark.parametrize(("labeler", "calls"), [("per-document", 2 * 3), ("matrix", 2)])
    def test_many_pairs_in_a_call_are_so_many_fewer_calls(self, labeler: Any, calls: int) -> None:
        many = CERTAIN.model_copy(update={"claims": sure(10), "conflict_rate": sure(0)})
        made = planned([FREE], RAG, assumptions=many, labeler=labeler, answer_judge=None)
        assert made.total.calls.expected == 1 + 1 + calls
        long = [Document(number=n, text=f"{word} " * 5000) for n, word in ((1, "so"), (2, "it"))]
        apart = planned([FREE], RAG, assumptions=many, labeler=labeler, documents=long)
        whole = planned([FREE], RAG, assumptions=many, labeler=labeler, documents=DOCUMENTS[:2])
        more = {"per-document": 0, "matrix": 2}[labeler]
        assert apart.total.calls.expected == whole.total.calls.expected + more


class TestSteps:
    def test_the_baseline_alone_is_answered_and_scored(self) -> None:
        step = planned([CHOICE], RAG).by_step[LOOP]
        assert step.calls.expected == 1 + 3
        assert planned([FREE], RAG, answer_judge=None).total.calls.expected == 1 + 1 + 3

    def test_controls_cost_a_call_each_and_other_second_looks_only_where_there_is_a_conflict(
        self,
    ) -> None:
        half = CERTAIN.model_copy(update={"conflict_rate": sure(0.5)})
        made = planned(two(CHOICE), *COMMON_METHODS, assumptions=half)
        assert {step: amount.calls.expected / 2 for step, amount in made.by_step.items()} == {
            LOOP: 4 + 0.5 * (1 + 3),
            "control-rag": 1,
            "resample": 1,
            "placebo": 0.5,
            "typed-rag": 2 * 0.5,
        }

    def test_every_distinct_free_form_answer_is_graded_twice(self) -> None:
        def grades(*methods: str) -> float:
            return planned(two(FREE), *methods).by_step[GRADE].calls.expected / 2

        assert grades(RAG) == 2 * 1
        assert grades(SECOND_LOOK, "guarded-rag") == 2 * 2
        assert grades(*COMMON_METHODS) == 2 * 6
        assert GRADE not in planned([CHOICE], *COMMON_METHODS).by_step

    def test_a_single_document_cannot_disagree_and_none_cannot_be_answered_from(self) -> None:
        alone = planned([CHOICE], *COMMON_METHODS, documents=DOCUMENTS[:1])
        assert alone.by_step[LOOP].calls.high == 1 + 1
        assert not {"placebo", "typed-rag"} & set(alone.by_step)
        assert planned([CHOICE], *COMMON_METHODS, documents=[]).total.calls.high == 0

    def test_a_labeler_of_ones_own_makes_no_call_that_is_counted(self) -> None:
        assert planned([CHOICE], SECOND_LOOK, labeler=Mine()).total.calls.expected == 2

    def test_no_more_claims_are_labelled_than_may_be(self) -> None:
        many = CERTAIN.model_copy(update={"claims": sure(10), "conflict_rate": sure(0)})
        made = planned([FREE], RAG, assumptions=many, max_claims=4, answer_judge=None)
        assert made.total.calls.expected == 1 + 1 + 4 * 3

    def test_all_regenerations_stand_in_the_upper_bound(self) -> None:
        calls = planned([FREE], SECOND_LOOK, max_rounds=3, answer_judge=None).total.calls
        assert (calls.expected, calls.high) == (5 + 5 + 1, 5 + 2 * 5 + 1), (
            "no third has new evidence"
        )
        calls = planned([CHOICE], SECOND_LOOK, max_rounds=3).total.calls
        assert (calls.expected, calls.high) == (4 + 4, 4 + 4 + 1), "both options are labelled then"

    def test_what_is_recorded_already_is_left_out(self) -> None:
        done = [
            loop(CHOICE, attempt(option(CHOICE, 0), report("++0"))),
            loop(FREE, attempt(text("In 1871."), report("++0"))),
            grade(FREE, "In 1871.", truthful=False),
        ]
        made = planned([CHOICE, FREE], RAG, "control-rag", recorded=done)
        assert set(made.by_step) == {"control-rag", GRADE}
        assert made.by_step[GRADE].calls.expected == 2, "of the one answer without a grade"
        assert made.questions == 2
        done += [
            answered(CHOICE, "control-rag", option(CHOICE, 0)),
            answered(FREE, "control-rag", text("In 1871.")),
        ]
        ended = planned([CHOICE, FREE], RAG, "control-rag", recorded=done)
        assert (ended.questions, ended.total.calls.high, ended.parts) == (0, 0, ())
        assert ended.total.cost == sure(0)


class TestTokens:
    def test_retries_and_thinking_come_on_top(self) -> None:
        plain = planned([CHOICE], RAG).total
        again = CERTAIN.model_copy(update={"retried": sure(0.5), "thinking_tokens": sure(1000)})
        more = planned([CHOICE], RAG, assumptions=again).total
        assert more.calls.expected == 1.5 * plain.calls.expected
        assert more.input_tokens.expected == 1.5 * plain.input_tokens.expected
        thinking = planned(
            [CHOICE], RAG, assumptions=again, model=named("thinker", thinking_tokens=600)
        )
        written = thinking.by_model["thinker"].output_tokens.expected
        assert written == pytest.approx(1.5 * (600 + CERTAIN.choice_tokens.expected))

    def test_no_prompt_is_longer_than_the_context_window(self) -> None:
        long = [Document(number=n, text=f"{word} " * 5000) for n, word in ((1, "so"), (2, "it"))]
        made = planned([CHOICE], "control-rag", documents=long)
        read = made.by_step["control-rag"].input_tokens.high
        assert 6000 < read < 8192 - 512, "documents are cut so that there is room for the reply"

    def test_documents_that_are_not_known_yet_are_assumed_and_said_to_be(self) -> None:
        guess = Assumptions(
            documents=Range(low=2, expected=4, high=8),
            document_tokens=Range(low=100, expected=200, high=400),
            retried=sure(0),
        )
        made = planned([CHOICE, FREE], RAG, documents=None, assumptions=guess, answer_judge=None)
        assert made.assumed_documents == 2
        one = planned([CHOICE], RAG, documents=None, assumptions=guess).total
        assert (one.calls.low, one.calls.expected, one.calls.high) == (3, 5, 9)
        assert one.input_tokens.low > 2 * 2 * 100
        assert one.input_tokens.high > 2 * 8 * 400
        assert planned([CHOICE], RAG).assumed_documents == 0

    def test_the_bounds_lie_around_what_is_expected(self) -> None:
        made = planned([CHOICE, FREE], *COMMON_METHODS, assumptions=Assumptions())
        for amount in (made.total, *made.parts):
            for figure in (amount.calls, amount.input_tokens, amount.output_tokens, amount.cost):
                assert figure is not None
                assert 0 < figure.low <= figure.expected <= figure.high

    def test_bounds_in_disorder_are_refused(self) -> None:
        with pytest.raises(ValidationError, match="ascending"):
            Range(low=2, expected=1, high=3)


class TestCost:
    def test_each_model_is_paid_at_its_own_price(self) -> None:
        made = planned([FREE], RAG, judge=named("local:judge", endpoint="local"))
        ours = made.by_model["test-model"]
        assert made.by_model["local:judge"].cost == sure(0)
        paid = (ours.input_tokens.expected + 2 * ours.output_tokens.expected) / 1e6
        assert ours.cost is not None
        assert ours.cost.expected == pytest.approx(paid)
        assert made.total.cost == ours.cost
        assert made.unknown_prices == ()

    def test_an_unknown_price_makes_the_cost_unknown_and_never_nothing(self) -> None:
        made = planned([FREE], RAG, judge=named("unpriced"))
        assert made.unknown_prices == ("unpriced",)
        assert made.total.cost is None
        assert made.by_step[LOOP].cost is None
        assert made.by_step[GRADE].cost is not None

    def test_a_model_that_is_not_called_needs_no_price(self) -> None:
        made = planned([CHOICE], RAG, answer_judge=named("unpriced"))
        assert made.unknown_prices == ()

    def test_an_estimate_is_plain_json_and_comes_back_as_it_was(self) -> None:
        made = planned([CHOICE, FREE], *COMMON_METHODS, judge=named("unpriced"))
        assert Estimate.model_validate(made.to_json()) == made


async def test_a_run_with_every_method_makes_the_calls_that_were_estimated(tmp_path: Path) -> None:
    benchmark = lamps(2, free_form=True)
    two = [q.model_copy(update={"documents": q.documents[:2]}) for q in benchmark.questions]
    benchmark = replace(benchmark, questions=tuple(two))  # the third is a copy, and labelled once
    with OpenAIServer(Quiz()) as server:
        run = await run_quiz(tmp_path / "run", server, benchmark, methods=benchmark.offered)
        read = sum(count_tokens(request.prompt).n + 8 for request in server.requests)
    made = planned(
        benchmark.questions,
        *benchmark.offered,
        documents=given_documents({"documents": list(benchmark.questions[0].documents)}),
        labeler="choice",
    )
    taken = run.figures.cost.by_step
    asked = {step: u.calls + u.cached_calls for step, u in taken.items() if u != Usage()}
    assert set(made.by_step) == set(asked)
    for step, amount in made.by_step.items():
        if step != GRADE:  # many a scripted answer is the same, and judged once
            assert amount.calls.expected == asked[step], step
    assert asked[GRADE] <= made.by_step[GRADE].calls.expected <= 4 * asked[GRADE]
    # what revised-rag and unguarded have in common is asked once, and counted for both
    assert read < made.total.input_tokens.expected < 2.5 * read


def test_nothing_is_planned_for_what_a_question_lacks() -> None:
    lacking = ("oracle", "second-document")
    made = planned([FREE], *lacking, documents=DOCUMENTS[:1])
    assert not set(lacking) & set(made.by_step)
    told = FREE.model_copy(update={"conflict_type": ConflictType.OUTDATED})
    assert set(lacking) <= set(planned([told], *lacking).by_step)


def test_of_many_questions_a_sample_is_played_and_scaled(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [CHOICE.model_copy(update={"id": f"q{n}", "question": f"When, {n}?"}) for n in range(6)]
    whole = planned(many, SECOND_LOOK)
    monkeypatch.setattr("conflictscore.benchmarks.harness.dry_run.MOST_PLAYED", 3)
    sampled = planned(many, SECOND_LOOK)
    assert sampled.questions == whole.questions == 6
    assert sampled.total.calls == whole.total.calls
    assert sampled.total.input_tokens.expected == pytest.approx(
        whole.total.input_tokens.expected, rel=0.01
    )
