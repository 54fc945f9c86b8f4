"""The labeler ``per-document``: an LLM judges several claims against one document in one call.

The claims of one call form a batch. Each claim has an id derived from its text. A verdict counts
only if its id belongs to exactly one claim of the batch. The judge is asked again about claims
without a usable verdict. Claims that may be instructions to the judge share no call with claims on
the documents' subject; see :mod:`conflictscore.labelers.claimed_orders`. The rules and the document
precede the claims, so that a server can cache them for the next claims.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

from conflictscore.errors import (
    ConflictScoreError,
    ContextWindowError,
    FailureKind,
    ProviderError,
    UnreadableReplyError,
)
from conflictscore.labelers.claimed_orders import groups
from conflictscore.labelers.label_words import label_of, text_of
from conflictscore.labelers.parts import label_of_parts
from conflictscore.labelers.prompting import DocumentFitter, content_ids, identity_of
from conflictscore.labelers.protocol import Pair
from conflictscore.labelers.quotes import stands_in
from conflictscore.labelers.verdicts import unlabelled
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet, material
from conflictscore.records import Claim, Document, EvidenceLabel, Label
from conflictscore.threads import LONG_CHARS, read_in_thread, together
from conflictscore.tokens import count_tokens

VERDICTS = "verdicts"
"""The reply field for verdicts; in the brief form, irrelevant claims have no verdict in it."""
_IRRELEVANT = "irrelevant"
"""The reply field for the ids of irrelevant claims, which need neither a snippet nor a reason."""
_LONG_TEMPLATES = "label_per_document", "label_rules_brief", "label_one_claim"
_TEMPLATE, _RULES, _ONE_CLAIM = _LONG_TEMPLATES
_BRIEF_TEMPLATE = "label_per_document_brief"
_MOST_CLAIMS, _MOST_CLAIMS_BRIEF = 8, 25
"""Maximum number of claims in a call, in the longer form and in the brief form.

Models, especially small ones, make more errors near the end of a long list. At a remote endpoint,
all claims of a typical answer share a call, since each further call repeats the rules and the
document. One more claim is allowed if it would otherwise need a separate call. The numbers were
chosen, not measured.
"""
_ROUNDS = 3
"""Maximum number of times that the judge is asked about a pair, each time in a smaller batch. If
there is still no verdict, the pair is UNLABELLED. Chosen by hand."""
_REPLY_TOKENS = 400
"""Reply tokens for a call, in addition to ``_VERDICT_TOKENS`` for each verdict.

