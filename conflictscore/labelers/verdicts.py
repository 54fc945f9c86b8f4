"""Functions that get the labels of pairs: they look up stored verdicts, and store new verdicts.

Every pair gets a label here, and every labeler is called from here.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache, partial
from typing import Any

from pydantic import ValidationError

from conflictscore.errors import ContextWindowError, FailureKind, ProviderError
from conflictscore.labelers.protocol import (
    Labeler,
    Pair,
    StagedLabeler,
    TableLabeler,
    judges_in_stages,
    judges_many,
    reads_dates,
)
from conflictscore.models.breaker import CircuitBreaker
from conflictscore.models.usage import UsageMeter, begin_cost, stored_cost, take_cost
from conflictscore.prompts import neutral
from conflictscore.records import Document, EvidenceLabel, Label, Usage
from conflictscore.storage.cache import ContentCache, content_key
from conflictscore.threads import Work, together

_Place = tuple[int, int]
"""The numbers of a claim and a document."""

_FORMAT = 1
"""Version of the storage format; increased if an older EvidenceLabel can no longer be read."""
_READING = 2
"""Version of the way in which long documents are read; increased whenever that way changes."""
_LONG_BYTES = 6000
"""For documents with more bytes, the keys of verdicts contain ``_READING``. Shorter documents fit
into most prompts, so the way in which long documents are read does not affect them."""
_NOT_TOLD = "the labeler returned no label"


async def judging(
    labeler: Labeler,
    pairs: Sequence[Pair],
    tell: Callable[[EvidenceLabel], None],
    *,
    meter: UsageMeter,
    cache: ContentCache | None = None,
) -> list[Work]:
    """Report the stored labels of pairs, and return tasks that obtain the missing labels.

    Each verdict is stored and reported as soon as it arrives. If a pair could not be judged, its
    label is UNLABELLED, includes the reason and is not stored. The tasks raise ConfigurationError
    if a setting is wrong, and BudgetError if the budget is used up. Before the tasks raise, they
    report the results of calls that have already begun.
    """
    waiting = {(claim.number, document.number): (claim, document) for claim, document in pairs}
    breaker = CircuitBreaker()
    keys = {} if cache is None else _keys(labeler, waiting)
    stored = {} if cache is None else await _stored(cache, keys, _shared_keys(labeler, waiting))
    judge = dict(labeler.identity or {})
    # a labeler without an endpoint makes no calls
    model = str(judge["model"]) if "endpoint" in judge else ""
    for place, stored_verdict in stored.items():
        cost = stored_cost(stored_verdict)
        if (label := _kept(stored_verdict, waiting[place])) is not None:
            del waiting[place]
            meter.cached(cost if model else Usage(), model)
            tell(label)

    def judged(verdict: EvidenceLabel) -> None:
        place = (verdict.claim, verdict.document)
        del waiting[place]  # this raises KeyError if a labeler reports a pair twice
        if cache is not None and place in keys and verdict.label is not Label.UNLABELLED:
            cache.keep_text(keys[place], _text_with_cost(verdict))
        tell(verdict)

    async def judge_one(pair: Pair) -> None:
        claim, document = pair
        begin_cost()
        breaker.watch_task()  # each pair has a task of its own
        try:
            verdict = await labeler.label(claim, document, meter)
        except (ProviderError, ContextWindowError) as error:
            verdict = unlabelled(pair, str(error), error.failure)
        judged(verdict)

    async def judge_table(labeler: TableLabeler | StagedLabeler, pairs: Sequence[Pair]) -> None:
        reason, failure = _NOT_TOLD, FailureKind.FAILED
        begin_cost()
        try:
            if judges_in_stages(labeler):
                # each stage is judged by `judge_all`, which watches the stage's calls itself
                await labeler.label_in_stages(pairs, meter, judged, cache)
            else:
                with breaker.watching():
                    await labeler.label_all(pairs, meter, judged)
        except (ProviderError, ContextWindowError) as error:
            reason, failure = str(error), error.failure
        # pairs whose label the labeler has not reported; a copy, since `judged` removes pairs
        for pair in list(waiting.values()):
            judged(unlabelled(pair, reason, failure))

    pairs_left = list(waiting.values())
    if pairs_left and judges_many(labeler):
        return [partial(judge_table, labeler, pairs_left)]
    return [partial(judge_one, pair) for pair in pairs_left]


async def judge_all(
    labeler: Labeler,
    pairs: Sequence[Pair],
    tell: Callable[[EvidenceLabel], None],
    meter: UsageMeter,
    cache: ContentCache | None,
) -> None:
    """Look up or judge all pairs for one stage of a labeler; see :func:`judging`."""
    async with together() as start:
        for work in await judging(labeler, pairs, tell, meter=meter, cache=cache):
            start(work)


def unlabelled(pair: Pair, reason: str, failure: FailureKind) -> EvidenceLabel:
    """Return the label of a pair without a verdict, with the reason and the kind of failure."""
    claim, document = pair
    return EvidenceLabel(
        claim=claim.number,
        document=document.number,
        label=Label.UNLABELLED,
        error=reason,
        failure=failure,
    )


def content_of(document: Document, labeler: Labeler) -> str:
    """Return a hash of a document as the judge sees it: title, text, and perhaps the date.

    Control tokens are neutralised before hashing, so older verdicts on documents with such tokens
    are not used.
    """
    date = str(document.metadata.get("date") or "")
    if date and not reads_dates(labeler):
        date = ""
    return _hashed(document.title, f"{document.text}\0{date}" if date else document.text)


# all the claims of an answer are compared with the same documents
@lru_cache(maxsize=256)
def _hashed(title: str, text: str) -> str:
    shown_text = neutral(f"{title}\0{text}")
    return hashlib.sha256(shown_text.encode("utf-8", "surrogatepass")).hexdigest()


async def _stored(
    cache: ContentCache, keys: Mapping[_Place, str], shared_keys: Mapping[_Place, str]
) -> dict[_Place, dict[str, Any]]:
    """Return the stored verdicts of pairs; a verdict under the pair's own key takes precedence."""
    by_key = await cache.find_async([*keys.values(), *shared_keys.values()])
    if not by_key:  # as for most new answers
        return {}
    verdicts = {
        place: by_key.get(key) or by_key.get(shared_keys.get(place, key))
        for place, key in keys.items()
    }
    return {place: verdict for place, verdict in verdicts.items() if verdict}


