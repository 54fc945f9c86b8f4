"""The three-way judge beside people: how well it agrees with their ratings of model answers."""

from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

from pydantic import Field
from typing_extensions import override

from conflictscore.benchmarks.agreement import JudgeCheck, Request, drawn
from conflictscore.benchmarks.harness.figures import Interval, Proportion
from conflictscore.benchmarks.harness.statistics import (
    accuracy,
    balanced_accuracy,
    cohen_kappa,
    mean_interval,
    proportion,
)
from conflictscore.benchmarks.wikicontradict.data import RatedAnswer, read_questions, read_rated
from conflictscore.benchmarks.wikicontradict.judge import (
    TEMPLATE,
    JudgedRating,
    NliRating,
    Rating,
    judge_answer,
)
from conflictscore.labelers.nli.labeler import NliLabeler
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Record, Usage

_UNJUDGED = "unjudged"
_NO_TYPE = "not known"
"""The group of the answers whose contradiction type no file says."""

_SCALE = tuple(Rating)
_Count = Annotated[int, Field(ge=0)]


class Agreement(Record):
    """Agreement of a judge with people; unjudged answers are counted, and in no figure."""

    n: _Count
    """Rated answers that the judge was given."""
    unjudged: _Count
    """Of these, answers without a rating of the judge."""
    accuracy: Proportion
    """Its interval takes answers for independent; several are to one question."""
    accuracy_by_question: Interval
    """The mean over questions of the accuracy on each; its bounds resample questions."""
    commonest: Proportion
    """Accuracy of always giving the rating that people gave most. It is high where
    a prompt mostly gets one rating, so accuracy and kappa say more by prompt than over all."""
    balanced_accuracy: float | None
    """Mean of the recalls of the ratings that people gave, in [0, 1]; None with fewer than two."""
    cohen_kappa: float | None
    """In [-1, 1]; 0 is the agreement of chance; None where it has no value."""
    cohen_kappa_linear: float | None
    """The same, where one step off (partially correct for correct) counts as half wrong."""
    confusion: dict[Rating, dict[str, int]]
    """How often the judge gave each rating, or none (``unjudged``), by the rating of people."""


class AgreementByPart(Record):
    """Agreement over all answers, and over parts of them."""

    overall: Agreement
    by_prompt: dict[int, Agreement]
    """By the number of the prompt, 1 to 5."""
    by_type: dict[str, Agreement]
    """By contradiction type."""