These additional tokens leave room for the JSON around the verdicts, and for some quotations that
are longer than usual. Chosen by hand.
"""
_VERDICT_TOKENS = 80  # enough for a quotation of a sentence, a reason and a label
_CLAIMS_TOKENS, _CLAIMS_TOKENS_BRIEF = 512, 1024
"""Maximum number of tokens of the claims in a call, in the longer form and in the brief one. Every
prompt reserves at least the smaller number, so that a few claims do not change where a document is
cut. With claims of about 20 tokens, the number of claims is the stricter limit.
"""
_MARK_TOKENS = 16  # tokens that the prompt adds to a claim, such as its id; a generous estimate


def _object(fields: Mapping[str, Any]) -> dict[str, Any]:
    constraints = {"required": [*fields], "additionalProperties": False}
    return {"type": "object", "properties": dict(fields), **constraints}


_TEXT = {"type": "string"}
_VERDICT = {
    "claim": {"type": "integer"},
    "snippet": _TEXT,
    "reason": _TEXT,
    "answer": {**_TEXT, "enum": ["SUPPORTS", "CONTRADICTS", "IRRELEVANT"]},
}
SCHEMA = {
    "title": "evidence_labels",
    **_object({VERDICTS: {"type": "array", "items": _object(_VERDICT)}}),
}
"""The schema of a reply. The schema is the same for all calls, since servers cache schemas and a
new schema is costly. The schema therefore does not list the ids, which are checked here instead.
"""
BRIEF_SCHEMA = {
    "title": "evidence_labels",
    **_object(
        {
            VERDICTS: {"type": "array", "items": {"type": "array", "items": _TEXT}},
            _IRRELEVANT: {"type": "array", "items": _TEXT},
        }
    ),
}
"""The schema of a reply that takes as few tokens as possible: each verdict is a list of the fields
in ``_ROW``, in that order."""
_ROW = "claim", "snippet", "answer", "reason"
"""The fields of a verdict that is a list; ``reason`` is present only with CONTRADICTS."""

Tell = Callable[[EvidenceLabel], None]


class OpenClaim(NamedTuple):
    """A claim that has no verdict yet."""

    claim: Claim
    reason: str
    failure: FailureKind = FailureKind.UNREADABLE


class Batch(NamedTuple):
    """The content of one call: claims, and the document to check them against."""

    claims: tuple[Claim, ...]
    document: Document
    shown: str = ""
    """The document as the prompt shows it."""
    cut: bool = False
    """Whether part of the document is not read at all."""
    further: tuple[str, ...] = ()
    """The remaining parts of a document that is too long for one prompt; each needs a separate
    call."""
    no_room: ContextWindowError | None = None
    """The error that says why the claims and the document do not fit into a call; None if they
    do."""

    def ids(self) -> dict[int, str]:
        """Return the id of each claim, by claim number."""
        return content_ids((claim.number, claim.text) for claim in self.claims)


def read_reply(
    reply: Mapping[str, Any], batch: Batch
) -> tuple[list[EvidenceLabel], list[OpenClaim]]:
    """Read a reply, and return the labels and the claims that are still open.

    A claim stays open if the reply has no verdict on it, or several. Verdicts with other ids are
    ignored.
    """
    verdict_list = reply.get(VERDICTS)  # a single verdict may lack the list around it
    verdict_list = [verdict_list] if isinstance(verdict_list, Mapping) else verdict_list
    if not isinstance(verdict_list, list):
        raise ValueError(f'"{VERDICTS}" is not a list')  # noqa: TRY004 - ask_json then asks again
    verdicts_by_id: dict[str, list[Mapping[str, Any]]] = {}
    for row in verdict_list:
        is_row = isinstance(row, list) and len(row) <= len(_ROW)  # a longer row is ambiguous
        verdict = dict(zip(_ROW, row, strict=False)) if is_row else row
        if isinstance(verdict, Mapping):
            verdicts_by_id.setdefault(str(verdict.get("claim")), []).append(verdict)
    for its_id in _listed_ids(reply.get(_IRRELEVANT)):
        verdicts = verdicts_by_id.setdefault(its_id, [])
        # an id with another verdict, too, gets two verdicts, and its claim stays open
        if [str(verdict.get("answer")).upper() for verdict in verdicts] != [Label.IRRELEVANT]:
            verdicts.append({"answer": Label.IRRELEVANT.value})
    ids, labels, open_claims = batch.ids(), list[EvidenceLabel](), list[OpenClaim]()
    for claim in batch.claims:
        try:
            labels.append(_label(verdicts_by_id.get(ids[claim.number], []), claim, batch))
        except ValueError as error:
            open_claims.append(OpenClaim(claim, str(error)))
    if not labels:  # the error makes `ask_json` ask for the whole reply again
        reason = open_claims[0].reason
        raise ValueError(f"the first claim {reason}, and no other verdict is usable either")
    return labels, open_claims


def _listed_ids(claims: Any) -> list[str]:
    """Return the ids in a list of ids or of objects with ids; for anything else, an empty list."""
    ids = claims if isinstance(claims, list) else []
    return [str(each.get("claim") if isinstance(each, Mapping) else each) for each in ids]


def _label(verdicts: list[Mapping[str, Any]], claim: Claim, batch: Batch) -> EvidenceLabel:
    """Return the label in the only verdict on a claim; raise ValueError if there is none."""
    if not verdicts:
        raise ValueError("has no verdict under its id")
    if len(verdicts) > 1:
        raise ValueError(f"has {len(verdicts)} verdicts")
    [verdict] = verdicts
    try:
        label = label_of(verdict)
    except ValueError as error:
        raise ValueError(f"has a verdict that cannot be read: {error}") from None
    snippet = text_of(verdict, "snippet")
    return EvidenceLabel(
        claim=claim.number,
        document=batch.document.number,
        label=label,
        snippet=snippet,
        snippet_found=stands_in(snippet, batch.document) if snippet else None,
        reasoning=text_of(verdict, "reason"),
        document_cut=batch.cut,
    )


def _all_open(claims: Sequence[Claim], error: ConflictScoreError) -> list[OpenClaim]:
    """Return all claims of a failed call as open, with the call's error as the reason."""
    return [OpenClaim(claim, str(error), error.failure) for claim in claims]


