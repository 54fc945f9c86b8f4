"""Defines the methods that use WikiContradict's prompt templates 1 to 3 and 5.1 to 5.4."""

from collections.abc import Callable, Sequence
from typing import Any

from conflictscore.answering.answer_replies import read_text
from conflictscore.answering.answerer import REPLY_TOKENS, ending_notes
from conflictscore.benchmarks.harness.methods.asker import Asker
from conflictscore.benchmarks.harness.methods.method import Asked, BenchmarkMethod
from conflictscore.benchmarks.wikicontradict.data import AGREEING
from conflictscore.errors import InputError
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import material_line
from conflictscore.records import Answer, Document

_UNAIDED = "wikicontradict_no_passage"
"""The template that contains only the question."""
_BOTH_VIEWS, _CONFLICT_ASKED = "wikicontradict_both_views", "wikicontradict_conflict_asked"


async def _from_none(asker: Asker, request: Asked) -> dict[str, Any]:
    # the meter is required, but not read: the run's ledger counts the calls
    meter, prompts, endings = UsageMeter(), asker.context.prompts, list[str]()
    text = await asker.context.generator.ask(
        prompts.render(_UNAIDED, question=material_line(request.question.question)),
        read_text,
        prompts=prompts,
        meter=meter,
        max_tokens=REPLY_TOKENS,
        on_early_ending=endings.append,
    )
    notes = ending_notes(endings, "answer")
    return {"answer": Answer(text=text).to_json(), "notes": notes}


async def _from_first(asker: Asker, request: Asked) -> dict[str, Any]:
    return await asker.answer_from(request.question, request.documents[:1])


async def _from_second(asker: Asker, request: Asked) -> dict[str, Any]:
    """Answer with the prompt of ``rag`` from the second document alone, which is numbered 1."""
    if len(request.documents) < 2:
        raise InputError("second-document needs a second document, but there is none")
    return await asker.answer_from(request.question, request.documents[1:2])


def _agreeing(request: Asked) -> list[Document]:
    """Return the first document and a second wording of it, which replaces the second document."""
    first = request.documents[0]
    again = first.metadata.get(AGREEING)
    if again is None:
        raise InputError(
            "both passages are the same text, which contradicts itself, so there is no agreeing"
            " passage"
        )
    return _numbered([first, Document(number=2, text=str(again))])


def _numbered(documents: Sequence[Document]) -> list[Document]:
    """Number the documents from 1; the passages of WikiContradict have no titles to keep."""
    return [Document(number=n, text=document.text) for n, document in enumerate(documents, start=1)]


def _asking(
    name: str, template: str, documents_of: Callable[[Asked], Sequence[Document]]
) -> BenchmarkMethod:
    """Return a method that asks with a template, about the documents that a function chooses."""

    async def ask(asker: Asker, request: Asked) -> dict[str, Any]:
        return await asker.write(template, request.question, documents_of(request))

    return BenchmarkMethod(
        name=name,
        ask=ask,
        forms=("free-form",),
        own_judge=name != "swapped-order",  # only swapped-order is rated in the usual way
    )


NO_DOCUMENTS = BenchmarkMethod(name="no-documents", ask=_from_none, forms=("free-form",))

FIRST_DOCUMENT = BenchmarkMethod(name="first-document", ask=_from_first, forms=("free-form",))

SECOND_DOCUMENT = BenchmarkMethod(name="second-document", ask=_from_second, forms=("free-form",))

SWAPPED_ORDER = _asking("swapped-order", _BOTH_VIEWS, lambda a: _numbered(a.documents[::-1]))
"""A method that uses template 5 but shows the second passage first (template 5.1)."""

ASKED_CONFLICT = _asking("asked-conflict", _CONFLICT_ASKED, lambda a: a.documents)
"""A method that asks whether the passages conflict on the question (template 5.2)."""

AGREEING_PAIR = _asking("agreeing-pair", _BOTH_VIEWS, _agreeing)
"""A method that uses template 5 but shows two passages that agree (template 5.3)."""

ASKED_AGREEING = _asking("asked-agreeing", _CONFLICT_ASKED, _agreeing)
"""A method that asks whether two agreeing passages conflict on the question (template 5.4)."""