def _kept(stored_verdict: Mapping[str, Any], pair: Pair) -> EvidenceLabel | None:
    """Return a stored verdict's label; None if it is invalid or the document must be reread.

    Earlier versions read only one part of a document that did not fit into a prompt. With a small
    context window, such a document may be short; its old verdicts then have the same key as new
    ones.
    """
    claim, document = pair
    numbers = {"claim": claim.number, "document": document.number, "cached": True}
    try:
        label = EvidenceLabel.model_validate({**stored_verdict, **numbers})
    except ValidationError:
        return None
    return None if label.document_cut and not _is_long(document) else label


def _text_with_cost(verdict: EvidenceLabel) -> str:
    """Return the JSON text of a verdict and, if calls were made for it, of their cost."""
    text, cost = verdict.model_dump_json(), take_cost()
    return f"{text[:-1]},{json.dumps(cost)[1:]}" if cost else text


def _keys(labeler: Labeler, pairs: Mapping[_Place, Pair]) -> dict[_Place, str]:
    """Return the keys under which the verdicts of pairs are stored.

    If a judge reads several claims in a call, the text of one claim may influence its verdict on
    another. So the key includes all claims that are judged against the document in the same table,
    and the verdict is not reused for other sets of claims.
    """
    if judges_in_stages(labeler) or labeler.identity is None:
        return {}
    judge = dict(labeler.identity)
    claims = _claim_texts(pairs)
    beside = _claims_beside(pairs, claims) if _reads_many(labeler) else {}
    contents = _contents(labeler, pairs)
    return {
        (claim, document): _key(
            claims[claim], contents[document], judge=judge, beside=beside.get(document)
        )
        for claim, document in pairs
    }


def _shared_keys(labeler: Labeler, pairs: Mapping[_Place, Pair]) -> dict[_Place, str]:
    """Return the keys of verdicts on the same pairs from calls with a single claim.

    No other claim could influence these verdicts, so they are valid for any set of claims.
    """
    if not _reads_many(labeler):
        return {}
    judge = dict(labeler.identity or {})
    claims = _claim_texts(pairs)
    contents = _contents(labeler, pairs)
    return {
        (claim, document): _key(claims[claim], contents[document], judge=judge, beside=None)
        for claim, document in pairs
    }


def _contents(labeler: Labeler, pairs: Mapping[_Place, Pair]) -> dict[int, dict[str, Any]]:
    """Return what the keys of a document's verdicts say about it, by document number."""
    contents: dict[int, dict[str, Any]] = {}
    for _, document in pairs.values():
        if document.number not in contents:
            of_document: dict[str, Any] = {"document": content_of(document, labeler)}
            if _is_long(document):
                of_document["reading"] = _READING
            contents[document.number] = of_document
    return contents


def _claim_texts(pairs: Mapping[_Place, Pair]) -> dict[int, str]:
    """Return the text of each claim as a judge sees it, by claim number."""
    claims = {claim.number: claim for claim, _ in pairs.values()}
    return {number: neutral(claim.text) for number, claim in claims.items()}


def _reads_many(labeler: Labeler) -> bool:
    """Return whether a labeler judges several claims per call (its identity has ``at_once``)."""
    if judges_in_stages(labeler) or labeler.identity is None:
        return False
    return "at_once" in labeler.identity


def _claims_beside(
    pairs: Mapping[_Place, Pair], claims: Mapping[int, str]
) -> dict[int, str | None]:
    """Return, for each document, a hash of the claims judged against it; None for a single claim.

    The hash depends on the order of the claims, which determines which claims share a call.
    """
    numbers: dict[int, list[int]] = {}
    for claim, document in pairs.values():
        numbers.setdefault(document.number, []).append(claim.number)

    @cache
    def hashed(claim_numbers: tuple[int, ...]) -> str | None:
        if len(claim_numbers) == 1:
            return None
        texts = "\0".join(claims[number] for number in claim_numbers)
        return hashlib.sha256(texts.encode("utf-8", "surrogatepass")).hexdigest()

    return {document: hashed(tuple(claim_numbers)) for document, claim_numbers in numbers.items()}


def _key(
    claim: str,
    of_document: Mapping[str, Any],
    *,
    judge: Mapping[str, Any],
    beside: str | None,
) -> str:
    ingredients = {"verdict": _FORMAT, "claim": claim, "judge": judge, **of_document}
    return content_key(ingredients if beside is None else {**ingredients, "beside": beside})


def _is_long(document: Document) -> bool:
    text = document.text
    # lone surrogates cannot be encoded, and only the length matters here
    return len(text if text.isascii() else text.encode(errors="replace")) > _LONG_BYTES
