"""The steps of one question: what each asks, and the plain value that is recorded of it.

The first answer is asked for once. ``rag`` is that answer; ``regenerated-rag`` and
``guarded-rag`` are what the loop makes of it.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from typing import Any, Protocol

from conflictscore.benchmarks.harness.records import BenchmarkMethod, Question
from conflictscore.benchmarks.harness.templates import REPORTS, UNAIDED
from conflictscore.errors import InputError
from conflictscore.graph.answering import AnsweringGraph, build_answering_graph
from conflictscore.graph.scoring import ScoringGraph, build_scoring_graph
from conflictscore.graph.self_correction import build_self_correction_graph
from conflictscore.graph.strategies import (
    OracleInput,
    Strategy,
    StrategyInput,
    build_strategy_graph,
)
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.asking import ask_with_documents
from conflictscore.nodes.classify import tell_type
from conflictscore.nodes.generate import REPLY_TOKENS
from conflictscore.nodes.regenerate import ask_again
from conflictscore.nodes.replies import read_text
from conflictscore.nodes.retrieve import find_documents, given_documents
from conflictscore.nodes.state import RagInput, RagState, RunContext
from conflictscore.prompts import material_line
from conflictscore.records import (
    Answer,
    Attempt,
    ClaimEvidence,
    ConflictReport,
    Document,
    EvidenceLabel,
    Label,
    Method,
    Usage,
)
from conflictscore.retrieval.duplicates import mark_duplicates

__all__ = ["Steps", "UsageScope"]


_FIRST = "free_form_rag"
"""What asks for a first answer in free form; of a report, its own words stand in for it."""


class UsageScope(Protocol):
    """Opens a scope that says what the calls inside it cost, by the model's name."""

    def __call__(self) -> AbstractContextManager[Mapping[str, Usage]]:
        """Open one."""


