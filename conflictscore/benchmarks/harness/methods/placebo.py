"""``placebo``: the regeneration prompt with another question's evidence.

The claim, the numbers of the documents on each side and the documents to read stay; only what is
quoted of both sides is the other question's. It shows what being asked again does by itself.
"""

from collections.abc import Sequence
from typing import Any

from conflictscore.benchmarks.harness.methods.asker import Asker
from conflictscore.benchmarks.harness.methods.method import Asked, BenchmarkMethod
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.answerer import ask_again
from conflictscore.records import ClaimEvidence, Document, EvidenceLabel, Label

__all__ = ["PLACEBO"]


async def _ask(asker: Asker, asked: Asked) -> dict[str, Any]:
    first, claim = asked.answered.answer, asked.disputed
    if claim is None:
        return {"answer": first.to_json(), "donor": None, "notes": []}
    donor, donated = await asked.another()
    meter = UsageMeter()
    answer, notes = await ask_again(
        asked.question.question,
        asked.question.options,
        first,
        _without_snippets(claim),
        asked.documents,
        model=asker.context.generator,
        prompts=asker.context.prompts,
        meter=meter,
        evidence_from=_renumbered(donated, [d.number for d in asked.documents]),
    )
    asker.kept(meter.usage.cached_calls)
    return {"answer": answer.to_json(), "donor": donor.id, "notes": notes}


def _without_snippets(claim: ClaimEvidence) -> ClaimEvidence:
    labels = tuple(
        EvidenceLabel(claim=pair.claim, document=pair.document, label=pair.label)
        for pair in claim.labels
        if pair.label is not Label.UNLABELLED
    )
    return ClaimEvidence(claim=claim.claim, labels=labels)


def _renumbered(documents: Sequence[Document], numbers: Sequence[int]) -> list[Document]:
    """A document for every number, from the first again where there are too few."""
    return [
        documents[index % len(documents)].model_copy(update={"number": number})
        for index, number in enumerate(numbers)
    ]


PLACEBO = BenchmarkMethod(
    name="placebo", ask=_ask, looks_again=True, control="Shown another question's evidence"
)
