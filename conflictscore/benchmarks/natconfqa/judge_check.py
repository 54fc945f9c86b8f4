"""Letting a judge of NatConfQA's measures judge the answers that people judged."""

import asyncio
from collections.abc import Callable, Sequence

from conflictscore.benchmarks.natconfqa.judging import Judgement, judge_natconfqa
from conflictscore.benchmarks.natconfqa.people import JudgedByPeople
from conflictscore.errors import ConflictScoreError
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
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

    async def judge(row: JudgedByPeople) -> Judgement:
        meter = UsageMeter()
        judgement = await judge_natconfqa(
            row.question, row.answer, model=model, prompts=prompts, meter=meter
        )
        on_judgement(row, judgement, meter.usage)
        return judgement

    try:
        async with asyncio.TaskGroup() as tasks:
            judging = [tasks.create_task(judge(row)) for row in rows]
    except* ConflictScoreError as errors:
        raise errors.exceptions[0] from None
    return tuple(task.result() for task in judging)
