"""From a conversation in chat messages to the reply that stands, with its run in the metadata."""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    InputTokenDetails,
    UsageMetadata,
)
from langchain_core.messages.ai import add_usage
from langchain_core.messages.tool import tool_call_chunk

from conflictscore.graph.binding import running_with
from conflictscore.graph.self_correction import SelfCorrectionGraph
from conflictscore.middleware.doors import HIDDEN, FailurePolicy, excused
from conflictscore.middleware.messages import ChatQuestion, asked_in
from conflictscore.nodes.outcome import run_of
from conflictscore.nodes.retrieve import given_documents
from conflictscore.nodes.state import RunContext
from conflictscore.records import Run, Usage, differs

__all__ = ["ChatLoop", "as_chunk", "in_words"]

_log = logging.getLogger(__name__)

_ABOUT_TOOLS = {
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "functions",
    "function_call",
    "web_search_options",
}


@dataclass(frozen=True)
class ChatLoop:
    """The loop, for a model that is called with messages."""

    context: RunContext
    graph: SelfCorrectionGraph
    on_failure: FailurePolicy

    @property
    def chat(self) -> BaseChatModel:
        """The answering model."""
        return self.context.generator.chat

    async def reply(self, messages: list[BaseMessage], parameters: Mapping[str, Any]) -> AIMessage:
        """The reply to a conversation.

        Args:
            messages: The conversation, oldest first.
            parameters: Call parameters of the answering model; with ``tools`` it is called first.
                ``documents`` and ``question`` are ours: what to check the answer against, and what
                was asked, where the last message is a whole prompt.

        Raises:
            InputError: A document cannot be used.
        """
        parameters = dict(parameters)
        brought = given_documents({"documents": _listed(parameters.pop("documents", None))})
        asked, draft = asked_in(messages, brought, parameters.pop("question", None)), None
        own = asked.since or asked.other_content or not asked.question or "tools" in parameters
        if own or brought:  # what was brought stands in the prompt already
            draft = await self._own(messages, parameters)
            if draft.tool_calls or draft.invalid_tool_calls:
                return draft
            if reason := self._out_of_reach(asked, draft):
                return _unscored(draft, reason, question=asked.question)
        try:
            context = replace(self.context, answer_parameters=in_words(parameters))
            with running_with(self.graph, context):
                state = await self.graph.ainvoke(
                    asked.start(None if draft is None else str(draft.text))
                )
        except Exception as error:  # noqa: BLE001 - a retriever may raise anything
            reason = f"not scored: {excused(error, self.on_failure)}"
            if draft is None:
                draft = await self._own(messages, parameters)
            return _unscored(draft, reason, question=asked.question)
        name = parameters.get("model") or self.context.generator.name
        return _corrected(state, draft=draft, name=f"conflictscore/{name}")

    async def _own(self, messages: list[BaseMessage], parameters: Mapping[str, Any]) -> AIMessage:
        """What the answering model says by itself."""
        return await self.context.generator.reply(messages, parameters, HIDDEN)

    def _out_of_reach(self, asked: ChatQuestion, draft: AIMessage) -> str | None:
        """Why the model's own reply cannot be scored; None where it can."""
        if asked.other_content:
            return "not scored: the conversation holds more than text"
        if not asked.question:
            return "not scored: no human message asks anything"
        if not draft.text.strip():
            return "not scored: the reply has no text"
        if not asked.documents and self.context.retriever is None:
            return (
                "not scored: no tool has brought documents since the question, and there is no"
                " retriever"
            )
        return None


def _listed(documents: Any) -> Any:
    return [documents] if isinstance(documents, str) else documents or ()


def in_words(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The call parameters for an answer that calls no tools."""
    return {name: value for name, value in parameters.items() if name not in _ABOUT_TOOLS}


def _corrected(state: Mapping[str, Any], *, draft: AIMessage | None, name: str) -> AIMessage:
    """The last answer of a finished run.

    Args:
        state: The final state of the graph.
        draft: The message that the run began with, where there was one. It is kept as far as its
            answer is.
        name: What the answering model is called in the metadata, where that is not its own name:
            the tokens of the whole run are not those of one call.
    """
    run = run_of(state)
    metadata = {"model_name": name, "conflictscore": run.summary("asked")}
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


def _unscored(reply: AIMessage, note: str, *, question: str) -> AIMessage:
    """A model's own reply, with why it was not scored."""
    run = Run(question=question, asked=question).unchecked(str(reply.text), note)
    _log.warning("the reply was not checked: %s", note)
    # what the reply cost stands in its own usage
    shown = run.summary("asked") | {"usage": None}
    metadata = {**reply.response_metadata, "conflictscore": shown}
    return reply.model_copy(update={"response_metadata": metadata})


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
