"""Letting a judge of NatConfQA's measures judge the answers that people judged."""

from collections.abc import Callable, Sequence

from conflictscore.benchmarks.at_once import judge_all
from conflictscore.benchmarks.natconfqa.judging import Judgement, judge_natconfqa
from conflictscore.benchmarks.natconfqa.people import JudgedByPeople
from conflictscore.models.language_model import LanguageModel
from conflictscore.prompts import PromptSet
from conflictscore.records import Usage

__all__ = ["check_judge"]

OnJudgement = Callable[[JudgedByPeople, Judgement, Usage], None]


async def check_judge(
    rows: Sequence[JudgedByPeople],
    *,
    model: LanguageModel,
    prompts: PromptSet,
    on_judgement: OnJudgement = lambda row, judgement, usage: None,
) -> tuple[Judgement, ...]:
    """Let a judge judge the answers that people judged; the model bounds how many at a time.

    Args:
        rows: The answers; the judge does not see what people decided.
        model: The judge.
        prompts: The templates of the judge.
        on_judgement: Called with each judgement, and what it cost, as soon as it is there.

    Returns:
        A judgement an answer, in order.

    Raises:
        ConfigurationError: A setting is wrong, so that nothing can be judged.
        BudgetError: The budget of the model is used up.
    """
    return await judge_all(
        rows,
        lambda row, meter: judge_natconfqa(
            row.question, row.answer, model=model, prompts=prompts, meter=meter
        ),
        on_judgement,
    )
