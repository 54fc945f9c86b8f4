"""From pairs to calls: which claims and documents go together, and what fits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from conflictscore.errors import ContextWindowError
from conflictscore.labelers.batching.modes import BatchMode
from conflictscore.labelers.protocol import Pair
from conflictscore.models.fitting import fit_documents
from conflictscore.models.language_model import LanguageModel
from conflictscore.prompts import PromptSet
from conflictscore.records import Claim, Document
from conflictscore.tokens import count_tokens

__all__ = ["Batch", "Batches", "NoRoom"]

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
