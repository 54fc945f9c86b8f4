"""The cheap judge: one letter per pair, with its log-probabilities, at a fraction of the cost."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

from conflictscore.labelers.calibration import (
    Calibration,
    rounded,
    shipped_calibration,
)
from conflictscore.labelers.prompting import JudgePrompt, JudgePrompts, identity_of
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import Claim, Document, EvidenceLabel, Label

T = TypeVar("T")

LETTERS = {"A": Label.SUPPORTS, "B": Label.CONTRADICTS, "C": Label.IRRELEVANT}
"""Letters of the ``label_choice`` template."""


def choice_prompt_sha256(prompts: PromptSet) -> str:
    """Hash of the templates that a choice verdict depends on."""
    return prompts.sha256_of("label_rules", "label_choice", "cut", "retry")


class ChoiceJudge:
    """Asks for one token per pair; ``score`` is the calibrated probability of the label."""

    def __init__(
        self,
        model: LanguageModel,
        prompts: PromptSet,
        *,
        calibration: Calibration | None = None,
    ) -> None:
        """Make the judge.

        Args:
            model: A model whose server gives log-probabilities.
            prompts: Where ``label_rules`` and ``label_choice`` are.
            calibration: By default the bundled one for the model.
        """
        used = choice_prompt_sha256(prompts)
        self._model = model
        self._prompts = prompts
        self._judge_prompts = JudgePrompts(
            "label_choice", model=model, prompts=prompts, reply_tokens=1
        )
        self.calibration = calibration or shipped_calibration(model.name, used)
        self.name = f"choice({model.name})"
        self.embedded = model.is_local
        calibrated = self.calibration.model_dump(mode="json")
        self.identity = identity_of("choice", used, model, calibration=calibrated)

    def label(
        self, claim: Claim, document: Document, meter: UsageMeter
    ) -> Coroutine[Any, Any, EvidenceLabel]:
        """Judge one pair; see :class:`~conflictscore.labelers.protocol.Labeler`."""
        prompt = self._judge_prompts.of(claim, document)

        def read(logprobs: Mapping[str, float]) -> EvidenceLabel:
            probabilities = self.calibration.probabilities(_by_label(logprobs))
            label = max(probabilities, key=probabilities.__getitem__)
            return EvidenceLabel(
                claim=claim.number,
                document=document.number,
                label=label,
                score=min(1.0, probabilities[label]),
                probabilities=rounded(probabilities),
                document_cut=prompt.document_cut,
            )

        return self._ask(prompt, read, meter)

    def logprobs(
        self, claim: Claim, document: Document, meter: UsageMeter
    ) -> Coroutine[Any, Any, dict[Label, float]]:
        """Natural log-probability of each label's letter, before calibration."""
        return self._ask(self._judge_prompts.of(claim, document), _by_label, meter)

    def _ask(
        self, prompt: JudgePrompt, read: Callable[[Mapping[str, float]], T], meter: UsageMeter
    ) -> Coroutine[Any, Any, T]:
        return self._model.ask_letter(
            prompt.text, tuple(LETTERS), read, prompts=self._prompts, meter=meter
        )


def _by_label(logprobs: Mapping[str, float]) -> dict[Label, float]:
    return {LETTERS[letter]: value for letter, value in logprobs.items()}
