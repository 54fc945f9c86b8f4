"""look_further: query the retriever about doubtful claims before the answer is corrected."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from langchain_core.retrievers import BaseRetriever
from langgraph.errors import GraphBubbleUp

from conflictscore.answering.answer_replies import read_queries
from conflictscore.errors import BudgetError, ConfigurationError, ProviderError, brief_reason
from conflictscore.loop.rounds import to_look_for
from conflictscore.loop.searching import find_documents, source_name
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
from conflictscore.retrieval.duplicates import mark_in_thread
from conflictscore.threads import at_once, deadline

_MOST_CLAIMS = 3
"""Maximum number of claims to search for in a round, with two queries each. The maximum limits the
cost: each claim needs a model call for its queries, and new documents must be labelled for all
claims. The remaining claims are named in a note. The number was chosen, not measured.
"""
_MOST_NEW = 4
"""Maximum number of new documents from one search. The later results of a search are less relevant,
and each new document adds a pair to label for every claim. A round can thus add up to 24 documents,
which the record of each search lists. The number was chosen, not measured."""
# Room for two short queries; a longer reply is cut off and asked for once more. The number was
# chosen, not measured.
_QUERY_TOKENS = 160
_NO_RETRIEVER = "there is no retriever"


class _Search(NamedTuple):
    """One search for a doubtful claim, with its results."""

    evidence: ClaimEvidence
    query: str = ""  # the query is empty if no search was made
    documents: tuple[Document, ...] = ()
    note: str | None = None
    remarks: tuple[str, ...] = ()  # the retriever's notes


async def look_further(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Search for evidence for and against each doubtful claim.

    The model writes the queries. New documents get the next free numbers. If a search fails or
    there is no retriever, the run gets a note. If there is a time budget, the time that a
    correction would need is reserved, and the searches may take half of the remaining time.
    """
    context, meter = runtime.context, UsageMeter()
    [*_, last], doubtful = attempts_of(state), to_look_for(state, context)
    first_few = doubtful[:_MOST_CLAIMS]
    if context.retriever is None:
        searches = [_Search(evidence, note=_NO_RETRIEVER) for evidence in first_few]
        notes = [f"no further search was made: {_NO_RETRIEVER}"]
    else:
        # the last answer will be scored again, so this is not a new round
        seconds = spare_time(state, context, attempts_of(state)[:-1])
        # the other half is for labelling the new documents
        half = None if seconds is None else seconds / 2
        with deadline(half, context.settings.budget_seconds):
            search = partial(_searches_for, context.retriever, state, context.reader(meter))
            by_claim = await at_once(partial(search, evidence) for evidence in first_few)
        searches = [each for searches_of_claim in by_claim for each in searches_of_claim]
        notes = _notes_on(searches, passed_over=len(doubtful) - len(first_few))
    before = documents_of(state)
    records, documents = _sorted_in(searches, before, last.round)
    runtime.stream_writer(
        {
            "event": "look_further",
            "round": last.round,
            "searches": [search.to_json() for search in records],
            "documents": [
                {"number": d.number, "title": d.title, "url": d.url}
                for d in documents[len(before) :]
            ],
        }
    )
    marked_documents = await mark_in_thread(documents)
    return {
        "documents": [document.to_json() for document in marked_documents],
        "searches": [*state.get("searches", []), *(search.to_json() for search in records)],
        "notes": [*state["notes"], *(n for n in dict.fromkeys(notes) if n not in state["notes"])],
        "usage": spent(state, meter.usage),
    }


def _notes_on(searches: Sequence[_Search], *, passed_over: int) -> list[str]:
    """Return notes for the run: claims that were not searched for, and failed searches."""
    notes = []
    if passed_over:
        most = f"a round searches for at most {_MOST_CLAIMS} claims"
        claims = "claim was" if passed_over == 1 else "claims were"
        notes.append(f"{passed_over} doubtful {claims} not searched for, because {most}")
    for search in searches:
        if search.note:
            notes.append(f"further search for “{search.evidence.claim.text}”: {search.note}")
        notes += search.remarks
    return notes


async def _searches_for(
    retriever: BaseRetriever, state: RagState, reader: Reader, evidence: ClaimEvidence
) -> list[_Search]:
    """Search for one claim; if the model writes no queries, the claim itself is the query.

    A failed search has no documents, and its note gives the reason. A configuration error affects
    all claims, so it ends the run.
    """
    claim, note, searches = evidence.claim.text, None, list[_Search]()
    fields = {"question": material(state["question"]), "claim": material(claim)}
    try:
        prompt = reader.prompts.render("look_further", **fields)
        queries = await reader.ask(prompt, read_queries, _QUERY_TOKENS)
    except BudgetError as stop:
        return [_Search(evidence, note=str(stop))]
    except ProviderError as failure:
        queries = (claim,)
        note = f"the claim itself was the query, since no query could be written: {failure}"
    for query in queries:
        try:
            documents, remarks = await find_documents(retriever, query)
            searches.append(_Search(evidence, query, documents, note, tuple(remarks)))
        except (ConfigurationError, GraphBubbleUp):  # the second is how LangGraph interrupts a run
            raise
        except Exception as error:  # noqa: BLE001 - a retriever may raise anything
            why = "; ".join(filter(None, [note, brief_reason(error)]))
            searches.append(_Search(evidence, query, note=why))
    return searches


def _sorted_in(
    searches: Iterable[_Search], before: Sequence[Document], number: int
) -> tuple[list[FurtherSearch], list[Document]]:
    """Sort the retrieved documents into new, known and surplus documents.

    Returns:
        A record of each search, and all documents of the run including the new ones.
    """
    documents, records = list(before), list[FurtherSearch]()
    for search in searches:
        new, old, left_out = list[int](), list[int](), list[str]()
        for document in search.documents:
            same = next((d.number for d in documents if _is_same(d, document)), None)
            if same is not None:
                old.append(same)
            elif len(new) == _MOST_NEW:
                left_out.append(source_name(document))
            else:
                new.append(max((d.number for d in documents), default=0) + 1)
                update = {"number": new[-1], "duplicate_of": None}
                documents.append(document.model_copy(update=update))
        records.append(
            FurtherSearch(
                round=number,
                claim=search.evidence.claim.text,
                supports=search.evidence.supports,
                contradicts=search.evidence.contradicts,
                query=search.query,
                found=tuple(new),
                known=tuple(sorted({*old})),
                left_out=tuple(left_out),
                note=search.note,
            )
        )
    return records, documents


def _is_same(first: Document, second: Document) -> bool:
    """Return whether two documents have the same text or are parts of the same page."""
    if first.url and second.url:
        # Several documents of a local corpus, such as the rows of a table, may share their file's
        # path. A part of a long text has "passage" in its metadata, so it counts as a page.
        a_page = first.url.startswith(("http://", "https://")) or "passage" in second.metadata
        return first.url == second.url and (a_page or first.text == second.text)
    return first.text.split() == second.text.split()
