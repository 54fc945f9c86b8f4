"""The answering strategies of "DRAGged into Conflicts" (section 5.1), with inline citations.

Each call needs a meter, but these meters are not read, since the run's ledger counts the calls.

Limits without a stated reason were chosen by hand.
"""

import re
from typing import Any

from conflictscore.answering.answer_replies import read_text
from conflictscore.answering.answerer import REPLY_TOKENS, ask_with_documents
from conflictscore.benchmarks.harness.conflict_types import (
    ConflictType,
    all_behaviours,
    typed_fields,
)
from conflictscore.benchmarks.harness.methods.asker import Asker, graph_input
from conflictscore.benchmarks.harness.methods.method import Asked, BenchmarkMethod
from conflictscore.benchmarks.judging import MARKUP, read_choice
from conflictscore.errors import ContextWindowError, InputError, ProviderError
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Answer

_TYPE_TOKENS = 160
"""The maximum number of tokens for naming a conflict type and the reason for it.

The prompt asks for one short sentence and then the type. If a longer reason reaches the limit, the
type is missing and the model is asked again. If the type is missing again, ``pipeline`` answers
without a type.
"""
# The line "ANSWER:" of a reply, which models like to print in bold.
_ANSWER = re.compile(rf"^{MARKUP}ANSWER[*_]*:[*_]*", re.IGNORECASE | re.MULTILINE)


def read_type(reply: str) -> ConflictType:
    """Read the conflict type on the line ``TYPE: …``; the reason may be missing."""
    return read_choice(reply, "TYPE", ConflictType, note="REASON")[0]


def read_typed_answer(reply: str) -> tuple[ConflictType, str]:
    """Read the conflict type on the line ``TYPE: …``, and the answer that follows ``ANSWER:``.

    Raises:
        ValueError: A part is missing; the message says which, so that the model can be asked again.
    """
    if (answer := _ANSWER.search(reply)) is None:
        raise ValueError('the line "ANSWER:" was missing')
    return read_type(reply[: answer.start()]), read_text(reply[answer.end() :])


async def _pipeline(asker: Asker, request: Asked) -> dict[str, Any]:
    """Ask for the conflict type (the paper's task 1), then for an answer that suits the type.

    If the model fails to name a type, the answer is requested without one.
    """
    prompts, error = asker.context.prompts, None
    try:
        kind, notes = await ask_with_documents(
            graph_input(request.question, request.documents),
            asker.context,
            UsageMeter(),
            "classify_conflict",
            {"types": prompts.render("conflict_types")},
            read_type,
            reply_tokens=_TYPE_TOKENS,
            step="name the type of the conflict",
        )
    except (ProviderError, ContextWindowError) as failure:
        error = str(failure)
        note = f"the run continued without a conflict type, because naming it failed: {error}"
        return await _answer_by(None, asker, request, [note], error)
    return await _answer_by(kind, asker, request, notes)


async def _oracle(asker: Asker, request: Asked) -> dict[str, Any]:
    if request.question.conflict_type is None:
        raise InputError("oracle needs an annotated conflict type, but the question has none")
    return await _answer_by(request.question.conflict_type, asker, request, [])


async def _answer_by(
    kind: ConflictType | None,
    asker: Asker,
    request: Asked,
    notes: list[str],
    error: str | None = None,
) -> dict[str, Any]:
    """Answer as the conflict type requires.

    If there is no type, the prompt does not mention conflicts.
    """
    fields = typed_fields(kind, asker.context.prompts)
    answer, cut = await ask_with_documents(
        graph_input(request.question, request.documents),
        asker.context,
        UsageMeter(),
        "cited_typed" if fields else "cited_rag",
        fields,
        read_text,
        reply_tokens=REPLY_TOKENS,
        step="answer",
    )
    return {**_recorded(answer, kind, [*notes, *cut]), "classification_error": error}


async def _taxonomy_aware(asker: Asker, request: Asked) -> dict[str, Any]:
    """Have the model name the conflict type and answer accordingly, in one call."""
    prompts = asker.context.prompts
    (kind, answer), notes = await ask_with_documents(
        graph_input(request.question, request.documents),
        asker.context,
        UsageMeter(),
        "cited_taxonomy_aware",
        {"types": prompts.render("conflict_types"), "rules": all_behaviours(prompts)},
        read_typed_answer,
        reply_tokens=REPLY_TOKENS + _TYPE_TOKENS,
        step="answer",
    )
    return _recorded(answer, kind, notes)


def _recorded(answer: str, kind: ConflictType | None, notes: list[str]) -> dict[str, Any]:
    return {"answer": Answer(text=answer).to_json(), "notes": notes, "conflict_type": kind}


PIPELINE = BenchmarkMethod(name="pipeline", ask=_pipeline, forms=("free-form",), tells_type=True)

TAXONOMY_AWARE = BenchmarkMethod(
    name="taxonomy-aware", ask=_taxonomy_aware, forms=("free-form",), tells_type=True
)

ORACLE = BenchmarkMethod(
    name="oracle",
    ask=_oracle,
    forms=("free-form",),
    caveat="oracle is given the conflict type that annotators assigned. The figures of oracle "
    "are an upper bound, since the type is unknown in practice.",
)
