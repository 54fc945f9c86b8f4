"""The labeler ``choice``: the judge replies with one letter, which costs much less than JSON."""

from collections.abc import Mapping, Sequence

from conflictscore.labelers.calibration import UNCALIBRATED, rounded
from conflictscore.labelers.parts import label_by_parts
from conflictscore.labelers.prompting import PromptWriter, identity_of
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import Claim, Document, EvidenceLabel, Label

LETTERS = {"A": Label.SUPPORTS, "B": Label.CONTRADICTS, "C": Label.IRRELEVANT}
"""The letters that the ``label_choice`` template offers."""


class ChoiceJudge:
    """A judge that replies with one token; ``score`` is the model's probability of the label."""

    def __init__(self, model: LanguageModel, prompts: PromptSet) -> None:
        """Make the judge; the model's server must return log-probabilities."""
        self._model = model
        self._prompts = prompts
        self._prompt_writer = PromptWriter(
            "label_choice", model=model, prompts=prompts, reply_tokens=1
        )
        self.name = f"choice({model.name})"
        self.embedded = model.is_local
        # the templates "cut" and "retry" may become part of a prompt, too
        prompts_sha256 = prompts.sha256_of("label_rules", "label_choice", "cut", "retry")
        # older versions calibrated some models; this entry keeps verdicts cached by them valid
        calibration = UNCALIBRATED.model_dump(mode="json")
        self.identity = identity_of("choice", prompts_sha256, model, calibration=calibration)

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        """Judge one pair; see :class:`~conflictscore.labelers.protocol.Labeler`."""
        prompts = await self._prompt_writer.of(claim, document)

        async def no_quotes(snippets: Sequence[str]) -> None:
            """Return None, since a reply of one letter has no quotations to ask about."""

        def read(logprobs: Mapping[str, float]) -> EvidenceLabel:
            by_label = {LETTERS[letter]: logprob for letter, logprob in logprobs.items()}
            probabilities = UNCALIBRATED.probabilities(by_label)
            label = max(probabilities, key=probabilities.__getitem__)
            return EvidenceLabel(
                claim=claim.number,
                document=document.number,
                label=label,
                score=min(1.0, probabilities[label]),  # rounding may take it slightly above 1
                probabilities=rounded(probabilities),
                document_cut=prompts.document_cut,
            )

        async def ask(prompt: str) -> EvidenceLabel:
            return await self._model.ask_letter(
                prompt, tuple(LETTERS), read, prompts=self._prompts, meter=meter
            )

        return await label_by_parts(prompts.texts, ask, no_quotes)
