"""The labeler ``json``, the paper's judge: snippet, reasoning and label as JSON (Table 7)."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from conflictscore.labelers.label_words import ANSWER_ALIASES, label_of, text_of
from conflictscore.labelers.parts import label_by_parts
from conflictscore.labelers.prompting import PromptWriter, identity_of, rules_of
from conflictscore.labelers.quotes import stands_in
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import Claim, Document, EvidenceLabel

# A verdict needs room for a quotation of several sentences, a reason and a label. A reply that is
# cut off here is requested again, and then the pair is UNLABELLED. Chosen by hand.
_REPLY_TOKENS = 700


class _Verdict(BaseModel):
    """The format of the reply: the format of Table 7 without the repetition of the claim."""

    model_config = ConfigDict(extra="forbid", title="evidence_label")

    document_snippet: str
    reasoning: str
    answer: Literal["SUPPORTS", "CONTRADICTS", "IRRELEVANT"]


class _PapersVerdict(BaseModel):
    """The format of the reply in the paper (Table 7)."""

    model_config = ConfigDict(extra="forbid", title="evidence_label")

    claim: str
    document_snippet: str
    reasoning: str
    answer: Literal["SUPPORTS", "CONTRADICTS", "IRRELEVANT"]


_SCHEMA, _PAPERS_SCHEMA = _Verdict.model_json_schema(), _PapersVerdict.model_json_schema()
_NEEDED = frozenset({"answer"})
"""The only required field, since a verdict is clear without the other fields."""


class JsonJudge:
    """A judge that makes one call per pair and looks its snippets up in the document.

    A label counts even if its snippet is not in the document, since such labels are correct as
    often as others (docs/findings/labelers.md).
    """

    def __init__(self, model: LanguageModel, prompts: PromptSet) -> None:
        """Make the judge.

        The judge's rules are in the template ``label_rules_paper`` if the prompt set is ``paper``.
        With other prompt sets, the rules are in ``label_rules`` if the model is local, and in
        ``label_rules_brief`` if not.
        """
        self._model = model
        self._prompts = prompts
        self._prompt_writer = PromptWriter(
            "label_json", model=model, prompts=prompts, reply_tokens=_REPLY_TOKENS
        )
        self._schema = _PAPERS_SCHEMA if prompts.follows_the_paper else _SCHEMA
        self.name = f"json({model.name})"
        rules = rules_of("label_json", model.endpoint, prompts)
        # the templates "cut" and "retry" may become part of a prompt, too
        prompts_sha256 = prompts.sha256_of(rules, "label_json", "cut", "retry")
        self.identity = identity_of("json", prompts_sha256, model)

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        """Judge one pair; see :class:`~conflictscore.labelers.protocol.Labeler`."""
        prompts = await self._prompt_writer.of(claim, document)

        async def ask(prompt: str) -> EvidenceLabel:
            return await self._ask(prompt, claim, document, meter, cut=prompts.document_cut)

        async def ask_again(snippets: Sequence[str]) -> EvidenceLabel:
            return await ask((await self._prompt_writer.of(claim, document, *snippets)).texts[0])

        return await label_by_parts(prompts.texts, ask, ask_again)

    async def _ask(
        self, prompt: str, claim: Claim, document: Document, meter: UsageMeter, *, cut: bool
    ) -> EvidenceLabel:
        """Ask once, and return the label of the document or of the part that the prompt shows."""

        def read(reply: Mapping[str, Any]) -> EvidenceLabel:
            snippet = text_of(reply, "document_snippet")
            return EvidenceLabel(
                claim=claim.number,
                document=document.number,
                label=label_of(reply),
                snippet=snippet,
                snippet_found=stands_in(snippet, document) if snippet else None,
                reasoning=text_of(reply, "reasoning"),
                document_cut=cut,
            )

        return await self._model.ask_json(
            prompt,
            self._schema,
            read,
            prompts=self._prompts,
            meter=meter,
            max_tokens=_REPLY_TOKENS,
            needed=_NEEDED,
            aliases=ANSWER_ALIASES,
        )
