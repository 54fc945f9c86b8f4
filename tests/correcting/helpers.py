"""Statements with probabilities, numbered documents, and a model and a judge that use numbers."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from conflictscore.answering.statements import numbers_in
from conflictscore.correcting.looking import Looking
from conflictscore.loop.state import Reader
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, ClaimEvidence, Document, EvidenceLabel, Label, Usage
from tests.nodes.steps import PROMPTS

T = TypeVar("T")


def likely(text: str, *supports: float) -> ClaimEvidence:
    """A statement that each document supports with this probability, and otherwise contradicts."""
    labels = []
    for number, p in enumerate(supports, start=1):
        known = {Label.SUPPORTS: p, Label.CONTRADICTS: 1 - p, Label.IRRELEVANT: 0.0}
        label = max(known, key=known.__getitem__)
        labels.append(EvidenceLabel(claim=1, document=number, label=label, probabilities=known))
    return ClaimEvidence(claim=Claim(number=1, text=text), labels=tuple(labels))


def documents_with(*texts: str, **more: Sequence[Any]) -> list[Document]:
    """Numbered documents; further fields by name, with one value per document."""
    made = []
    for place, text in enumerate(texts):
        fields = {name: values[place] for name, values in more.items()}
        made.append(Document(number=place + 1, text=text, **fields))
    return made


class Replies:
    """A model that replies by a function of the prompt, and keeps the prompts."""

    name, endpoint, context_window, thinking_tokens = "scripted", "scripted", 8192, 0
    is_local = False
    has_grammars = False

    def __init__(self, reply: Callable[[str], str | Exception]) -> None:
        self.reply, self.asked = reply, list[str]()

    async def ask(self, prompt: str, read: Callable[[str], T], *, meter: UsageMeter, **_: Any) -> T:
        self.asked.append(prompt)
        said = self.reply(prompt)
        if isinstance(said, Exception):
            raise said
        meter.count(Usage(calls=1, input_tokens=9, output_tokens=3))
        return read(said)


class ByNumbers:
    """A judge that compares the numbers above 20 in a claim and a document."""

    name, identity = "by numbers", None

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        one, other = (
            {n for n in numbers_in(text) if float(n) > 20} for text in (claim.text, document.text)
        )
        label = Label.IRRELEVANT
        if one and other:
            label = Label.SUPPORTS if one & other else Label.CONTRADICTS
        return EvidenceLabel(claim=claim.number, document=document.number, label=label)


class EmbeddedByNumbers(ByNumbers):
    """The same judge as an embedded labeler."""

    embedded = True


def looking_embedded(
    question: str, *texts: str, labeler: Any, reply: Callable[[str], str] | Replies, **more: Any
) -> tuple[Looking, Replies]:
    """A look with embedded models at documents with these texts, and the model that replies."""
    model = reply if isinstance(reply, Replies) else Replies(reply)
    model.is_local = True
    reads = Reader(cast("LanguageModel", model), PROMPTS, UsageMeter())
    fields: dict[str, Any] = {"duplicates": {}, "weights": {}, "unsettled": "hedge"} | more
    looking = Looking(
        question=question,
        documents=documents_with(*texts),
        reader=reads,
        judge=reads,
        labeler=labeler,
        **fields,
    )
    return looking, model