class WikiContradictCheck(JudgeCheck[RatedAnswer, JudgedRating, AgreementByPart]):
    """The check of the language model that rates, or with ``nli_judge`` of the NLI model."""

    key_fields = ("id", "answer", "question", "right")
    """An answer that other ones count as right for is another one to the judge."""
    holds = "a rating of this check"

    def __init__(self, request: Request) -> None:
        """Read the files, and open the judge."""
        questions = () if request.references is None else read_questions(request.references)
        self.rows: Sequence[RatedAnswer] = read_rated(request.answers, questions)
        if request.sample is not None:
            self.rows = drawn(
                self.rows,
                request.sample,
                request.seed,
                purpose="rated",
                name=lambda row: row.id,
            )
        judge: Mapping[str, Any]
        self._rate: Callable[..., Coroutine[Any, Any, JudgedRating]]
        if request.flags.get("nli_judge"):
            rating = NliRating(NliLabeler.open())
            judge, self._rate = rating.about, rating.rate
            self._about: dict[str, Any] = {
                "judge": rating.labeler.name,
                "endpoint": "this machine",
                "prompts": None,
                "sample_seed": request.drawn_by,
            }
        else:
            model = request.open_judge()
            self._about = request.about(model)
            self._rate = partial(judge_answer, model=model, prompts=request.prompts)
            judge = {
                "judge": model.name,
                "endpoint": model.endpoint,
                "prompt": request.prompts.sha256_of(TEMPLATE),
            }
        self.judge: Mapping[str, Any] = {"check": "wikicontradict", **judge}

    @override
    def key(self, row: RatedAnswer) -> Sequence[Any]:
        return row.id, row.answer, row.question, list(row.right)

    @override
    def kept(self, row: RatedAnswer, said: JudgedRating, usage: Usage) -> Mapping[str, Any]:
        return {"people": row.rating, "judgement": said.to_json(), "usage": usage.to_json()}

    @override
    def read(self, row: Mapping[str, Any]) -> JudgedRating:
        return JudgedRating.model_validate(row["judgement"])

    @override
    def failure(self, said: JudgedRating) -> str | None:
        return said.error

    @override
    async def ask(self, row: RatedAnswer, meter: UsageMeter) -> JudgedRating:
        return await self._rate(row.question, row.right, row.answer, meter=meter)

    @override
    def agreement(self, judged: Sequence[JudgedRating]) -> AgreementByPart:
        return agreement(self.rows, judged)

    @override
    def about(self, judged: Sequence[JudgedRating]) -> dict[str, Any]:
        return dict(self._about)

    @override
    def lines(self, about: Mapping[str, Any], figures: AgreementByPart) -> Iterator[str]:
        whole = figures.overall
        yield f"judge of wikicontradict: {about['judge']} at {about['endpoint']}"
        said = (*reversed(Rating), _UNJUDGED)
        yield f"\n{'people say':>18} | " + " ".join(f"{one:>17}" for one in said)
        for rating in reversed(Rating):
            cells = " ".join(f"{whole.confusion[rating][one]:>17}" for one in said)
            yield f"{rating:>18} | {cells}"
        yield (
            f"\n{'':30} {'judged':>8} {'accuracy':>9} {'commonest':>9} {'balanced':>9} {'kappa':>7}"
        )
        by_prompt = {f"template {prompt}": part for prompt, part in figures.by_prompt.items()}
        for name, part in {"all": whole, **by_prompt, **figures.by_type}.items():
            yield (
                f"{name:30} {f'{part.n - part.unjudged}/{part.n}':>8}"
                f" {_number(part.accuracy.value):>9} {_number(part.commonest.value):>9}"
                f" {_number(part.balanced_accuracy):>9} {_number(part.cohen_kappa):>7}"
            )
        yield "commonest: the accuracy of always giving the rating that people gave most"
        mean = whole.accuracy_by_question
        bounds = "" if mean.low is None else f" [{mean.low:.3f}, {mean.high:.3f}]"
        yield f"\naccuracy by question, bootstrap 95 % interval: {_number(mean.value)}{bounds}"
        yield f"kappa where one step off is half wrong: {_number(whole.cohen_kappa_linear)}"


def agreement(
    answers: Sequence[RatedAnswer], judgements: Sequence[JudgedRating]
) -> AgreementByPart:
    """Compare a judge's ratings with people's.

    Args:
        answers: What people rated.
        judgements: One an answer, in the same order.
    """
    pairs = list(zip(answers, judgements, strict=True))
    prompts = sorted({answer.prompt for answer in answers})
    types = sorted({answer.contradiction_type or _NO_TYPE for answer in answers})
    return AgreementByPart(
        overall=_agreement(pairs),
        by_prompt={
            int(prompt): _agreement([pair for pair in pairs if pair[0].prompt is prompt])
            for prompt in prompts
        },
        by_type={
            kind: _agreement([p for p in pairs if (p[0].contradiction_type or _NO_TYPE) == kind])
            for kind in types
        },
    )


def _agreement(pairs: Sequence[tuple[RatedAnswer, JudgedRating]]) -> Agreement:
    given = Counter(
        (answer.rating, str(judgement.rating or _UNJUDGED)) for answer, judgement in pairs
    )
    judged = [
        (answer, judgement.rating) for answer, judgement in pairs if judgement.rating is not None
    ]
    people, judge = [answer.rating for answer, _ in judged], [rating for _, rating in judged]
    by_question: dict[str, list[bool]] = {}
    for answer, rating in judged:
        by_question.setdefault(answer.question, []).append(answer.rating is rating)
    return Agreement(
        n=len(pairs),
        unjudged=len(pairs) - len(judged),
        accuracy=accuracy(people, judge),
        accuracy_by_question=mean_interval(
            [sum(hits) / len(hits) for hits in by_question.values()]
        ),
        commonest=proportion(max(Counter(people).values(), default=0), len(people)),
        balanced_accuracy=balanced_accuracy(people, judge),
        cohen_kappa=cohen_kappa(people, judge, scale=_SCALE),
        cohen_kappa_linear=cohen_kappa(people, judge, scale=_SCALE, weights="linear"),
        confusion={
            rating: {said: given[rating, said] for said in (*_SCALE, _UNJUDGED)}
            for rating in _SCALE
        },
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