class Steps:
    """What is asked for one question, step by step; every value is plain JSON.

    All steps raise :class:`~conflictscore.errors.ConfigurationError` for what ends a run, and
    other errors of :mod:`conflictscore.errors` for what fails this step only.
    """

    def __init__(
        self,
        context: RunContext,
        resampler: LanguageModel,
        counting: UsageScope,
        kept: Callable[[int], None] = lambda calls: None,
        reply_tokens: int | None = None,
    ) -> None:
        """Build the graphs.

        Args:
            context: The collaborators; its method is not read.
            resampler: The answering model as it is asked for a second sample.
            counting: Opens a scope that says, once it is closed, what a loop's first answer cost.
            kept: Is told how many calls were answered from a cache, by every step.
            reply_tokens: As of :class:`~conflictscore.benchmarks.harness.benchmark.Benchmark`.
        """
        self.context = context
        self._resampler = resampler
        self._reply_tokens = reply_tokens
        self._kept = kept
        self._counting = counting
        rag = replace(context, method=Method.RAG)
        self._first = build_answering_graph(rag)
        self._control = build_answering_graph(replace(context, method=Method.CONTROL_RAG))
        self._second_sample = build_answering_graph(replace(rag, generator=resampler))
        self._loop = build_self_correction_graph(replace(context, method=Method.REGENERATED_RAG))
        self._strategies = {
            strategy: build_strategy_graph(context, strategy)
            for strategy in (Strategy.PIPELINE, Strategy.TAXONOMY_AWARE, Strategy.ORACLE)
        }

    async def documents(self, question: Question) -> dict[str, Any]:
        """Find the documents, or take the question's own, and mark near-duplicates."""
        if question.documents:
            given = given_documents({"documents": list(question.documents)})
            documents, notes = mark_duplicates(given), list[str]()
        elif self.context.retriever is None:
            raise ValueError("a question without documents needs a retriever")
        else:
            documents, notes = await find_documents(self.context.retriever, question.question)
        return {"documents": _plain(documents), "notes": notes}

    async def loop(self, question: Question, documents: Sequence[Document]) -> dict[str, Any]:
        """The first answer, its score and, where a claim has evidence on both sides, the next."""
        with self._counting() as first_usage:
            first = await self._answer_first(question, documents)
        state = await self._loop.ainvoke(
            {**_input(question, documents), "draft_answer": first["answer"]["text"]}
        )
        self._kept(state["usage"]["cached_calls"])
        return {
            "attempts": state["attempts"],
            "reason": state["reason"],
            "notes": [*first["notes"], *state["notes"]],
            "regeneration_error": state.get("regeneration_error"),
            "first_usage": {name: usage.to_json() for name, usage in first_usage.items()},
        }

    async def control_rag(
        self, question: Question, documents: Sequence[Document]
    ) -> dict[str, Any]:
        """One answer, told to watch for conflicts (Tables 12 and 15)."""
        return await self._answer(self._control, question, documents)

    async def resample(self, question: Question, documents: Sequence[Document]) -> dict[str, Any]:
        """The first answer's prompt, asked once more."""
        if self._reply_tokens is not None:
            return await self._write(_FIRST, question, documents, by=self._resampler)
        return await self._answer(self._second_sample, question, documents)

    async def placebo(
        self,
        question: Question,
        documents: Sequence[Document],
        before: Answer,
        claim: ClaimEvidence,
        donor: Question,
        donated: Sequence[Document],
    ) -> dict[str, Any]:
        """The regeneration prompt with another question's passages as the evidence.

        The claim, the numbers of the documents on each side and the documents to read stay; only
        what is quoted of both sides is the donor's.

        Args:
            question: What is asked.
            documents: Its documents.
            before: Its first answer.
            claim: The claim of that answer to reconsider, with its labels.
            donor: The question whose documents are quoted.
            donated: The donor's documents, at least one.
        """
        meter = UsageMeter()
        answer, notes = await ask_again(
            question.question,
            question.options,
            before,
            _without_snippets(claim),
            documents,
            model=self.context.generator,
            prompts=self.context.prompts,
            meter=meter,
            evidence_from=_renumbered(donated, [d.number for d in documents]),
        )
        self._kept(meter.usage.cached_calls)
        return {"answer": answer.to_json(), "donor": donor.id, "notes": notes}

    async def typed_rag(
        self,
        question: Question,
        documents: Sequence[Document],
        before: Answer,
        claim: ClaimEvidence,
    ) -> dict[str, Any]:
        """The first answer reconsidered, as the type of the conflict asks.

        Where no type can be had, it is reconsidered as the paper does, with a note.

        Args:
            question: What is asked.
            documents: Its documents.
            before: Its first answer.
            claim: The claim of that answer to reconsider, with its labels.
        """
        meter = UsageMeter()
        shown: RagState = {"question": question.question, "documents": _plain(documents)}
        told = await tell_type(shown, self.context, meter)
        answer, notes = await ask_again(
            question.question,
            question.options,
            before,
            claim,
            documents,
            model=self.context.generator,
            prompts=self.context.prompts,
            meter=meter,
            conflict_type=told.kind,
        )
        self._kept(meter.usage.cached_calls)
        return {
            "answer": answer.to_json(),
            "notes": [*told.notes, *notes],
            "conflict_type": told.kind.value if told.kind else None,
            "classification_error": told.error,
        }

    async def pipeline(self, question: Question, documents: Sequence[Document]) -> dict[str, Any]:
        """Tell the type of the conflict, then answer as it asks, with citations."""
        return await self._by_strategy(
            Strategy.PIPELINE, {"question": question.question, "documents": _plain(documents)}
        )

    async def taxonomy_aware(
        self, question: Question, documents: Sequence[Document]
    ) -> dict[str, Any]:
        """Tell the type and answer in one call, with citations."""
        return await self._by_strategy(
            Strategy.TAXONOMY_AWARE,
            {"question": question.question, "documents": _plain(documents)},
        )

    async def oracle(self, question: Question, documents: Sequence[Document]) -> dict[str, Any]:
        """Answer as the type that people told asks, with citations.

        Raises:
            InputError: Nobody told the type of this question.
        """
        if question.conflict_type is None:
            raise InputError("oracle needs the conflict type that people told, and there is none")
        given: OracleInput = {
            "question": question.question,
            "documents": _plain(documents),
            "conflict_type": question.conflict_type.value,
        }
        return await self._by_strategy(Strategy.ORACLE, given)

    async def no_documents(
        self, question: Question, documents: Sequence[Document]
    ) -> dict[str, Any]:
        """What the model says from memory; its documents are left out."""
        meter, prompts = UsageMeter(), self.context.prompts
        text = await self.context.generator.ask(
            prompts.render(UNAIDED, question=material_line(question.question)),
            read_text,
            prompts=prompts,
            meter=meter,
            max_tokens=REPLY_TOKENS,
        )
        self._kept(meter.usage.cached_calls)
        return {"answer": Answer(text=text).to_json(), "notes": []}

    async def first_document(
        self, question: Question, documents: Sequence[Document]
    ) -> dict[str, Any]:
        """The first answer's prompt with the first document alone."""
        return await self._answer(self._first, question, documents[:1])

    async def second_document(
        self, question: Question, documents: Sequence[Document]
    ) -> dict[str, Any]:
        """The first answer's prompt with the second document alone, which it numbers 1.

        Raises:
            InputError: There is no second document.
        """
        if len(documents) < 2:
            raise InputError("second-document needs a second document, and there is none")
        return await self._answer(self._first, question, documents[1:2])

    async def balanced(self, question: Question, documents: Sequence[Document]) -> dict[str, Any]:
        """A report with care, and with all sides (Table 9)."""
        return await self._write(REPORTS[BenchmarkMethod.BALANCED], question, documents)

    async def super_balanced(
        self, question: Question, documents: Sequence[Document]
    ) -> dict[str, Any]:
        """A report by rules: hedge, attribute, name every view (Table 10)."""
        return await self._write(REPORTS[BenchmarkMethod.SUPER_BALANCED], question, documents)

    async def score(self, answer: str, documents: Sequence[Document]) -> ConflictReport:
        """The ConflictScore of an answer that exists already, against these documents."""
        state = await self._scoring.ainvoke({"answer": answer, "documents": _plain(documents)})
        self._kept(state["usage"]["cached_calls"])
        report = Attempt.model_validate(state["attempts"][-1]).report
        if report is None:
            raise ValueError("the scoring graph gave no score")
        return report

    @cached_property
    def _scoring(self) -> ScoringGraph:
        return build_scoring_graph(self.context)

    async def _answer_first(
        self, question: Question, documents: Sequence[Document]
    ) -> dict[str, Any]:
        if self._reply_tokens is not None:
            return await self._write(_FIRST, question, documents)
        return await self._answer(self._first, question, documents)

    async def _write(
        self,
        template: str,
        question: Question,
        documents: Sequence[Document],
        *,
        by: LanguageModel | None = None,
    ) -> dict[str, Any]:
        """One answer in free form, as long as the benchmark has it, by a template of its own."""
        meter, context = UsageMeter(), self.context
        text, notes = await ask_with_documents(
            _input(question, documents),
            context if by is None else replace(context, generator=by),
            meter,
            template,
            {"question": material_line(question.question)},
            read_text,
            reply_tokens=self._reply_tokens or REPLY_TOKENS,
            step="answer",
        )
        self._kept(meter.usage.cached_calls)
        return {"answer": Answer(text=text).to_json(), "notes": notes}

    async def _by_strategy(self, strategy: Strategy, given: StrategyInput) -> dict[str, Any]:
        state = await self._strategies[strategy].ainvoke(given)
        self._kept(state["usage"]["cached_calls"])
        return {
            "answer": state["draft"],
            "notes": state["notes"],
            "conflict_type": state["conflict_type"],
            "classification_error": state.get("classification_error"),
            "cited": state["cited"],
        }

    async def _answer(
        self, graph: AnsweringGraph, question: Question, documents: Sequence[Document]
    ) -> dict[str, Any]:
        state = await graph.ainvoke(_input(question, documents))
        self._kept(state["usage"]["cached_calls"])
        return {"answer": state["draft"], "notes": state["notes"]}


def _input(question: Question, documents: Sequence[Document]) -> RagInput:
    return {
        "question": question.question,
        "options": list(question.options),
        "documents": _plain(documents),
    }


def _plain(documents: Sequence[Document]) -> list[dict[str, Any]]:
    return [document.to_json() for document in documents]


def _without_snippets(claim: ClaimEvidence) -> ClaimEvidence:
    labels = tuple(
        EvidenceLabel(claim=pair.claim, document=pair.document, label=pair.label)
        for pair in claim.labels
        if pair.label is not Label.UNLABELLED
    )
    return ClaimEvidence(claim=claim.claim, labels=labels)


def _renumbered(documents: Sequence[Document], numbers: Sequence[int]) -> list[Document]:
    """A document for every number, from the first again where there are too few."""
    return [
        documents[index % len(documents)].model_copy(update={"number": number})
        for index, number in enumerate(numbers)
    ]
