"""The strategies of "DRAGged into Conflicts" (section 5.1), all with inline citations."""

from typing import Any, NamedTuple

from conflictscore.benchmarks.harness.conflict_types import (
    BEHAVIOURS,
    CLASSIFYING,
    ConflictType,
    all_behaviours,
    inline_citations,
    read_type,
    read_typed_answer,
    typed_fields,
)
from conflictscore.benchmarks.harness.methods.asker import Asker, graph_input
from conflictscore.benchmarks.harness.methods.method import Asked, BenchmarkMethod
from conflictscore.errors import ContextWindowError, InputError, ProviderError
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.answer_replies import read_text
from conflictscore.nodes.answerer import REPLY_TOKENS, ask_with_documents
from conflictscore.records import Answer

_TYPE_TOKENS = 160


class ToldType(NamedTuple):
    """The type that a model named, or why it named none."""

    kind: ConflictType | None
    error: str | None
    """Set exactly where there is no type."""
    notes: list[str]
    """Notes for the reader of the answer."""


async def tell_type(asker: Asker, asked: Asked, meter: UsageMeter) -> ToldType:
    """Ask for the conflict type of a question and its documents (task 1 of that paper).

    A model that fails names no type, and the question goes on without one.
    """
    prompts = asker.context.prompts
    try:
        (kind, _), notes = await ask_with_documents(
            graph_input(asked.question, asked.documents),
            asker.context,
            meter,
            "classify_conflict",
            {"types": prompts.render("conflict_types")},
            read_type,
            reply_tokens=_TYPE_TOKENS,
            step="tell the type of the conflict",
        )
    except (ProviderError, ContextWindowError) as error:
        note = f"the run continued without a conflict type, because there was none: {error}"
        return ToldType(kind=None, error=str(error), notes=[note])
    return ToldType(kind=kind, error=None, notes=notes)


async def _pipeline(asker: Asker, asked: Asked) -> dict[str, Any]:
    meter = UsageMeter()
    told = await tell_type(asker, asked, meter)
    return await _answer_by(told, asker, asked, meter)


async def _oracle(asker: Asker, asked: Asked) -> dict[str, Any]:
    if asked.question.conflict_type is None:
        raise InputError("oracle needs the conflict type that people told, and there is none")
    told = ToldType(asked.question.conflict_type, error=None, notes=[])
    return await _answer_by(told, asker, asked, UsageMeter())


async def _answer_by(
    told: ToldType, asker: Asker, asked: Asked, meter: UsageMeter
) -> dict[str, Any]:
    """Answer as the type asks, or with no word about conflicts where there is none."""
    fields = typed_fields(told.kind, asker.context.prompts)
    answer, notes = await ask_with_documents(
        graph_input(asked.question, asked.documents),
        asker.context,
        meter,
        "cited_typed" if fields else "cited_rag",
        fields,
        read_text,
        reply_tokens=REPLY_TOKENS,
        step="answer",
    )
    return _recorded(answer, asked, told._replace(notes=[*told.notes, *notes]))


async def _taxonomy_aware(asker: Asker, asked: Asked) -> dict[str, Any]:
    """Name the type and answer as it asks, in one call."""
    prompts, meter = asker.context.prompts, UsageMeter()
    ((kind, _), answer), notes = await ask_with_documents(
        graph_input(asked.question, asked.documents),
        asker.context,
        meter,
        "cited_taxonomy_aware",
        {"types": prompts.render("conflict_types"), "rules": all_behaviours(prompts)},
        read_typed_answer,
        reply_tokens=REPLY_TOKENS + _TYPE_TOKENS,
        step="answer",
    )
    return _recorded(answer, asked, ToldType(kind, error=None, notes=notes))


def _recorded(answer: str, asked: Asked, told: ToldType) -> dict[str, Any]:
    return {
        "answer": Answer(text=answer).to_json(),
        "notes": told.notes,
        "conflict_type": told.kind.value if told.kind else None,
        "classification_error": told.error,
        "cited": list(inline_citations(answer, [d.number for d in asked.documents])),
    }


PIPELINE = BenchmarkMethod(
    name="pipeline",
    ask=_pipeline,
    forms=("free-form",),
    templates=(*CLASSIFYING, "cited_typed", "cited_rag"),
    tells_type=True,
)

TAXONOMY_AWARE = BenchmarkMethod(
    name="taxonomy-aware",
    ask=_taxonomy_aware,
    forms=("free-form",),
    templates=("conflict_types", *BEHAVIOURS, "cited_taxonomy_aware"),
    tells_type=True,
)

ORACLE = BenchmarkMethod(
    name="oracle",
    ask=_oracle,
    forms=("free-form",),
    templates=(*BEHAVIOURS, "cited_typed"),
    caveat="oracle is told the type of the conflict that people gave: an upper bound, and nothing"
    " that can be used where nobody knows it.",
)
