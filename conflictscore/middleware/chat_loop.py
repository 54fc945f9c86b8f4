"""From a conversation in chat messages to the reply that stands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage

from conflictscore.graph.self_correction import SelfCorrectionGraph
from conflictscore.middleware.doors import HIDDEN, OnFailure, excused
from conflictscore.middleware.messages import Asked, asked_in, documents_from_messages
from conflictscore.middleware.replies import corrected, unscored
from conflictscore.nodes.state import RagInput, RunContext
from conflictscore.records import Document

__all__ = ["ChatLoop", "in_words"]

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
    on_failure: OnFailure

    @property
    def chat(self) -> BaseChatModel:
        """The answering model."""
        return self.context.generator.chat

    async def reply(self, messages: list[BaseMessage], parameters: Mapping[str, Any]) -> AIMessage:
        """The reply to a conversation.

        Args:
            messages: The conversation, oldest first.
            parameters: Call parameters of the answering model; with ``tools`` it is called first.
        """
        asked, draft = asked_in(messages), None
        documents = documents_from_messages(asked.since)
        if asked.since or asked.other_content or not asked.question or "tools" in parameters:
            draft = await self._own(messages, parameters)
            if draft.tool_calls or draft.invalid_tool_calls:
                return draft
            if reason := self._out_of_reach(asked, draft, documents):
                return unscored(draft, reason, question=asked.question)
        try:
            state = await self.graph.ainvoke(
                _start(asked, documents, draft),
                context=replace(self.context, answer_parameters=in_words(parameters)),
            )
        except Exception as error:  # noqa: BLE001 - a retriever may raise anything
            reason = f"not scored: {excused(error, self.on_failure)}"
            if draft is None:
                draft = await self._own(messages, parameters)
            return unscored(draft, reason, question=asked.question)
        name = parameters.get("model") or self.context.generator.name
        return corrected(state, draft=draft, name=f"conflictscore/{name}")

    async def _own(self, messages: list[BaseMessage], parameters: Mapping[str, Any]) -> AIMessage:
        """What the answering model says by itself."""
        return await self.context.generator.reply(messages, parameters, HIDDEN)

    def _out_of_reach(
        self, asked: Asked, draft: AIMessage, documents: Sequence[Document]
    ) -> str | None:
        """Why the model's own reply cannot be scored; None where it can."""
        if asked.other_content:
            return "not scored: the conversation holds more than text"
        if not asked.question:
            return "not scored: no human message asks anything"
        if not draft.text.strip():
            return "not scored: the reply has no text"
        if not documents and self.context.retriever is None:
            return (
                "not scored: no tool has brought documents since the question, and there is no"
                " retriever"
            )
        return None


def in_words(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The call parameters for an answer that calls no tools."""
    return {name: value for name, value in parameters.items() if name not in _ABOUT_TOOLS}


def _start(asked: Asked, documents: Sequence[Document], draft: AIMessage | None) -> RagInput:
    start: RagInput = {
        "question": asked.question,
        "history": asked.history,
        "documents": [document.to_json() for document in documents],
    }
    return start if draft is None else {**start, "draft_answer": str(draft.text)}
