"""Many pairs in one call: which go together, what fits, and the prompt that they make.

A batch names every claim and document by an id that its text decides. The rules and the documents
stand before the claims, so that a server finds them in its cache for the next claims.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from conflictscore.errors import ContextWindowError
from conflictscore.labelers.prompting import as_shown
from conflictscore.labelers.protocol import Pair
from conflictscore.models.fitting import fit_documents
from conflictscore.models.language_model import LanguageModel
from conflictscore.prompts import PromptSet, material
from conflictscore.records import Claim, Document
from conflictscore.tokens import count_tokens

__all__ = [
    "MODES",
    "TEMPLATES",
    "Batch",
    "BatchMode",
    "BatchName",
    "BatchPrompt",
    "Batches",
    "NoRoom",
    "batch_prompt",
]

BatchName = Literal["per-document", "per-claim", "matrix"]

_REPLY_TOKENS = 400
"""Room in every reply; the smaller the batch, the more of it for each verdict."""
_VERDICT_TOKENS = 80


@dataclass(frozen=True)
class BatchMode:
    """The shape of a call, which also decides what a verdict must name."""

    name: BatchName
    template: str
    claims: int
    """The most claims in a call. Far down a long list, models err more often."""
    documents: int
    """The most documents in a call."""

    @property
    def keys(self) -> tuple[str, ...]:
        """What a verdict names, since a call may have several of them."""
        several = {"claim": self.claims > 1, "document": self.documents > 1}
        return tuple(key for key, names in several.items() if names)

    def reply_tokens(self, pairs: int) -> int:
        """Room for the reply to so many pairs."""
        return _REPLY_TOKENS + _VERDICT_TOKENS * pairs


MODES: Mapping[BatchName, BatchMode] = {
    mode.name: mode
    for mode in (
        BatchMode("per-document", "label_per_document", claims=8, documents=1),
        BatchMode("per-claim", "label_per_claim", claims=1, documents=64),
        BatchMode("matrix", "label_matrix", claims=8, documents=16),
    )
}
"""The modes by name."""

_CLAIM_TOKENS = 64
"""Room for each claim that a call may have, so that no cut moves with the claims."""
_MARK_TOKENS = 16
_LEAST_CLAIMS_TOKENS = 256
"""Room for one claim that is long."""


@dataclass(frozen=True)
class Batch:
    """One call: claims and documents, and the pairs of them that are asked for."""

    claims: tuple[Claim, ...]
    documents: tuple[Document, ...]
    """By ascending number: another order of the pairs gives the same prompt."""
    shown: tuple[Document, ...]
    """The documents as they enter the prompt, some of them cut."""
    cut: frozenset[int]
    """Numbers of the documents that are cut."""
    pairs: tuple[Pair, ...]


@dataclass(frozen=True)
class NoRoom:
    """Pairs that no call has room for, and why."""

    pairs: tuple[Pair, ...]
    reason: str


class Batches:
    """Divides pairs into calls of a mode.

    Documents that do not fit together whole are divided in halves until they do; one that does not
    fit alone is cut, visibly. Room is kept for as many claims as a call may have: which documents
    go together, and where they are cut, changes only with a claim that is very long.
    """

    def __init__(self, mode: BatchMode, model: LanguageModel, prompts: PromptSet) -> None:
        self._mode, self._model, self._prompts = mode, model, prompts
        self._claims_room = max(mode.claims * _CLAIM_TOKENS, _LEAST_CLAIMS_TOKENS)
        names = ["document" if mode.documents == 1 else "documents"]
        names.append("claim" if mode.claims == 1 else "claims")
        rules = prompts.render("label_rules_brief")
        self._around = prompts.render(mode.template, rules=rules, **dict.fromkeys(names, ""))

    def of(self, pairs: Sequence[Pair]) -> list[Batch | NoRoom]:
        """Divide pairs, each with a claim and document number of its own; the first go first."""
        divided: list[Batch | NoRoom] = []
        documents = list({document.number: document for _, document in pairs}.values())
        for start in range(0, len(documents), self._mode.documents):
            together = {d.number for d in documents[start : start + self._mode.documents]}
            here = [pair for pair in pairs if pair[1].number in together]
            for claims, tokens in self._claims_together(here):
                numbers = {claim.number for claim in claims}
                divided += self._fitting([p for p in here if p[0].number in numbers], tokens)
        return divided

    def _claims_together(self, pairs: Sequence[Pair]) -> Iterator[tuple[list[Claim], int]]:
        """So many claims at a time as a call may have and has room for, with their tokens."""
        claims: list[Claim] = []
        total = 0
        for claim in {claim.number: claim for claim, _ in pairs}.values():
            tokens = _MARK_TOKENS + count_tokens(claim.text, self._model.name).n
            if claims and (len(claims) == self._mode.claims or total + tokens > self._claims_room):
                yield claims, total
                claims, total = [], 0
            claims.append(claim)
            total += tokens
        yield claims, total

    def _fitting(self, pairs: Sequence[Pair], claim_tokens: int) -> list[Batch | NoRoom]:
        """One call for these pairs, or more where their documents do not fit together."""
        documents = sorted({d.number: d for _, d in pairs}.values(), key=lambda d: d.number)
        reply_tokens = self._mode.reply_tokens(self._mode.claims * len(documents))
        try:
            fitted = fit_documents(
                documents,
                self._model,
                self._prompts,
                around=self._around,
                reply_tokens=reply_tokens + max(self._claims_room, claim_tokens),
            )
        except ContextWindowError as error:
            if len(documents) == 1:
                return [NoRoom(tuple(pairs), self._reason(error, claim_tokens))]
        else:
            if len(documents) == 1 or not fitted.cut:
                claims = {claim.number: claim for claim, _ in pairs}
                shown, cut = fitted.documents, frozenset(fitted.cut)
                return [Batch(tuple(claims.values()), tuple(documents), shown, cut, tuple(pairs))]
        first = {document.number for document in documents[: len(documents) // 2]}
        halves = (
            [pair for pair in pairs if pair[1].number in first],
            [pair for pair in pairs if pair[1].number not in first],
        )
        return [part for half in halves for part in self._fitting(half, claim_tokens)]

    def _reason(self, error: ContextWindowError, claim_tokens: int) -> str:
        if claim_tokens <= self._claims_room:
            return str(error)
        return (
            f"the claim has about {claim_tokens} tokens and leaves no room for a document in the"
            f" context window of {self._model.name} ({self._model.context_window} tokens)"
        )


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