class BatchJudge:
    """A judge that labels up to 8 claims against one document per call, or 26 in the brief form.

    Judges of single pairs never reuse the cached verdicts of this judge. At a remote endpoint,
    where each token costs time and money, the rules are shorter, the claims are one JSON object,
    and a reply has the form ``BRIEF_SCHEMA``. The longer form is used if the model is embedded, if
    the prompt set is ``paper``, or if the user overrides a template of the longer form.
    """

    def __init__(self, model: LanguageModel, prompts: PromptSet) -> None:
        self._model, self._prompts = model, prompts
        has_own = not prompts.overridden.isdisjoint(_LONG_TEMPLATES)
        self._is_brief = not (model.is_local or prompts.follows_the_paper or has_own)
        self._schema = BRIEF_SCHEMA if self._is_brief else SCHEMA
        self._most = _MOST_CLAIMS_BRIEF if self._is_brief else _MOST_CLAIMS
        self._most_tokens = _CLAIMS_TOKENS_BRIEF if self._is_brief else _CLAIMS_TOKENS
        self.name = f"per-document({model.name})"
        names = (_BRIEF_TEMPLATE,) if self._is_brief else _LONG_TEMPLATES
        # the templates "cut" and "retry" may become part of a prompt, too
        digest = prompts.sha256_of(*names, "cut", "retry")
        # `at_once` also shows that a verdict may depend on the other claims of its call
        self.identity = identity_of("per-document", digest, model, at_once=self._most)
        self._documents = DocumentFitter(model, prompts, around=self._around())

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        """Judge one pair; see :class:`~conflictscore.labelers.protocol.Labeler`."""
        labels: list[EvidenceLabel] = []
        await self.label_all([(claim, document)], meter, labels.append)
        [label] = labels
        if label.error is not None:
            raise ProviderError(label.error, provider=self._model.name, failure=label.failure)
        return label

    async def label_all(self, pairs: Sequence[Pair], meter: UsageMeter, on_label: Tell) -> None:
        """Judge many pairs; see :class:`~conflictscore.labelers.protocol.TableLabeler`."""
        documents = {document.number: document for _, document in pairs}
        grouped = await groups(pairs)
        async with together() as start:
            for number, document in documents.items():
                for batch in await self._prepared(grouped[number], document):
                    settle = self._settle_parts if batch.further else self._settle
                    start(partial(settle, batch, meter, on_label, _ROUNDS))

    async def _settle_parts(self, batch: Batch, meter: UsageMeter, tell: Tell, rounds: int) -> None:
        """Ask about every part of a document, then report a label for each claim of the batch."""
        parts = [batch._replace(shown=text, further=()) for text in (batch.shown, *batch.further)]
        labels_by_part = [dict[int, EvidenceLabel]() for _ in parts]
        async with together() as start:
            for part, labels in zip(parts, labels_by_part, strict=True):
                start(partial(self._settle, part, meter, _into(labels), rounds))
        for claim in batch.claims:

            async def ask_again(snippets: Sequence[str], claim: Claim = claim) -> EvidenceLabel:
                tokens = _MARK_TOKENS + _tokens_of(claim.text)
                quoted = partial(self._batch, [claim], batch.document, tokens, *snippets)
                labels: dict[int, EvidenceLabel] = {}
                around = await read_in_thread(quoted, len(batch.document.text))
                # the other parts have been read already; this call shows only the quotations' parts
                around = around._replace(further=(), cut=batch.cut)
                # only one round: if it fails, the labels of the parts decide
                await self._settle(around, meter, _into(labels), 1)
                return labels[claim.number]

            own = [labels[claim.number] for labels in labels_by_part]
            tell(await label_of_parts(own, ask_again))

    async def _settle(self, batch: Batch, meter: UsageMeter, tell: Tell, rounds: int) -> None:
        """Report a label for each claim of a batch, asking again about claims that stay open."""
        open_claims, parts = await self._attempt(batch, meter, tell)
        if rounds == 1 or not parts:
            for claim, reason, failure in open_claims:
                tell(unlabelled((claim, batch.document), reason, failure))
            return
        for claims in parts:
            smaller = batch._replace(claims=tuple(claims))
            await self._settle(smaller, meter, tell, rounds - 1)

    async def _attempt(
        self, batch: Batch, meter: UsageMeter, tell: Tell
    ) -> tuple[list[OpenClaim], list[list[Claim]]]:
        """Ask once; return the open claims, and the groups in which to ask about them again."""
        claims = list(batch.claims)
        if batch.no_room:
            return _all_open(claims, batch.no_room), []
        try:
            labels, open_claims = await self._model.ask_json(
                self._prompt(batch),
                self._schema,
                partial(read_reply, batch=batch),
                prompts=self._prompts,
                meter=meter,
                max_tokens=_REPLY_TOKENS + _VERDICT_TOKENS * len(claims),
                needed=frozenset({VERDICTS}),
                listed=VERDICTS,
            )
        except UnreadableReplyError as error:
            # one claim may spoil the reply, so ask about each half of the claims separately; a
            # single claim has been asked about twice already
            half = len(claims) // 2
            halves = [claims[:half], claims[half:]] if half else []
            return _all_open(claims, error), halves
        # the call failed despite retries, so calls with smaller batches would fail too
        except ProviderError as error:
            return _all_open(claims, error), []
        for label in labels:
            tell(label)
        open_claims = [
            each._replace(
                reason=f"unreadable reply from {self._model.name}: the claim {each.reason}"
            )
            for each in open_claims
        ]
        return open_claims, [[each.claim for each in open_claims]] if open_claims else []

    def _prompt(self, batch: Batch) -> str:
        ids = batch.ids()
        texts = {ids[claim.number]: material(claim.text) for claim in batch.claims}
        if self._is_brief:
            claims = json.dumps(texts, ensure_ascii=False, separators=(",", ":"))
        else:
            render = partial(self._prompts.render, _ONE_CLAIM)
            claims = "\n".join(render(id=its_id, claim=text) for its_id, text in texts.items())
        return self._around(document=batch.shown, claims=claims)

    def _around(self, *, document: str = "", claims: str = "") -> str:
        if self._is_brief:
            return self._prompts.render(_BRIEF_TEMPLATE, document=document, claims=claims)
        rules = self._prompts.render(_RULES)
        return self._prompts.render(_TEMPLATE, rules=rules, document=document, claims=claims)

    async def _prepared(
        self, grouped: Sequence[Sequence[Claim]], document: Document
    ) -> list[Batch]:
        """Return the batches of groups of claims; long documents are cut in a thread."""

        def batches() -> list[Batch]:
            return [batch for group in grouped for batch in self._batches(group, document)]

        if len(document.text) <= LONG_CHARS:
            return batches()
        return await read_in_thread(batches, len(document.text))

    def _batches(self, statements: Sequence[Claim], document: Document) -> Iterator[Batch]:
        """Put the claims into batches, in order; each batch is as large as the limits allow.

        A document that does not fit is read in parts, beginning with the part nearest to the
        claims.
        """
        some: list[Claim] = []
        total = 0
        for claim in statements:
            tokens = _MARK_TOKENS + _tokens_of(claim.text)
            most = self._most + (self._is_brief and claim is statements[-1])
            if some and (len(some) >= most or total + tokens > self._most_tokens):
                yield self._batch(some, document, total)
                some, total = [], 0
            some.append(claim)
            total += tokens
        if some:
            yield self._batch(some, document, total)

    def _batch(
        self, claims: Sequence[Claim], document: Document, tokens: int, *beside: str
    ) -> Batch:
        """Return a batch with the document's parts nearest to the claims and to ``beside``."""
        # Room for this many verdicts is reserved even if there are fewer claims, so that a document
        # is cut at the same place in all calls with few claims. The brief form adds the claim that
        # would otherwise need a separate call.
        verdicts = max(_MOST_CLAIMS + self._is_brief, len(claims))
        room = _REPLY_TOKENS + _VERDICT_TOKENS * verdicts + max(_CLAIMS_TOKENS, tokens)
        batch = Batch(tuple(claims), document)
        try:
            queries = (*(claim.text for claim in claims), *beside)
            parts = self._documents.parts(document, room, *queries)
        except ContextWindowError as error:
            return batch._replace(no_room=error)
        [shown, *further] = parts.texts
        return batch._replace(shown=shown, cut=parts.cut, further=tuple(further))


_tokens_of = lru_cache(maxsize=256)(count_tokens)  # claims are judged against many documents


def _into(labels: dict[int, EvidenceLabel]) -> Tell:
    """Return a callback that stores each label under the number of its claim."""

    def keep(label: EvidenceLabel) -> None:
        labels[label.claim] = label

    return keep
