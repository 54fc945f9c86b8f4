"""generate: the first answer, from question and documents (Tables 11, 12, 14 and 15)."""

from collections.abc import Sequence
from typing import Any

from conflictscore.models import Fitted, fit_documents
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.conversation import conversation_of, read_after
from conflictscore.nodes.replies import read_choice, read_text
from conflictscore.nodes.retrieve import given_answer
from conflictscore.nodes.state import RagState, RunContext, RunRuntime, documents_of, spent
from conflictscore.prompts import material
from conflictscore.records import Answer, Method

__all__ = ["REPLY_TOKENS", "cut_notes", "generate", "option_fields"]

REPLY_TOKENS = 512
"""The most that an answer may have."""


async def generate(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Answer once, in free form or by choosing an option; an answer that is given is taken.

    Raises:
        ConfigurationError: The context window is too small for the documents.
        ProviderError: The model failed, or twice gave a reply that cannot be read.
    """
    meter, notes = UsageMeter(), list[str]()
    answer = given_answer(state, state["options"])
    if answer is None:
        answer, notes = await _ask(state, runtime.context, meter)
    runtime.stream_writer({"event": "answer", "round": 0, "answer": answer.text})
    return {
        "draft": answer.to_json(),
        "notes": [*state["notes"], *notes],
        "usage": spent(state, meter.usage),
    }


async def _ask(state: RagState, context: RunContext, meter: UsageMeter) -> tuple[Answer, list[str]]:
    options = state["options"]
    history = conversation_of(state, context.generator).messages
    form = "multiple_choice" if options else "free_form"
    kind = "control_rag" if context.method is Method.CONTROL_RAG else "rag"
    template = f"{form}_{kind}"
    fields = {"question": material(state["question"]), **option_fields(options)}
    around = read_after(history, context.prompts.render(template, documents="", **fields))
    fitted = fit_documents(
        documents_of(state),
        context.generator,
        context.prompts,
        around=around,
        reply_tokens=REPLY_TOKENS,
    )
    answer = await context.generator.ask(
        context.prompts.render(
            template, documents=context.prompts.documents(fitted.documents), **fields
        ),
        lambda reply: _read(reply, options),
        prompts=context.prompts,
        meter=meter,
        max_tokens=REPLY_TOKENS,
        history=history,
        parameters=context.answer_parameters,
    )
    return answer, cut_notes(fitted, "answer")


def cut_notes(fitted: Fitted, step: str) -> list[str]:
    """Which documents the answering model saw in part only, for the run's notes."""
    return [
        f"to {step}, document {number} was cut: it is longer than its share of the context window"
        for number in fitted.cut
    ]


def option_fields(options: Sequence[str]) -> dict[str, str]:
    """The options as template fields; none in free form."""
    if not options:
        return {}
    return {"option_a": material(options[0]), "option_b": material(options[1])}


def _read(reply: str, options: list[str]) -> Answer:
    if not options:
        return Answer(text=read_text(reply))
    choice = read_choice(reply, options)
    return Answer(text=options[choice.option], option=choice.option)
