"""look_further: ask the retriever again about doubtful claims, before the answer is corrected."""

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

from langchain_core.retrievers import BaseRetriever
from langgraph.errors import GraphBubbleUp

from conflictscore.answering.answer_replies import read_queries
from conflictscore.errors import BudgetError, ConfigurationError, ProviderError, brief_reason
from conflictscore.loop.rounds import to_look_for
from conflictscore.loop.searching import _name, find_documents
from conflictscore.loop.state import (
    RagState,
    Reader,
    RunRuntime,
    attempts_of,
    documents_of,
    spent,
)
from conflictscore.loop.time_budget import spare_time
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import material
from conflictscore.records import ClaimEvidence, Document, FurtherSearch
from conflictscore.retrieval.duplicates import mark_duplicates
from conflictscore.threads import at_once, deadline

_MOST_CLAIMS = 3  # claims a round, with two queries each
_MOST_NEW = 4  # new documents of one search
_QUERY_TOKENS = 160
_NO_RETRIEVER = "there is no retriever to ask"


class _Found(NamedTuple):
    evidence: ClaimEvidence
    query: str = ""
    documents: tuple[Document, ...] = ()
    note: str | None = None
    remarks: tuple[str, ...] = ()  # notes of the retriever


async def look_further(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Search for each doubtful claim: for evidence that supports it, and for evidence against it.

    The model writes the queries; new documents get the next numbers. A search that fails leaves a
    note, and so does a run without a retriever. Of a time budget, the searches get half of what a
    correction leaves.
    """
    context, meter = runtime.context, UsageMeter()
    [*_, last], doubted = attempts_of(state), to_look_for(state, context)
    chosen, notes = doubted[:_MOST_CLAIMS], list[str]()
    if (retriever := context.retriever) is None:
        found = [_Found(evidence, note=_NO_RETRIEVER) for evidence in chosen]
        notes.append(f"nothing was looked for further: {_NO_RETRIEVER}")
    else:
        seconds = spare_time(state, context, attempts_of(state)[:-1])
        half = None if seconds is None else seconds / 2
        with deadline(half, context.settings.budget_seconds):
            search = partial(_searched, retriever, state, context.reader(meter))
            searched = await at_once(partial(search, evidence) for evidence in chosen)
        found = [one for results in searched for one in results]
        if left := len(doubted) - len(chosen):
            most = f"{_MOST_CLAIMS} claims a round are"
            notes.append(f"looking further: {left} more claims are in doubt, and {most} looked for")
    known = documents_of(state)
    searches, documents = _sorted_in(found, known, last.round)
    for one in found:
        if one.note and one.note != _NO_RETRIEVER:
            notes.append(f"looking further for “{one.evidence.claim.text}”: {one.note}")
        notes += one.remarks
    runtime.stream_writer(
        {
            "event": "look_further",
            "round": last.round,
            "searches": [search.to_json() for search in searches],
            "documents": [
                {"number": d.number, "title": d.title, "url": d.url}
                for d in documents[len(known) :]
            ],
        }
    )
    marked = await asyncio.to_thread(mark_duplicates, documents)
    return {
        "documents": [document.to_json() for document in marked],
        "searches": [*state.get("searches", []), *(search.to_json() for search in searches)],
        "notes": [*state["notes"], *(n for n in dict.fromkeys(notes) if n not in state["notes"])],
        "usage": spent(state, meter.usage),
    }


async def _searched(
    retriever: BaseRetriever, state: RagState, reader: Reader, evidence: ClaimEvidence
) -> list[_Found]:
    claim, note, found = evidence.claim.text, None, list[_Found]()
    fields = {"question": material(state["question"]), "claim": material(claim)}
    try:
        prompt = reader.prompts.render("look_further", **fields)
        queries = await reader.ask(prompt, read_queries, _QUERY_TOKENS)
    except BudgetError as stop:
        return [_Found(evidence, note=str(stop))]
    except ProviderError as failure:
        queries, note = (claim,), f"the claim itself was searched for, without queries: {failure}"
    for query in queries:
        try:
            documents, remarks = await find_documents(retriever, query)
            found.append(_Found(evidence, query, documents, note, tuple(remarks)))
        except (ConfigurationError, GraphBubbleUp):
            raise
        except Exception as error:  # noqa: BLE001 - a retriever may raise anything
            said = "; ".join(filter(None, [note, brief_reason(error)]))
            found.append(_Found(evidence, query, note=said))
    return found


def _sorted_in(
    found: Iterable[_Found], known: tuple[Document, ...], number: int
) -> tuple[list[FurtherSearch], list[Document]]:
    """Sort results, in their order, into new documents, known ones, and those over the limit."""
    documents, searches = list(known), list[FurtherSearch]()
    for one in found:
        new, old, left_out = list[int](), list[int](), list[str]()
        for document in one.documents:
            same = next((d.number for d in documents if _is_same(d, document)), None)
            if same is not None:
                old.append(same)
            elif len(new) == _MOST_NEW:
                left_out.append(_name(document))
            else:
                new.append(max((d.number for d in documents), default=0) + 1)
                update = {"number": new[-1], "duplicate_of": None}
                documents.append(document.model_copy(update=update))
        searches.append(
            FurtherSearch(
                round=number,
                claim=one.evidence.claim.text,
                supports=one.evidence.supports,
                contradicts=one.evidence.contradicts,
                query=one.query,
                found=tuple(new),
                known=tuple(sorted({*old})),
                left_out=tuple(left_out),
                note=one.note,
            )
        )
    return searches, documents


def _is_same(one: Document, other: Document) -> bool:
    """Whether two documents are one source: the same text, or other parts of one page."""
    if one.url and other.url:
        a_page = one.url.startswith(("http://", "https://")) or "passage" in other.metadata
        return one.url == other.url and (a_page or one.text == other.text)
    return one.text.split() == other.text.split()
