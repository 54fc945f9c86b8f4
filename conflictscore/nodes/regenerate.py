"""regenerate: answer again with both sides of the conflict in view (Tables 13 and 16).

Where the type of the conflict is known, the answer is asked for as that type asks, which is ours.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from conflictscore.errors import ContextWindowError, ProviderError
from conflictscore.models import Fitted, fit_documents
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.behaviour import typed_fields
from conflictscore.nodes.conversation import conversation_of, read_after
from conflictscore.nodes.decide import unexplained
from conflictscore.nodes.evidence import conflict_details
from conflictscore.nodes.generate import REPLY_TOKENS, cut_notes, option_fields
from conflictscore.nodes.replies import read_reconsidered_choice, read_text
from conflictscore.nodes.state import (
    RagState,
    RunRuntime,
    attempts_of,
    conflict_type_of,
    documents_of,
    spent,
)
from conflictscore.prompts import PromptSet, material
from conflictscore.records import Answer, ClaimEvidence, ConflictType, Document

__all__ = ["ask_again", "regenerate", "regeneration_prompt"]


async def regenerate(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Put the claim to reconsider back to the model, with its evidence.

    A model that fails here is recorded in the notes, and the earlier answer stands.
    """
    last, meter = attempts_of(state)[-1], UsageMeter()
    if last.report is None or last.report.reconsider is None:
        raise ValueError("regenerate was reached without a conflicting claim")
    context, claim = runtime.context, last.report.evidence(last.report.reconsider)
    try:
        answer, notes = await ask_again(
            state["question"],
            state["options"],
            last.answer,
            claim,
            documents_of(state),
            model=context.generator,
            prompts=context.prompts,
            meter=meter,
            history=conversation_of(state, context.generator).messages,
            parameters=context.answer_parameters,
            conflict_type=conflict_type_of(state),
        )
    except (ProviderError, ContextWindowError) as error:
        note = f"the earlier answer stands, because it could not be regenerated: {error}"
        return {
            "decision": "justify" if unexplained(attempts_of(state)) else "record",
            "reason": note,
            "regeneration_error": str(error),
            "notes": [*state["notes"], note],
            "usage": spent(state, meter.usage),
        }
    runtime.stream_writer({"event": "answer", "round": last.round + 1, "answer": answer.text})
    return {
        "decision": "regenerate",
        "draft": answer.to_json(),
        "reconsidered": claim.to_json(),
        "notes": [*state["notes"], *notes],
        "usage": spent(state, meter.usage),
    }


async def ask_again(
    question: str,
    options: Sequence[str],
    before: Answer,
    claim: ClaimEvidence,
    documents: Sequence[Document],
    *,
    model: LanguageModel,
    prompts: PromptSet,
    meter: UsageMeter,
    history: Sequence[BaseMessage] = (),
    parameters: Mapping[str, Any] | None = None,
    evidence_from: Sequence[Document] | None = None,
    conflict_type: ConflictType | None = None,
) -> tuple[Answer, list[str]]:
    """Have an answer reconsidered; the arguments are those of :func:`regeneration_prompt`.

    Args:
        question: What was asked.
        options: The two options of a multiple-choice question; none in free form.
        before: The answer to reconsider.
        claim: Its claim that has evidence on both sides, with its labels.
        documents: All documents of the question.
        model: What answers.
        prompts: Where the templates are.
        meter: Counts the calls.
        history: Messages that go before the prompt.
        parameters: Further call parameters of the model.
        evidence_from: See :func:`regeneration_prompt`.
        conflict_type: See :func:`regeneration_prompt`.

    Returns:
        The new answer, and which documents it saw in part only.

    Raises:
        ContextWindowError: The window is too small for the documents.
        ProviderError: The model failed, or twice gave a reply that cannot be read.
    """
    prompt, fitted = regeneration_prompt(
        question,
        options,
        before,
        claim,
        documents,
        model=model,
        prompts=prompts,
        history=history,
        evidence_from=evidence_from,
        conflict_type=conflict_type,
    )

    def read(reply: str) -> Answer:
        if not options:
            return Answer(text=read_text(reply))
        choice = read_reconsidered_choice(reply, options, [d.number for d in documents])
        return Answer(
            text=options[choice.option],
            option=choice.option,
            justification=choice.justification,
            cited=choice.cited,
        )

    answer = await model.ask(
        prompt,
        read,
        prompts=prompts,
        meter=meter,
        max_tokens=REPLY_TOKENS,
        history=history,
        parameters=parameters,
    )
    return answer, cut_notes(fitted, "answer again")


def regeneration_prompt(
    question: str,
    options: Sequence[str],
    before: Answer,
    claim: ClaimEvidence,
    documents: Sequence[Document],
    *,
    model: LanguageModel,
    prompts: PromptSet,
    history: Sequence[BaseMessage] = (),
    evidence_from: Sequence[Document] | None = None,
    conflict_type: ConflictType | None = None,
) -> tuple[str, Fitted]:
    """Ask again with both sides of the conflict in view (Tables 13 and 16).

    Args:
        question: What was asked.
        options: The two options of a multiple-choice question; none in free form.
        before: The answer to reconsider.
        claim: Its claim that has evidence on both sides, with its labels.
        documents: All documents of the question.
        model: Whose context window the documents must fit.
        prompts: Where the templates are.
        history: Messages that will go before the prompt; they take room from the documents.
        evidence_from: Documents that the evidence of both sides is quoted from, by number; by
            default ``documents``.
        conflict_type: How the documents relate, where the answer is to do what that asks for;
            None asks as the paper does.

    Returns:
        The whole prompt, and the documents as they stand in it.

    Raises:
        ContextWindowError: The window is too small for the documents.
    """
    template = "multiple_choice_regenerate" if options else "free_form_regenerate"
    if conflict_type is not None:
        template += "_typed"
    fields = {
        "question": material(question),
        "answer": material(_as_given(before)),
        "claim": material(claim.claim.text),
        "evidence": conflict_details(claim, evidence_from or documents, prompts),
        **option_fields(options),
        **typed_fields(conflict_type, prompts),
    }
    fitted = fit_documents(
        documents,
        model,
        prompts,
        around=read_after(history, prompts.render(template, documents="", **fields)),
        reply_tokens=REPLY_TOKENS,
    )
    return prompts.render(template, documents=prompts.documents(fitted.documents), **fields), fitted


def _as_given(answer: Answer) -> str:
    """The answer as the model gave it: in multiple choice with its letter."""
    return answer.text if answer.option is None else f"{'AB'[answer.option]} – {answer.text}"
