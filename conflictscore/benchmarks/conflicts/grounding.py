"""Whether the documents that a sentence cites support it ("DRAGged into Conflicts", section 4)."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import NamedTuple

from conflictscore.benchmarks.conflicts.sentences import split_sentences
from conflictscore.benchmarks.harness.records import Verdict
from conflictscore.benchmarks.judging import at_once
from conflictscore.errors import ContextWindowError, ProviderError
from conflictscore.models import fit_documents
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.typed_replies import inline_citations
from conflictscore.prompts import PromptSet, material, material_line
from conflictscore.records import Document

__all__ = [
    "TEMPLATE",
    "GroundingJudge",
    "SentenceVerdict",
    "Support",
    "grounding_prompt",
    "read_support",
]

TEMPLATE = "conflicts_grounding"

_REPLY_TOKENS = 200
_NUMBERS = range(1000)
"""What is taken for the number of a document; a year in brackets cites none."""
_MARKUP = r"[\s*_`#>\-]*"
_LINE = re.compile(rf"{_MARKUP}grounding{_MARKUP}:(?P<said>.*)", re.IGNORECASE)
_REASON = re.compile(rf"{_MARKUP}explanation{_MARKUP}:[*_\s]*(?P<text>.*)", re.IGNORECASE)


class Support(StrEnum):
    """What the cited documents are to a sentence."""

    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"
    CONTRADICTED = "contradicted"
    NO_CLAIM = "no-claim"
    """It states nothing that could be right or wrong, and is left out of the share."""


class SentenceVerdict(NamedTuple):
    """What was found of a sentence."""

    support: Support | None
    """None where the judge could not be read or failed."""
    reason: str


@dataclass(frozen=True)
class GroundingJudge:
    """Judges the sentences of one answer, each by the documents that it cites."""

    question: str
    answer: str
    """Untrusted; it stands between marks that it cannot close."""
    documents: Sequence[Document]
    model: LanguageModel
    prompts: PromptSet
    meter: UsageMeter

    async def verdict(self) -> Verdict | None:
        """The share of supported sentences, among those that state something, in [0, 1].

        A sentence that cites nothing, or a document that does not exist, is not supported, and
        nobody is asked. All others are one call each, at the same time.

        Returns:
            The share, with what was found of each sentence. It has no value but an error where a
            sentence could not be judged: since a call failed or twice gave a reply that cannot be
            read, or support was not found in documents that had to be cut to fit the judge's
            context window. None where no sentence states anything, so that there is no share.

        Raises:
            ConfigurationError: A setting is wrong, so that nothing can be judged.
            BudgetError: The budget of the model is used up.
        """
        sentences = split_sentences(self.answer)
        distinct = list(dict.fromkeys(sentences))
        verdicts = await at_once([partial(self._sentence, sentence) for sentence in distinct])
        judged = dict(zip(distinct, verdicts, strict=True))
        found = [judged[sentence] for sentence in sentences]
        for number, (support, reason) in enumerate(found, start=1):
            if support is None:
                return Verdict(value=None, error=f"sentence {number} of {len(found)}: {reason}")
        counts = Counter(support for support, _ in found)
        stating = len(found) - counts[Support.NO_CLAIM]
        if not stating:
            return None
        said = "; ".join(
            f"{n}: {support} ({reason})" for n, (support, reason) in enumerate(found, start=1)
        )
        return Verdict(value=counts[Support.SUPPORTED] / stating, explanation=said)

    async def _sentence(self, sentence: str) -> SentenceVerdict:
        cited = inline_citations(sentence, _NUMBERS)
        shown = {document.number: document for document in self.documents}
        if not cited:
            return SentenceVerdict(Support.UNSUPPORTED, "it cites no document")
        if absent := [number for number in cited if number not in shown]:
            return SentenceVerdict(Support.UNSUPPORTED, f"there is no document {absent[0]}")
        try:
            return await self._asked(sentence, [shown[number] for number in cited])
        except (ProviderError, ContextWindowError) as error:
            return SentenceVerdict(None, str(error))

    async def _asked(self, sentence: str, documents: Sequence[Document]) -> SentenceVerdict:
        fitted = fit_documents(
            documents,
            self.model,
            self.prompts,
            around=grounding_prompt(self.question, self.answer, sentence, (), self.prompts),
            reply_tokens=_REPLY_TOKENS,
        )
        found = await self.model.ask(
            grounding_prompt(self.question, self.answer, sentence, fitted.documents, self.prompts),
            read_support,
            prompts=self.prompts,
            meter=self.meter,
            max_tokens=_REPLY_TOKENS,
        )
        if fitted.cut and found.support is Support.UNSUPPORTED:
            numbers = ", ".join(map(str, fitted.cut))
            return SentenceVerdict(
                None,
                f"it may be supported by what was cut of documents {numbers} to fit the context"
                f" window of {self.model.name} ({self.model.context_window} tokens)",
            )
        return found


def grounding_prompt(
    question: str, answer: str, sentence: str, documents: Sequence[Document], prompts: PromptSet
) -> str:
    """What is asked about a sentence and the documents that it cites."""
    return prompts.render(
        TEMPLATE,
        question=material_line(question),
        answer=material(answer),
        sentence=material(sentence),
        documents=prompts.documents(documents),
    )


def read_support(reply: str) -> SentenceVerdict:
    """The line ``GROUNDING:`` of a reply, and the explanation where there is one.

    Upper and lower case, brackets and Markdown around the words make no difference.

    Raises:
        ValueError: There is no such line, one says anything else, or two of them disagree.
    """
    said: set[Support] = set()
    reason = ""
    for line in reply.splitlines():
        if match := _LINE.match(line):
            words = re.findall(r"[a-z]+", match["said"].lower())
            try:
                said.add(Support("-".join(words)))
            except ValueError:
                known = ", ".join(Support)
                raise ValueError(f'the line "GROUNDING:" said none of {known}') from None
        elif (match := _REASON.match(line)) and not reason:
            reason = " ".join(match["text"].split())
    if len(said) != 1:
        fault = "said more than one thing" if said else "was missing"
        raise ValueError(f'the line "GROUNDING:" {fault}')
    return SentenceVerdict(said.pop(), reason or "no reason given")
