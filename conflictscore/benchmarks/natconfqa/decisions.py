"""The four yes/no decisions that formulas 1 to 4 count, each one call of a judge."""

from dataclasses import dataclass

from conflictscore.benchmarks.harness.records import Verdict
from conflictscore.benchmarks.judging import read_verdict
from conflictscore.benchmarks.natconfqa.data import NatConfQuestion, passages_of
from conflictscore.errors import ContextWindowError, ProviderError
from conflictscore.models import fit_documents
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet, material, material_line

__all__ = ["DECISION_TEMPLATES", "Decider"]

DECISION_TEMPLATES = (
    "natconfqa_found_in_answer",
    "natconfqa_found_in_passages",
    "natconfqa_conflict_in_answer",
    "natconfqa_conflict_in_passages",
)
_REPLY_TOKENS = 160
_FOUND, _CONFLICT = "FOUND", "CONFLICT"
_EMPTY = Verdict(value=False, explanation="the answer is empty")


@dataclass(frozen=True)
class Decider:
    """Decides about short answers to one question, in one answer or in the question's passages.

    A decision that cannot be had, since a call failed or twice gave a reply that cannot be read,
    has no value but an error. So has one that finds nothing in passages that had to be cut to fit
    the judge's context window: what was looked for may stand in the rest.

    Each method raises :class:`ConfigurationError` where a setting is wrong, so that nothing can be
    judged, and :class:`BudgetError` where the budget of the model is used up.
    """

    question: NatConfQuestion
    answer: str
    """What is judged; untrusted, it stands between marks that it cannot close."""
    model: LanguageModel
    prompts: PromptSet
    meter: UsageMeter

    async def found_in_answer(self, short_answer: str) -> Verdict:
        """Whether the answer gives a short answer, in whatever way (formula 1)."""
        return await self._in_answer(
            "natconfqa_found_in_answer", _FOUND, short_answer=material_line(short_answer)
        )

    async def found_in_passages(self, short_answer: str) -> Verdict:
        """Whether a passage gives a short answer (formula 2)."""
        return await self._in_passages(
            "natconfqa_found_in_passages", _FOUND, short_answer=material_line(short_answer)
        )

    async def conflict_in_answer(self, first: str, second: str) -> Verdict:
        """Whether the answer tells its reader that two short answers disagree (formula 3)."""
        return await self._in_answer(
            "natconfqa_conflict_in_answer",
            _CONFLICT,
            first=material_line(first),
            second=material_line(second),
        )

    async def conflict_in_passages(self, first: str, second: str) -> Verdict:
        """Whether the passages are in conflict over two short answers (formula 4)."""
        return await self._in_passages(
            "natconfqa_conflict_in_passages",
            _CONFLICT,
            first=material_line(first),
            second=material_line(second),
        )

    async def _in_answer(self, template: str, word: str, **fields: str) -> Verdict:
        if not self.answer.strip():
            return _EMPTY
        prompt = self.prompts.render(
            template,
            question=material_line(self.question.question),
            answer=material(self.answer),
            **fields,
        )
        return await self._ask(prompt, word)

    async def _in_passages(self, template: str, word: str, **fields: str) -> Verdict:
        fields["question"] = material_line(self.question.question)
        try:
            fitted = fit_documents(
                passages_of(self.question),
                self.model,
                self.prompts,
                around=self.prompts.render(template, documents="", **fields),
                reply_tokens=_REPLY_TOKENS,
            )
        except ContextWindowError as error:
            return Verdict(value=None, error=str(error))
        shown = self.prompts.documents(fitted.documents)
        verdict = await self._ask(self.prompts.render(template, documents=shown, **fields), word)
        if fitted.cut and verdict.value is False:
            numbers = ", ".join(map(str, fitted.cut))
            return Verdict(
                value=None,
                error=f"not found, but passages {numbers} were cut to the context window of"
                f" {self.model.name} ({self.model.context_window} tokens)",
            )
        return verdict

    async def _ask(self, prompt: str, word: str) -> Verdict:
        try:
            return await self.model.ask(
                prompt,
                lambda reply: read_verdict(reply, word),
                prompts=self.prompts,
                meter=self.meter,
                max_tokens=_REPLY_TOKENS,
            )
        except (ProviderError, ContextWindowError) as error:
            return Verdict(value=None, error=str(error))
