"""Answers from fewer documents than there are: WikiContradict's templates 1 to 3."""

from typing import Any

from conflictscore.benchmarks.harness.methods.asker import Asker
from conflictscore.benchmarks.harness.methods.method import Asked, BenchmarkMethod
from conflictscore.errors import InputError
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.answerer import REPLY_TOKENS
from conflictscore.nodes.replies import read_text
from conflictscore.prompts import material_line
from conflictscore.records import Answer

__all__ = ["FIRST_DOCUMENT", "NO_DOCUMENTS", "SECOND_DOCUMENT"]

_UNAIDED = "wikicontradict_no_passage"
"""The only template with nothing but the question."""


async def _from_none(asker: Asker, asked: Asked) -> dict[str, Any]:
    """What the model says from memory."""
    meter, prompts = UsageMeter(), asker.context.prompts
    text = await asker.context.generator.ask(
        prompts.render(_UNAIDED, question=material_line(asked.question.question)),
        read_text,
        prompts=prompts,
        meter=meter,
        max_tokens=REPLY_TOKENS,
    )
    asker.kept(meter.usage.cached_calls)
    return {"answer": Answer(text=text).to_json(), "notes": []}


async def _from_first(asker: Asker, asked: Asked) -> dict[str, Any]:
    """The first answer's prompt with the first document alone."""
    return await asker.answer_from(asked.question, asked.documents[:1])


async def _from_second(asker: Asker, asked: Asked) -> dict[str, Any]:
    """The first answer's prompt with the second document alone, which it numbers 1."""
    if len(asked.documents) < 2:
        raise InputError("second-document needs a second document, and there is none")
    return await asker.answer_from(asked.question, asked.documents[1:2])


NO_DOCUMENTS = BenchmarkMethod(
    name="no-documents", ask=_from_none, forms=("free-form",), templates=(_UNAIDED,)
)

FIRST_DOCUMENT = BenchmarkMethod(name="first-document", ask=_from_first, forms=("free-form",))

SECOND_DOCUMENT = BenchmarkMethod(name="second-document", ask=_from_second, forms=("free-form",))
