"""One call for many pairs: its shape, its prompt, and what is made of the reply."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from conflictscore.labelers.label_words import label_of, text_of
from conflictscore.labelers.prompting import IDS_EACH, content_ids
from conflictscore.labelers.protocol import Pair
from conflictscore.labelers.quotes import stands_in
from conflictscore.prompts import PromptSet, material
from conflictscore.records import Claim, Document, EvidenceLabel

BatchName = Literal["per-document", "matrix"]

_REPLY_TOKENS = 400
"""Room in every reply; the smaller the batch, the more of it for each verdict."""
_VERDICT_TOKENS = 80
_FIRST_CLAIM_ID = 100
_FIRST_DOCUMENT_ID = _FIRST_CLAIM_ID + IDS_EACH
_Answer = Literal["SUPPORTS", "CONTRADICTS", "IRRELEVANT"]
VERDICTS = "verdicts"
"""The field of a reply that has them all."""


@dataclass(frozen=True)
class BatchMode:
    """The shape of a call, which also decides what a verdict must name."""

    template: str
    claims: int
    """The most claims in a call. Far down a long list, models err more often."""
    documents: int
    """The most documents in a call."""

    @property
    def keys(self) -> tuple[str, ...]:
        """Ids that a verdict names, since a call may have several of each kind."""
        return ("claim", "document") if self.documents > 1 else ("claim",)

    def reply_tokens(self, pairs: int) -> int:
        """Room for the reply to so many pairs."""
        return _REPLY_TOKENS + _VERDICT_TOKENS * pairs

    def schema(self) -> dict[str, Any]:
        """The form of a reply.

        The same for every call of a mode: a schema is part of what a server caches, and is costly
        the first time that it sees it. So the ids are checked here, and not by the schema.
        """
        fields: dict[str, Any] = {key: {"type": "integer"} for key in self.keys}
        fields |= {"snippet": {"type": "string"}, "reason": {"type": "string"}}
        fields["answer"] = {"type": "string", "enum": list(get_args(_Answer))}
        return {
            "title": "evidence_labels",
            "type": "object",
            "properties": {
                VERDICTS: {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": fields,
                        "required": list(fields),
                        "additionalProperties": False,
                    },
                }
            },
            "required": [VERDICTS],
            "additionalProperties": False,
        }


MODES: Mapping[BatchName, BatchMode] = {
    "per-document": BatchMode("label_per_document", claims=8, documents=1),
    "matrix": BatchMode("label_matrix", claims=8, documents=16),
}


@dataclass(frozen=True)
class Batch:
    """One call: claims and documents, and the pairs of them that are asked for."""

    claims: tuple[Claim, ...]
    documents: tuple[Document, ...]
    """By ascending number: another order of the pairs gives the same prompt."""
    shown: Mapping[int, str]
    """The documents as they enter the prompt, some of them cut, by number."""
    cut: frozenset[int]
    """Numbers of the documents that are cut."""
    pairs: tuple[Pair, ...]
    no_room: str | None = None
    """Why no call has room for these pairs."""

    def claim_ids(self) -> dict[int, str]:
        """The id of each claim, by its number."""
        return content_ids(((claim.number, claim.text) for claim in self.claims), _FIRST_CLAIM_ID)

    def document_ids(self) -> dict[int, str]:
        """The id of each document, by its number."""
        return content_ids(self.shown.items(), _FIRST_DOCUMENT_ID)


Open = list[tuple[Pair, str]]
"""Pairs that are without a verdict still, each with the reason."""


def prompt_of(batch: Batch, mode: BatchMode, prompts: PromptSet) -> str:
    """Rules, documents, claims: the prefix up to the claims is the same for all claims."""
    documents, claims = batch.document_ids(), batch.claim_ids()
    fields = {"rules": prompts.render("label_rules_brief")}
    if mode.documents == 1:
        [fields["document"]] = batch.shown.values()
    else:
        fields["documents"] = "\n\n".join(
            prompts.render("label_one_document", id=documents[number], document=text)
            for number, text in batch.shown.items()
        )
    listed = []
    for claim in batch.claims:
        asked = {document.number for of, document in batch.pairs if of == claim}
        shown = {"id": claims[claim.number], "claim": material(claim.text)}
        if len(asked) == len(documents):
            listed.append(prompts.render("label_one_claim", **shown))
        else:
            named = ", ".join(its for number, its in documents.items() if number in asked)
            listed.append(prompts.render("label_claim_with", **shown, documents=named))
    return prompts.render(mode.template, **fields, claims="\n".join(listed))


def read_reply(
    reply: Mapping[str, Any], batch: Batch, mode: BatchMode
) -> tuple[list[EvidenceLabel], Open]:
    """Read a reply; every pair that was asked for is in one of the two lists.

    A pair that is left out, named twice, or judged by the words of another document stays open.
    What the reply says of anything that was not asked for is passed over.
    """
    listed = reply.get(VERDICTS)
    listed = [listed] if isinstance(listed, Mapping) else listed
    if not isinstance(listed, list):
        raise ValueError(f'"{VERDICTS}" is not a list')  # noqa: TRY004 - as ask_json wants it
    said: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for item in listed:
        if isinstance(item, Mapping):
            said.setdefault(tuple(str(item.get(key)) for key in mode.keys), []).append(item)
    claims, documents = batch.claim_ids(), batch.document_ids()
    verdicts: list[EvidenceLabel] = []
    left: Open = []
    for claim, document in batch.pairs:
        its = {"claim": claims[claim.number], "document": documents[document.number]}
        found = said.get(tuple(its[key] for key in mode.keys), [])
        try:
            verdicts.append(_label(found, (claim, document), batch, mode))
        except ValueError as error:
            left.append(((claim, document), str(error)))
    if not verdicts:
        raise ValueError(f"the first pair {left[0][1]}, and no other can be used either")
    return verdicts, left


def _label(
    said: list[Mapping[str, Any]], pair: Pair, batch: Batch, mode: BatchMode
) -> EvidenceLabel:
    if len(said) != 1:
        raise ValueError(f"has {len(said)} verdicts" if said else "has no verdict under its ids")
    try:
        label = label_of(said[0])
        snippet, reason = text_of(said[0], "snippet"), text_of(said[0], "reason")
    except ValueError as error:
        raise ValueError(f"has a verdict that cannot be read: {error}") from None
    claim, document = pair
    found = stands_in(snippet, document) if snippet else None
    if snippet and not found and any(stands_in(snippet, other) for other in batch.documents):
        raise ValueError("has a verdict that quotes another document")
    return EvidenceLabel(
        claim=claim.number,
        document=document.number,
        label=label,
        snippet=snippet,
        snippet_found=found,
        reasoning=reason,
        document_cut=document.number in batch.cut,
    )
