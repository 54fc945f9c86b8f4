"""Find the documents that a flip depends on, by asking again without each of them.

Each document with a side is left out in turn, then each side as a whole, and once nothing: a model
that does not flip then is unsteady, or had only changed its wording.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from conflictscore.errors import ContextWindowError, ProviderError
from conflictscore.labelers.table import label_table
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.answerer import Reconsideration
from conflictscore.nodes.state import RunContext
from conflictscore.records import (
    Answer,
    Document,
    Label,
    Record,
    Usage,
)
from conflictscore.tokens import count_tokens

__all__ = ["AskedAgain", "Explanation", "Trial", "explain"]


class AskedAgain(Reconsideration):
    """The question, answer and evidence behind a flip: the claim was put back to the model."""

    def trials(self) -> list[tuple[int, ...]]:
        """Numbers of the documents to leave out, by trial; near-copies go together."""
        copies = {d.number: d.duplicate_of or d.number for d in self.documents}
        sides = [self.claim.supports, self.claim.contradicts]
        groups: dict[int, tuple[int, ...]] = {}
        for number in sorted(number for side in sides for number in side):
            first = copies.get(number, number)
            groups[first] = (*groups.get(first, ()), number)
        return list(dict.fromkeys([(), *groups.values(), *sides]))

    def cost(self, context: RunContext) -> tuple[int, int]:
        """The most calls that :func:`explain` makes, and the tokens of the questions among them."""
        model, trials = context.generator, self.trials()
        prompts = [self._without(one).prompt(model, context.prompts)[0] for one in trials]
        judged = 0 if self.options else len(prompts)
        tokens = sum(count_tokens(text, model.name).n for text in prompts)
        return len(prompts) + judged, tokens

    async def ask_without(
        self, left_out: Sequence[int], context: RunContext, meter: UsageMeter
    ) -> Answer:
        """Ask again without these documents, as if they had not been found.

        Raises:
            ContextWindowError: The window is too small for the documents.
            ProviderError: The model failed, or its reply cannot be read.
        """
        fewer = self._without(left_out)
        return (await fewer.ask(context.generator, context.prompts, meter))[0]

    def _without(self, left_out: Sequence[int]) -> "AskedAgain":
        labels = tuple(pair for pair in self.claim.labels if pair.document not in left_out)
        return replace(
            self,
            claim=self.claim.model_copy(update={"labels": labels}),
            documents=tuple(d for d in self.documents if d.number not in left_out),
        )


class Trial(Record):
    """One more answer, without some of the documents."""

    without: tuple[int, ...]
    """Numbers of the documents that were left out; may be empty."""
    answer: str | None
    returns: bool | None
    """Whether the first answer's claim returned: the same option, or in free form an answer that
    supports it by the judge. None where that is not known."""
    error: str | None = None


class Explanation(Record):
    """The trials of a flip, and the documents that it depends on."""

    trials: tuple[Trial, ...]
    """The first leaves nothing out."""
    usage: Usage

    @property
    def steady(self) -> bool | None:
        """Whether the answer flips again with all documents; None where that is not known."""
        returns = self.trials[0].returns
        return None if returns is None else not returns

    @property
    def hangs_on(self) -> tuple[tuple[int, ...], ...]:
        """Documents without which there is no flip; a whole side only if no document alone is."""
        found = [trial.without for trial in self.trials[1:] if trial.returns]
        return tuple(one for one in found if not any(set(other) < set(one) for other in found))


async def explain(flip: AskedAgain, context: RunContext) -> Explanation:
    """Ask again without each document, and each side, in turn.

    Raises:
        ConfigurationError: A setting is wrong, so that nothing can be asked.
        BudgetError: The budget is used up.
    """
    meter = UsageMeter()

    async def trial(left_out: tuple[int, ...]) -> Trial:
        try:
            answer = await flip.ask_without(left_out, context, meter)
        except (ProviderError, ContextWindowError) as error:
            return Trial(without=left_out, answer=None, returns=None, error=str(error))
        same = answer.option == flip.before.option if flip.options else None
        return Trial(without=left_out, answer=answer.text, returns=same)

    trials = await asyncio.gather(*map(trial, flip.trials()))
    if not flip.options:
        trials = await _judged(flip, trials, context, meter)
    return Explanation(trials=tuple(trials), usage=meter.usage)


async def _judged(
    flip: AskedAgain, trials: Sequence[Trial], context: RunContext, meter: UsageMeter
) -> list[Trial]:
    """Have the judge of documents say whether each answer supports the first answer's claim."""
    answers = [
        Document(number=number, text=trial.answer)
        for number, trial in enumerate(trials, start=1)
        if trial.answer
    ]
    (evidence,) = await label_table(
        context.labeler, [flip.claim.claim], answers, meter=meter, cache=context.cache
    )
    labels = {pair.document: pair for pair in evidence.labels}
    return [
        trial.model_copy(
            update={
                "returns": None if pair.error else pair.label is Label.SUPPORTS,
                "error": pair.error,
            }
        )
        if (pair := labels.get(number))
        else trial
        for number, trial in enumerate(trials, start=1)
    ]
