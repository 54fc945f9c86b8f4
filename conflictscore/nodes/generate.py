"""generate: the first answer, from question and documents (Tables 11, 12, 14 and 15)."""

from typing import Any

from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.answerer import announce, answerer_of
from conflictscore.nodes.answering import GeneratedAnswer
from conflictscore.nodes.retrieve import given_answer
from conflictscore.nodes.state import RagState, RunRuntime, spent, timed


async def generate(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Have the question answered, or take the answer that came with it; a failure is raised."""
    meter, answer = UsageMeter(), given_answer(state, state["options"])
    if answer is not None:
        given = GeneratedAnswer(answer)
    else:
        given = await answerer_of(runtime.context).first(state, meter)
    announce(runtime, 0, given.answer)
    return {
        "draft": given.answer.to_json(),
        "notes": [*state["notes"], *given.notes],
        "usage": spent(state, meter.usage),
        "timings": timed(state, "generate", given.seconds),
    }
