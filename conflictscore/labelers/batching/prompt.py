"""The prompt of a batch: rules, documents, claims, in an order that can be cached."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from conflictscore.labelers.batching.batches import Batch
from conflictscore.labelers.batching.modes import BatchMode
from conflictscore.labelers.prompting import as_shown
from conflictscore.prompts import PromptSet, material
from conflictscore.records import Claim

__all__ = ["TEMPLATES", "BatchPrompt", "batch_prompt"]

TEMPLATES = ("label_rules_brief", "label_one_document", "label_one_claim", "label_claim_with")
"""The templates that the modes share."""

_IDS_EACH = 450
_FIRST_CLAIM_ID = 100
_FIRST_DOCUMENT_ID = _FIRST_CLAIM_ID + _IDS_EACH


@dataclass(frozen=True)
class BatchPrompt:
    """A prompt, and what its ids stand for."""

    text: str
    claim_ids: dict[int, str]
    """The id of each claim, by the claim's number."""
    document_ids: dict[int, str]
    """The id of each document, by the document's number."""


def batch_prompt(batch: Batch, mode: BatchMode, prompts: PromptSet) -> BatchPrompt:
    """Rules, documents, claims: the prefix up to the claims is the same for all claims.

    An id has three digits, which are one token to most models, and its text decides it. A reply
    that counts claims or documents through, from 0 or from 1, or that takes the one for the other,
    so never has the id of another.
    """
    shown = {document.number: as_shown(document) for document in batch.shown}
    documents = _ids(shown.items(), _FIRST_DOCUMENT_ID)
    claims = _ids(((claim.number, claim.text) for claim in batch.claims), _FIRST_CLAIM_ID)
    fields = {"rules": prompts.render("label_rules_brief")}
    if mode.documents == 1:
        [fields["document"]] = shown.values()
    else:
        fields["documents"] = "\n\n".join(
            prompts.render("label_one_document", id=documents[number], document=text)
            for number, text in shown.items()
        )
    if mode.claims == 1:
        [fields["claim"]] = [material(claim.text) for claim in batch.claims]
    else:
        fields["claims"] = "\n".join(
            _claim(claim, claims[claim.number], batch, documents, prompts) for claim in batch.claims
        )
    return BatchPrompt(prompts.render(mode.template, **fields), claims, documents)


def _claim(
    claim: Claim, its_id: str, batch: Batch, documents: dict[int, str], prompts: PromptSet
) -> str:
    asked = {document.number for asked_of, document in batch.pairs if asked_of == claim}
    text = material(claim.text)
    if len(asked) == len(documents):
        return prompts.render("label_one_claim", id=its_id, claim=text)
    named = ", ".join(its for number, its in documents.items() if number in asked)
    return prompts.render("label_claim_with", id=its_id, claim=text, documents=named)


def _ids(texts: Iterable[tuple[int, str]], first: int) -> dict[int, str]:
    taken: dict[int, str] = {}
    for number, text in texts:
        digest = hashlib.sha256(text.encode(errors="replace")).digest()
        place = int.from_bytes(digest[:4])
        while (its_id := str(first + place % _IDS_EACH)) in taken.values():
            place += 1
        taken[number] = its_id
    return taken
