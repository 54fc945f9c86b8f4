"""One question to the answering model that shows it all documents, cut to its context window."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from conflictscore.models import fit_documents
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.generate import cut_notes
from conflictscore.nodes.state import RagInput, RunContext, documents_of
from conflictscore.prompts import material

__all__ = ["ask_with_documents"]

T = TypeVar("T")


async def ask_with_documents(
    state: RagInput,
    context: RunContext,
    meter: UsageMeter,
    template: str,
    fields: Mapping[str, str],
    read: Callable[[str], T],
    *,
    reply_tokens: int,
    step: str,
    parameters: Mapping[str, Any] | None = None,
) -> tuple[T, list[str]]:
    """Ask by a template of ``question``, ``documents`` and further fields.

    Args:
        state: Has the question and the documents.
        context: Has the generator and the templates.
        meter: Counts the calls.
        template: The template's name.
        fields: Its further fields.
        read: Turns the reply into a value, or raises ValueError with the reason why not.
        reply_tokens: The most that the reply may have.
        step: What the documents are shown for, as a note says it: "to STEP, document 1 was cut".
        parameters: Further call parameters of the model.

    Returns:
        The value, and which documents the model saw in part only.

    Raises:
        ContextWindowError: The window is too small for the documents.
        ProviderError: The model failed, or twice gave a reply that cannot be read.
    """
    prompts = context.prompts
    fields = {"question": material(state["question"]), **fields}
    fitted = fit_documents(
        documents_of(state),
        context.generator,
        prompts,
        around=prompts.render(template, documents="", **fields),
        reply_tokens=reply_tokens,
    )
    value = await context.generator.ask(
        prompts.render(template, documents=prompts.documents(fitted.documents), **fields),
        read,
        prompts=prompts,
        meter=meter,
        max_tokens=reply_tokens,
        parameters=parameters,
    )
    return value, cut_notes(fitted, step)
