"""Letting the three-way judge rate the answers that people rated."""

from collections.abc import Callable, Sequence

from conflictscore.benchmarks.at_once import judge_all
from conflictscore.benchmarks.wikicontradict.judge import Judgement, judge_answer
from conflictscore.benchmarks.wikicontradict.rated_answers import RatedAnswer
from conflictscore.models.language_model import LanguageModel
from conflictscore.prompts import PromptSet
from conflictscore.records import Usage

__all__ = ["check_judge"]

OnJudgement = Callable[[RatedAnswer, Judgement, Usage], None]


async def check_judge(
    answers: Sequence[RatedAnswer],
    *,
    model: LanguageModel,
    prompts: PromptSet,
    on_judgement: OnJudgement = lambda answer, judgement, usage: None,
) -> tuple[Judgement, ...]:
    """Judge answers; how many at a time is bounded by the model.

    Args:
        answers: What people rated; the judge does not see how.
        model: The judge.
        prompts: Where its template is.
        on_judgement: Called with each judgement, and what it cost, as soon as it is there.

    Returns:
        A judgement an answer, in order.

    Raises:
        ConfigurationError: A setting is wrong, so that nothing can be judged.
        BudgetError: The budget of the model is used up.
    """
    return await judge_all(
        answers,
        lambda row, meter: judge_answer(
            row.question, row.right, row.answer, model=model, prompts=prompts, meter=meter
        ),
        on_judgement,
    )
