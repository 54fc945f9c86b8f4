"""The LLM judge of many pairs in one call: ``per-document``, ``per-claim`` and ``matrix``.

A batch names every claim and document by an id that its text decides, a verdict is taken only where
its ids are those of one pair that was asked for, and what a reply leaves open is asked again. The
rules and the documents stand before the claims, so that a server finds them in its cache for the
next claims.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from conflictscore.errors import ContextWindowError, ProviderError, UnreadableReplyError
from conflictscore.labelers.prompting import IDS_EACH, as_shown, content_ids
from conflictscore.labelers.protocol import Pair
from conflictscore.labelers.quotes import stands_in
from conflictscore.labelers.verdicts import unlabelled
from conflictscore.models.clients import for_purpose
from conflictscore.models.fitting import fit_documents
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet, material
from conflictscore.records import Claim, Document, EvidenceLabel, Label
from conflictscore.threads import together
from conflictscore.tokens import count_tokens

__all__ = ["BatchJudge", "BatchName"]

BatchName = Literal["per-document", "per-claim", "matrix"]

_SHARED = ("label_rules_brief", "label_one_document", "label_one_claim", "label_claim_with")
"""The templates that the modes share."""
_ROUNDS = 3
"""How often a pair is asked for at most, in batches that become smaller."""
_REPLY_TOKENS = 400
"""Room in every reply; the smaller the batch, the more of it for each verdict."""
_VERDICT_TOKENS = 80
_CLAIM_TOKENS = 64
"""Room for each claim that a call may have, so that no cut moves with the claims."""
_LEAST_CLAIMS_TOKENS = 256
"""Room for one claim that is long."""
_MARK_TOKENS = 16
_FIRST_CLAIM_ID = 100
_FIRST_DOCUMENT_ID = _FIRST_CLAIM_ID + IDS_EACH

Tell = Callable[[EvidenceLabel], None]


@dataclass(frozen=True)
class _Mode:
    """The shape of a call, which also decides what a verdict must name."""

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

    def schema(self) -> dict[str, Any]:
        """The form of a reply.

        The same for every call of a mode: a schema is part of what a server caches, and is costly
        the first time that it sees it. So the ids are checked here, and not by the schema.
        """
        fields: dict[str, Any] = {key: {"type": "integer"} for key in self.keys}
        fields |= {"snippet": {"type": "string"}, "reason": {"type": "string"}}
        fields["answer"] = {"type": "string", "enum": ["SUPPORTS", "CONTRADICTS", "IRRELEVANT"]}
        return {
            "title": "evidence_labels",
            "type": "object",
            "properties": {
                "verdicts": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": fields,
                        "required": list(fields),
                        "additionalProperties": False,
                    },
                }
            },
            "required": ["verdicts"],
            "additionalProperties": False,
        }


_MODES: Mapping[BatchName, _Mode] = {
    "per-document": _Mode("label_per_document", claims=8, documents=1),
    "per-claim": _Mode("label_per_claim", claims=1, documents=64),
    "matrix": _Mode("label_matrix", claims=8, documents=16),
}


@dataclass(frozen=True)
class _Batch:
    """One call: claims and documents, and the pairs of them that are asked for."""

    claims: tuple[Claim, ...]
    documents: tuple[Document, ...]
    """By ascending number: another order of the pairs gives the same prompt."""
    shown: Mapping[int, str]
    """The documents as they enter the prompt, some of them cut, by number."""
    cut: frozenset[int]
    """Numbers of the documents that are cut."""
    pairs: tuple[Pair, ...]

    def claim_ids(self) -> dict[int, str]:
        """The id of each claim, by its number."""
        return content_ids(((claim.number, claim.text) for claim in self.claims), _FIRST_CLAIM_ID)

    def document_ids(self) -> dict[int, str]:
        """The id of each document, by its number."""
        return content_ids(self.shown.items(), _FIRST_DOCUMENT_ID)


@dataclass(frozen=True)
class _NoRoom:
    """Pairs that no call has room for, and why."""

    pairs: tuple[Pair, ...]
    reason: str


class _Verdict(BaseModel):
    """What a reply says of a pair, its ids aside."""

    model_config = ConfigDict(extra="forbid")

    snippet: str
    reason: str
    answer: Literal["SUPPORTS", "CONTRADICTS", "IRRELEVANT"]


_Open = list[tuple[Pair, str]]
"""Pairs that are without a verdict still, each with the reason."""


class BatchJudge:
    """Judges the pairs of a table in a few calls.

    A verdict counts as one of its mode, and is never taken for one of a judge of single pairs.
    """

    def __init__(self, model: LanguageModel, prompts: PromptSet, mode: BatchName) -> None:
        """Make the judge.

        Args:
            model: The model that judges.
            prompts: Where ``label_rules_brief`` and the templates of the mode are.
            mode: What goes into a call: ``per-document`` up to 8 claims and one document,
                ``per-claim`` one claim and all documents, ``matrix`` up to 8 claims and up to 16
                documents; fewer where the context window has no room for more.
        """
        self._model, self._prompts, self._mode = model, prompts, _MODES[mode]
        names = ["document" if self._mode.documents == 1 else "documents"]
        names.append("claim" if self._mode.claims == 1 else "claims")
        rules = prompts.render("label_rules_brief")
        self._around = prompts.render(self._mode.template, rules=rules, **dict.fromkeys(names, ""))
        self._claims_room = max(self._mode.claims * _CLAIM_TOKENS, _LEAST_CLAIMS_TOKENS)
        self.name = f"{mode}({model.name})"
        self.identity: dict[str, Any] | None = None
        if model.identity is not None:
            used = prompts.sha256_of(*_SHARED, self._mode.template, "cut", "retry")
            self.identity = {
                "labeler": mode,
                "prompt": used,
                "at_once": [self._mode.claims, self._mode.documents],
                "context_window": model.context_window,
                **model.identity,
            }

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        """Judge one pair; see :class:`~conflictscore.labelers.protocol.Labeler`."""
        told: list[EvidenceLabel] = []
        await self.label_all([(claim, document)], meter, told.append)
        [verdict] = told
        if verdict.error is not None:
            raise ProviderError(verdict.error, provider=self._model.name)
        return verdict

    async def label_all(self, pairs: Sequence[Pair], meter: UsageMeter, on_label: Tell) -> None:
        """Judge many; see :class:`~conflictscore.labelers.protocol.TableLabeler`."""
        async with together() as start:
            for part in self._parts(pairs):
                start(partial(self._settle, part, meter, on_label, _ROUNDS))

    async def _settle(
        self, part: _Batch | _NoRoom, meter: UsageMeter, tell: Tell, rounds: int
    ) -> None:
        """Tell a label for each pair of a part, asking again for what is left open."""
        left, again = await self._attempt(part, meter, tell)
        if rounds == 1 or not again:
            for pair, reason in left:
                tell(unlabelled(pair, reason))
            return
        for pairs in again:
            for smaller in self._parts(pairs):
                await self._settle(smaller, meter, tell, rounds - 1)

    async def _attempt(
        self, part: _Batch | _NoRoom, meter: UsageMeter, tell: Tell
    ) -> tuple[_Open, list[list[Pair]]]:
        """Ask once, and tell what came of it.

        Returns:
            What is left open, each pair with the reason, and the parts in which asking for it again
            may help; none where it cannot.
        """
        if isinstance(part, _NoRoom):
            return [(pair, part.reason) for pair in part.pairs], []
        pairs = list(part.pairs)
        numbers = [sorted({item.number for item in side}) for side in zip(*pairs, strict=True)]
        claims, documents = (", ".join(map(str, side)) for side in numbers)
        try:
            with for_purpose(claim=claims, document=documents):
                verdicts, left = await self._model.ask_json(
                    _prompt(part, self._mode, self._prompts),
                    self._mode.schema(),
                    partial(_read, batch=part, mode=self._mode),
                    prompts=self._prompts,
                    meter=meter,
                    max_tokens=self._mode.reply_tokens(len(pairs)),
                )
        except UnreadableReplyError as error:
            half = len(pairs) // 2
            again = [pairs[:half], pairs[half:]] if half else []
            return [(pair, str(error)) for pair in pairs], again
        except ProviderError as error:
            return [(pair, str(error)) for pair in pairs], []
        for verdict in verdicts:
            tell(verdict)
        said = f"unreadable reply from {self._model.name}: the pair "
        left = [(pair, said + reason) for pair, reason in left]
        return left, [[pair for pair, _ in left]] if left else []

    def _parts(self, pairs: Sequence[Pair]) -> list[_Batch | _NoRoom]:
        """Divide pairs, each with a claim and document number of its own; the first go first.

        Documents that do not fit together whole are divided in halves until they do; one that does
        not fit alone is cut, visibly. Room is kept for as many claims as a call may have: which
        documents go together, and where they are cut, changes only with a claim that is very long.
        """
        divided: list[_Batch | _NoRoom] = []
        documents = list({document.number: document for _, document in pairs}.values())
        for start in range(0, len(documents), self._mode.documents):
            numbers = {d.number for d in documents[start : start + self._mode.documents]}
            here = [pair for pair in pairs if pair[1].number in numbers]
            for claims, tokens in self._claims_together(here):
                fit = [pair for pair in here if pair[0] in claims]
                divided += self._fitting(fit, tokens)
        return divided

    def _claims_together(self, pairs: Sequence[Pair]) -> Iterator[tuple[list[Claim], int]]:
        """As many claims at a time as a call may have and has room for, with their tokens."""
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

    def _fitting(self, pairs: Sequence[Pair], claim_tokens: int) -> list[_Batch | _NoRoom]:
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
                reason = str(error)
                if claim_tokens > self._claims_room:
                    reason = (
                        f"the claim has about {claim_tokens} tokens and leaves no room for a"
                        f" document in the context window of {self._model.name}"
                        f" ({self._model.context_window} tokens)"
                    )
                return [_NoRoom(tuple(pairs), reason)]
        else:
            if len(documents) == 1 or not fitted.cut:
                claims = {claim.number: claim for claim, _ in pairs}
                shown = {document.number: as_shown(document) for document in fitted.documents}
                cut = frozenset(fitted.cut)
                return [_Batch(tuple(claims.values()), tuple(documents), shown, cut, tuple(pairs))]
        first = {document.number for document in documents[: len(documents) // 2]}
        parts: list[_Batch | _NoRoom] = []
        for in_first in (True, False):
            half = [pair for pair in pairs if (pair[1].number in first) is in_first]
            parts += self._fitting(half, claim_tokens)
        return parts


def _prompt(batch: _Batch, mode: _Mode, prompts: PromptSet) -> str:
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
    if mode.claims == 1:
        [fields["claim"]] = [material(claim.text) for claim in batch.claims]
        return prompts.render(mode.template, **fields)
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


def _read(
    reply: Mapping[str, Any], batch: _Batch, mode: _Mode
) -> tuple[list[EvidenceLabel], _Open]:
    """Read a reply; every pair that was asked for is in one of the two lists.

    A pair that is left out, named twice, or judged by the words of another document stays open.
    What the reply says of anything that was not asked for is passed over.

    Raises:
        ValueError: There is no verdict in it that can be taken.
    """
    listed = reply.get("verdicts")
    if not isinstance(listed, list):
        raise ValueError('"verdicts" is not a list')  # noqa: TRY004 - as ask_json wants it
    said: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for item in listed:
        if isinstance(item, Mapping):
            said.setdefault(tuple(str(item.get(key)) for key in mode.keys), []).append(item)
    claims, documents = batch.claim_ids(), batch.document_ids()
    verdicts: list[EvidenceLabel] = []
    left: _Open = []
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


def _label(said: list[Mapping[str, Any]], pair: Pair, batch: _Batch, mode: _Mode) -> EvidenceLabel:
    if len(said) != 1:
        raise ValueError(f"has {len(said)} verdicts" if said else "has no verdict under its ids")
    try:
        verdict = _Verdict.model_validate(
            {key: value for key, value in said[0].items() if key not in mode.keys}
        )
    except ValidationError as error:
        [first, *_] = error.errors()
        where = ".".join(map(str, first["loc"]))
        raise ValueError(f"has a verdict whose {where} is wrong: {first['msg']}") from error
    claim, document = pair
    snippet = verdict.snippet.strip() or None
    found = stands_in(snippet, document) if snippet else None
    if snippet and not found and any(stands_in(snippet, other) for other in batch.documents):
        raise ValueError("has a verdict that quotes another document")
    return EvidenceLabel(
        claim=claim.number,
        document=document.number,
        label=Label(verdict.answer),
        snippet=snippet,
        snippet_found=found,
        reasoning=verdict.reason.strip() or None,
        document_cut=document.number in batch.cut,
    )
