"""Finished runs as chat messages, with all that is known of them in the metadata."""

import json
from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, InputTokenDetails, UsageMetadata
from langchain_core.messages.ai import add_usage
from langchain_core.messages.tool import tool_call_chunk

from conflictscore.nodes.decide import differs
from conflictscore.nodes.state import run_of
from conflictscore.records import Run, Usage

__all__ = ["as_chunk", "corrected", "formed", "unscored"]


def corrected(state: Mapping[str, Any], *, draft: AIMessage | None, name: str) -> AIMessage:
    """The last answer of a finished run.

    Args:
        state: The final state of the graph.
        draft: The message that the run began with, where there was one. It is kept as far as its
            answer is.
        name: What the answering model is called in the metadata, where that is not its own name:
            the tokens of the whole run are no tokens of one call.
    """
    run = run_of(state)
    metadata = {"model_name": name, "conflictscore": run.summary("asked", "flip")}
    usage = _usage(run.usage)
    if draft is None:
        return AIMessage(
            content=run.answer,
            response_metadata={"finish_reason": "stop", **metadata},
            usage_metadata=usage,
        )
    update: dict[str, Any] = {
        "response_metadata": {**draft.response_metadata, **metadata},
        "usage_metadata": add_usage(draft.usage_metadata, usage),
    }
    if differs(draft.text, run.answer or ""):
        # these were the draft's: how it ended, and how likely its tokens were
        update["response_metadata"] |= {"finish_reason": "stop"}
        update["response_metadata"].pop("logprobs", None)
        update |= {"content": run.answer, "additional_kwargs": {}}
    return draft.model_copy(update=update)


def unscored(reply: AIMessage, note: str, *, question: str) -> AIMessage:
    """A model's own reply, with why it was not scored."""
    run = Run(question=question, asked=question).unchecked(str(reply.text), note)
    # what the reply cost stands in its own usage
    shown = run.summary("asked", "flip") | {"usage": None}
    metadata = {**reply.response_metadata, "conflictscore": shown}
    return reply.model_copy(update={"response_metadata": metadata})


def formed(
    form: AIMessage, answer: AIMessage, *, usage: UsageMetadata | None, name: str | None
) -> AIMessage:
    """An answer's form, with what is known of the answer.

    Args:
        form: The form, as a model wrote it.
        answer: The answer in words.
        usage: The tokens of all calls, those for the answer too.
        name: What the model is called in the metadata, where the tokens are those of several
            models and no price of one model is theirs; None for its own name.
    """
    metadata = {
        **form.response_metadata,
        "conflictscore": answer.response_metadata.get("conflictscore"),
    }
    if name is not None:
        metadata["model_name"] = name
    return form.model_copy(update={"response_metadata": metadata, "usage_metadata": usage})


def as_chunk(message: AIMessage) -> AIMessageChunk:
    """The whole message as the one chunk of a stream."""
    calls = [
        tool_call_chunk(
            name=called["name"], args=json.dumps(called["args"]), id=called["id"], index=index
        )
        for index, called in enumerate(message.tool_calls)
    ]
    calls += [
        tool_call_chunk(name=called["name"], args=called["args"], id=called["id"], index=index)
        for index, called in enumerate(message.invalid_tool_calls, start=len(calls))
    ]
    return AIMessageChunk(
        content=message.content,
        additional_kwargs=message.additional_kwargs,
        response_metadata=message.response_metadata,
        usage_metadata=message.usage_metadata,
        name=message.name,
        id=message.id,
        tool_call_chunks=calls,
        chunk_position="last",
    )


def _usage(usage: Usage) -> UsageMetadata:
    return UsageMetadata(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        total_tokens=usage.input_tokens + usage.output_tokens,
        input_token_details=InputTokenDetails(cache_read=usage.cache_read_tokens),
    )
