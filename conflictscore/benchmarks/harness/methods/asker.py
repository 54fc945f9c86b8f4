"""Calls a run's models on behalf of methods: to answer, to run graphs, and to score answers."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from conflictscore.answering.answer_replies import read_text
from conflictscore.answering.answerer import REPLY_TOKENS, ask_with_documents, ending_notes
from conflictscore.benchmarks.harness.records import Question
from conflictscore.graph.self_correction import (
    AnsweringGraph,
    build_answering_graph,
    build_scoring_graph,
)
from conflictscore.loop.state import RagInput, RunContext
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import material_line
from conflictscore.records import Answer, Attempt, ConflictReport, Document, Method, Usage


@dataclass(frozen=True)
class Asker:
    """Calls the models of a run, and measures their usage."""

    context: RunContext
    """The run's models, labeler and prompts.

    Each call sets a method, so the context's own method is not used.
    """
    usage: Callable[[], AbstractContextManager[Mapping[str, Usage]]]
    """A function that opens a context. The context collects the usage of the calls made inside it,
    by name of the model."""
    reply_tokens: int | None = None
    """The maximum number of tokens in a free-form answer, if the benchmark sets one."""
    _graphs: dict[Any, Any] = field(default_factory=dict)
    """The compiled graphs, by the function that builds them, since compiling one takes time."""

    async def run(
        self,
        build: Callable[[RunContext], Any],
        start: Mapping[str, Any],
        on_answer: Callable[[int], None] = lambda number: None,
    ) -> dict[str, Any]:
        """Run a graph, and return its final state.

        ``on_answer`` is called with the number of the round after each answer.
        """
        if build not in self._graphs:
            self._graphs[build] = build(self.context)
        state: dict[str, Any] = {}
        async for kind, update in self._graphs[build].astream(
            start, stream_mode=["custom", "values"]
        ):
            if kind == "values":
                state = update
            elif update.get("event") == "answer":
                on_answer(update["round"])
        return state

    async def answer_from(
        self, question: Question, documents: Sequence[Document], method: Method = Method.RAG
    ) -> dict[str, Any]:
        """Answer from these documents, with the prompt of the given method."""
        # The answering graph has its own maximum length, so a different maximum needs a direct
        # call. The maximum applies to free-form answers only; chosen options have their own prompt.
        if self.reply_tokens is not None and method is Method.RAG and not question.options:
            return await self.write("free_form_rag", question, documents)
        state = await self.run(_answering(method), graph_input(question, documents))
        notes = [*state["notes"], *ending_notes([state["draft"].get("early_ending")], "answer")]
        return {"answer": state["draft"], "notes": notes}

    async def write(
        self, template: str, question: Question, documents: Sequence[Document]
    ) -> dict[str, Any]:
        """Write a free-form answer with the given template and the benchmark's maximum length."""
        text, notes = await ask_with_documents(
            graph_input(question, documents),
            self.context,
            UsageMeter(),  # required, but not read: the run's ledger counts the calls
            template,
            {"question": material_line(question.question)},
            read_text,
            reply_tokens=self.reply_tokens or REPLY_TOKENS,
            step="answer",
        )
        return {"answer": Answer(text=text).to_json(), "notes": notes}

    async def score(self, answer: str, documents: Sequence[Document]) -> ConflictReport:
        """Compute the ConflictScore of an existing answer against these documents."""
        start = {"answer": answer, "documents": [d.to_json() for d in documents]}
        state = await self.run(build_scoring_graph, start)
        report = Attempt.model_validate(state["attempts"][-1]).report
        if report is None:  # the graph always scores; None would look like an answer without claims
            raise ValueError("the scoring graph gave no score")
        return report


def graph_input(question: Question, documents: Sequence[Document]) -> RagInput:
    """Return the input for a graph."""
    return {
        "question": question.question,
        "options": list(question.options),
        "documents": [document.to_json() for document in documents],
    }


@cache  # the function is a key in ``Asker._graphs``; a new one would be compiled at every call
def _answering(method: Method) -> Callable[[RunContext], AnsweringGraph]:
    return lambda context: build_answering_graph(replace(context, method=method))
