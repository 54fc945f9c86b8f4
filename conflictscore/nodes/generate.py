"""generate: answer the question from the documents."""

from typing import Any

from conflictscore.answering.answerer import announce, answerer_of
from conflictscore.loop.inputs import given_answer
from conflictscore.loop.state import GeneratedAnswer, RagState, RunRuntime, spent
from conflictscore.loop.time_budget import timed
from conflictscore.models.usage import UsageMeter


async def generate(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Answer the question, or use the caller's answer; a failure ends the run."""
    meter, answer = UsageMeter(), given_answer(state, state["options"])
    if answer is not None:
        generated_answer = GeneratedAnswer(answer)
    else:
        generated_answer = await answerer_of(runtime.context).first(state, meter)
    announce(runtime, 0, generated_answer.answer)
    return {
        "draft": generated_answer.answer.to_json(),
        "notes": [*state["notes"], *generated_answer.notes],
        "usage": spent(state, meter.usage),
        "timings": timed(state, "generate", generated_answer.seconds),
    }
