"""``typed-rag``: the first answer reconsidered, as the type of the conflict asks.

Where no type can be had, it is reconsidered as the paper does, with a note.
"""

from typing import Any

from conflictscore.benchmarks.harness.conflict_types import CLASSIFYING, typed_fields
from conflictscore.benchmarks.harness.methods.asker import Asker
from conflictscore.benchmarks.harness.methods.conflict_aware import tell_type
from conflictscore.benchmarks.harness.methods.method import Asked, BenchmarkMethod
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.answerer import ask_again

__all__ = ["TYPED_RAG"]


async def _ask(asker: Asker, asked: Asked) -> dict[str, Any]:
    question, first, claim = asked.question, asked.answered.answer, asked.disputed
    if claim is None:
        return {"answer": first.to_json(), "conflict_type": None, "notes": []}
    meter = UsageMeter()
    told = await tell_type(asker, asked, meter)
    answer, notes = await ask_again(
        question.question,
        question.options,
        first,
        claim,
        asked.documents,
        model=asker.context.generator,
        prompts=asker.context.prompts,
        meter=meter,
        variant="_typed" if told.kind else "",
        fields=typed_fields(told.kind, asker.context.prompts),
    )
    asker.kept(meter.usage.cached_calls)
    return {
        "answer": answer.to_json(),
        "notes": [*told.notes, *notes],
        "conflict_type": told.kind.value if told.kind else None,
        "classification_error": told.error,
    }


TYPED_RAG = BenchmarkMethod(
    name="typed-rag",
    ask=_ask,
    templates=(*CLASSIFYING, "{form}_regenerate_typed"),
    looks_again=True,
    tells_type=True,
)
