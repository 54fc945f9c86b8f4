"""Figures and results of a benchmark run, constructed by hand."""

from conflictscore.benchmarks.harness.figures import (
    CategoryFigures,
    Cost,
    Figures,
    Interval,
    MethodFigures,
    Paired,
    Proportion,
    Transitions,
    TypeAccuracy,
)
from conflictscore.benchmarks.harness.methods.registry import LOOP
from conflictscore.benchmarks.harness.records import MethodResult, Question, QuestionResult, Verdict
from conflictscore.records import Answer, Usage

RAG, REGENERATED, GRADED = "rag", "regenerated-rag", "conflicts f1"


def share(count: int, n: int, low: float = 0.1, high: float = 0.9) -> Proportion:
    """A proportion with the given bounds, to test how it is shown, not how it is computed."""
    if not n:
        return Proportion(count=0, n=0, value=None)
    return Proportion(count=count, n=n, value=count / n, low=low, high=high)


def method(
    name: str, right: int, n: int, *, failed: int = 0, unjudged: int = 0, measure: str = "accuracy"
) -> MethodFigures:
    return MethodFigures(
        method=name,
        questions=n + failed + unjudged,
        failed=failed,
        measures={measure: share(right, n)},
        unjudged={measure: unjudged},
    )


def paired(
    corrected: int,
    harmed: int,
    *,
    p: float | None,
    bounds: tuple[float, float] | None = None,
    n: int = 100,
    name: str = REGENERATED,
) -> Paired:
    low, high = bounds or (None, None)
    return Paired(
        method=name,
        measure="accuracy",
        n=n,
        both_right=n // 2,
        both_wrong=n - n // 2 - corrected - harmed,
        corrected=corrected,
        harmed=harmed,
        p_value=p,
        difference=Interval(value=(corrected - harmed) / n if n else None, low=low, high=high, n=n),
    )


def graded_pair(
    higher: int, lower: int, *, p: float | None, name: str = REGENERATED, n: int = 100
) -> Paired:
    pair = paired(higher, lower, p=p, name=name, n=n)
    difference = Interval(value=0.05, low=0.012, high=0.09, n=n)
    graded = {"measure": GRADED, "both_right": None, "both_wrong": None, "difference": difference}
    return pair.model_copy(update=graded)


def transitions(
    corrections: int, harms: int, conflict: int, *, name: str = REGENERATED
) -> Transitions:
    revised = corrections + harms
    return Transitions(
        method=name,
        measure="accuracy",
        conflict=conflict,
        failed=0,
        retained=share(conflict - revised, conflict),
        revised=share(revised, conflict),
        corrections=share(corrections, revised, 0.208, 0.939),
        harms=share(harms, revised, 0.061, 0.792),
        neutral=share(0, revised),
        unjudged=0,
        harms_of_conflict=share(harms, conflict),
    )


def cost(money: float | None = 0.1234, unknown: tuple[str, ...] = ()) -> Cost:
    used = Usage(calls=412, cached_calls=35, input_tokens=120_331, output_tokens=8_812)
    return Cost(
        usage={"gpt-4.1-mini": used},
        by_step={LOOP: used},
        money=money,
        unknown_prices=unknown,
        seconds=3725,
        net_corrections={REGENERATED: 1},
        cold_money_per_net_correction={REGENERATED: money},
        tokens_per_net_correction={REGENERATED: 64_500.0},
    )


def category(
    name: str, measure: str, rag: Proportion | Interval, again: Proportion | Interval
) -> CategoryFigures:
    measures = {RAG: {measure: rag}, REGENERATED: {measure: again}}
    return CategoryFigures(category=name, questions=rag.n, measures=measures)


def figures(**changes: object) -> Figures:
    """A multiple choice of 100 questions, with one more correction than harms."""
    whole = Figures(
        questions=100,
        ended=100,
        failed=0,
        measures=("accuracy",),
        methods=(method(RAG, 51, 100), method(REGENERATED, 52, 100)),
        paired=(paired(2, 1, p=1.0, bounds=(-0.02, 0.04)),),
        transitions=(transitions(2, 1, 10),),
        categories=(category("Myths", "accuracy", share(5, 8), share(6, 8)),),
        coverage=Interval(value=1.0, n=100),
        cost=cost(),
    )
    return whole.model_copy(update=changes)


def graded_figures(**changes: object) -> Figures:
    """100 free-form questions with a graded measure, and a method that names types."""

    def graded(name: str, mean: float) -> MethodFigures:
        value = Interval(value=mean, low=0.4, high=0.6, n=100)
        made = method(name, 0, 100, measure=GRADED)
        return made.model_copy(update={"measures": {GRADED: value}})

    half = Interval(value=0.5, low=0.4, high=0.6, n=8)
    given = {
        "measures": (GRADED,),
        "methods": (graded(RAG, 0.5), graded(REGENERATED, 0.55)),
        "paired": (graded_pair(9, 3, p=0.021),),
        "transitions": (transitions(2, 1, 10).model_copy(update={"measure": GRADED}),),
        "categories": (category("wh", GRADED, half, half),),
        # of ten types, six were named correctly, and one not at all
        "types": (TypeAccuracy(method="pipeline", accuracy=share(6, 10, 0.313, 0.832), untold=1),),
    }
    return figures(**{**given, **changes})


def changed(
    before: bool | None, after: bool | None, *, question: str = "q-1", error: str | None = None
) -> QuestionResult:
    """A multiple choice whose second answer is the other option, or fails with ``error``."""

    def answered(option: int, value: bool | None) -> MethodResult:
        verdict = Verdict(value=value, error="no gold" if value is None else None)
        answer = Answer(text=f"option {option}", option=option)
        return MethodResult(answer=answer, verdicts={"accuracy": verdict})

    second = MethodResult(answer=None, error=error) if error else answered(1, after)
    return QuestionResult(
        question=Question(id=question, question="Which?", options=("a", "b"), gold=0),
        methods={RAG: answered(0, before), REGENERATED: second},
    )
