"""Claims and documents for judges, and judges' replies."""

import json

from conflictscore.errors import ProviderError
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import Claim, Document, EvidenceLabel, Label
from tests.fakes.openai_server import Reply

PROMPTS = PromptSet.load()


def claim(text: str = "It was lit in 1871.", number: int = 1) -> Claim:
    return Claim(number=number, text=text)


def document(text: str = "The lamp was lit in 1871.", number: int = 1, title: str = "") -> Document:
    return Document(number=number, text=text, title=title)


def verdict(
    answer: str = "SUPPORTS", *, snippet: str = "", reasoning: str = "", about: str = ""
) -> str:
    """A reply as the paper's judge gives it (Table 7)."""
    fields = {"claim": about, "document_snippet": snippet, "reasoning": reasoning, "answer": answer}
    return json.dumps(fields)


def letter(chosen: str = "A", *, logprob: float = -0.1, others: float = -3.0) -> Reply:
    """A reply of one letter, with the log-probabilities of all three letters."""
    return Reply(chosen, logprobs=dict.fromkeys("ABC", others) | {chosen: logprob})


class Cheap:
    """Gives the documents set labels in turn, with this probability."""

    def __init__(self, *said: tuple[Label, float | None]) -> None:
        self.name = "cheap"
        self.identity: dict[str, str] | None = {"labeler": "cheap"}
        self.said, self.asked = said, 0
        self.scripts: frozenset[str] | None = None

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        self.asked += 1
        label, score = self.said[document.number - 1]
        if label is Label.UNLABELLED:
            raise ProviderError("out of memory", provider="cheap")
        return EvidenceLabel(claim=claim.number, document=document.number, label=label, score=score)
