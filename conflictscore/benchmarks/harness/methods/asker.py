"""Asks a run's models for methods: answers, graphs and scores, with cached replies counted."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from conflictscore.benchmarks.harness.records import Question
from conflictscore.graph.self_correction import (
    AnsweringGraph,
    ScoringGraph,
    build_answering_graph,
    build_scoring_graph,
)
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.answer_replies import read_text
from conflictscore.nodes.answerer import REPLY_TOKENS, ask_with_documents
from conflictscore.nodes.retrieve import find_documents, given_documents
from conflictscore.nodes.state import RagInput, RunContext
from conflictscore.prompts import material_line
from conflictscore.records import (
    Answer,
    Attempt,
    ConflictReport,
    Document,
    Method,
    Usage,
)
from conflictscore.retrieval.duplicates import mark_duplicates

_FIRST = "free_form_rag"
"""Template of a first answer in free form; a report has its own wording."""


class Asker:
    """Asks the models of a run.

    Attributes:
        context: The collaborators; its method is not read.
        resampler: The answering model as it is asked for a second sample.
        usage: Opens a scope that says what the calls inside it cost, by the model's name.
        checked: Whether the loop's last answer is scored: where no figure needs it, as in the
            paper, it is not.
    """

    def __init__(
        self,
        context: RunContext,
        resampler: LanguageModel,
        usage: Callable[[], AbstractContextManager[Mapping[str, Usage]]],
        reply_tokens: int | None = None,
        *,
        checked: bool = True,
    ) -> None:
        self.context, self.resampler = context, resampler
        self.usage, self.checked = usage, checked
        self._reply_tokens = reply_tokens
        self._graphs: dict[Any, Any] = {}

    async def documents(self, question: Question) -> dict[str, Any]:
        """Find the documents, or take the question's own, and mark near-duplicates."""
        if question.documents:
            given = given_documents({"documents": list(question.documents)})
            alike = await asyncio.to_thread(mark_duplicates, given)
            documents, notes = alike, list[str]()
        elif self.context.retriever is None:
            raise ValueError("a question without documents needs a retriever")
        else:
            documents, notes = await find_documents(self.context.retriever, question.question)
        return {"documents": plain(documents), "notes": notes}

    async def run(
        self,
        build: Callable[["Asker"], Any],
        given: Mapping[str, Any],
        on_answer: Callable[[int], None] = lambda number: None,
    ) -> dict[str, Any]:
        """The final state of a graph."""
        if build not in self._graphs:
            self._graphs[build] = build(self)
        state: dict[str, Any] = {}
        async for kind, told in self._graphs[build].astream(
            given, stream_mode=["custom", "values"]
        ):
            if kind == "values":
                state = told
            elif told.get("event") == "answer":
                on_answer(told["round"])
        return state

    async def answer(
        self, build: Callable[["Asker"], Any], question: Question, documents: Sequence[Document]
    ) -> dict[str, Any]:
        """The answer of an answering graph; see :meth:`run`."""
        state = await self.run(build, graph_input(question, documents))
        return {"answer": state["draft"], "notes": state["notes"]}

    async def answer_first(
        self, question: Question, documents: Sequence[Document], *, resampled: bool = False
    ) -> dict[str, Any]:
        """An answer by the prompt of the loop's first answer, or a second sample of it."""
        if self._reply_tokens is not None:
            by = self.resampler if resampled else self.context.generator
            return await self.write(_FIRST, question, documents, by=by)
        if resampled:
            return await self.answer(_second_sample, question, documents)
        return await self.answer_from(question, documents)

    async def answer_from(
        self, question: Question, documents: Sequence[Document]
    ) -> dict[str, Any]:
        """A short answer from these documents, asked for with no word about conflicts."""
        return await self.answer(_plain_rag, question, documents)

    async def write(
        self,
        template: str,
        question: Question,
        documents: Sequence[Document],
        *,
        by: LanguageModel | None = None,
    ) -> dict[str, Any]:
        """One answer in free form, as long as the benchmark has it, by a template of its own."""
        meter = UsageMeter()
        text, notes = await ask_with_documents(
            graph_input(question, documents),
            replace(self.context, generator=by or self.context.generator),
            meter,
            template,
            {"question": material_line(question.question)},
            read_text,
            reply_tokens=self._reply_tokens or REPLY_TOKENS,
            step="answer",
        )
        return {"answer": Answer(text=text).to_json(), "notes": notes}

    async def score(self, answer: str, documents: Sequence[Document]) -> ConflictReport:
        """The ConflictScore of an answer that exists already, against these documents."""
        state = await self.run(_scoring, {"answer": answer, "documents": plain(documents)})
        report = Attempt.model_validate(state["attempts"][-1]).report
        if report is None:
            raise ValueError("the scoring graph gave no score")
        return report


def graph_input(question: Question, documents: Sequence[Document]) -> RagInput:
    """The input of a graph."""
    return {
        "question": question.question,
        "options": list(question.options),
        "documents": plain(documents),
    }


def plain(documents: Sequence[Document]) -> list[dict[str, Any]]:
    """Documents as plain JSON."""
    return [document.to_json() for document in documents]


def _plain_rag(asker: Asker) -> AnsweringGraph:
    return build_answering_graph(replace(asker.context, method=Method.RAG))


def _second_sample(asker: Asker) -> AnsweringGraph:
    context = replace(asker.context, method=Method.RAG, generator=asker.resampler)
    return build_answering_graph(context)


def _scoring(asker: Asker) -> ScoringGraph:
    return build_scoring_graph(asker.context)
