"""From a conversation in chat messages to the reply that stands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp

from conflictscore.errors import (
    ConflictScoreError,
    ContextWindowError,
    InputError,
    NoDocumentsError,
)
from conflictscore.graph.self_correction import SelfCorrectionGraph
from conflictscore.middleware.messages import Asked, asked_in, documents_from_messages
from conflictscore.middleware.replies import corrected, unscored
from conflictscore.models.faces import call
from conflictscore.nodes.state import RagInput, RunContext
from conflictscore.records import Document

__all__ = ["HIDDEN", "ChatLoop"]

HIDDEN: RunnableConfig = {"tags": ["nostream"]}
"""Keeps what is not the reply out of LangGraph's ``messages`` stream."""

_ABOUT_TOOLS = {"tools", "tool_choice", "parallel_tool_calls", "functions", "function_call"}


@dataclass(frozen=True)
class ChatLoop:
    """The loop, for a model that is called with messages."""

    context: RunContext
    graph: SelfCorrectionGraph
    on_failure: Literal["raise", "pass_through"]

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
        said = {name: value for name, value in parameters.items() if name not in _ABOUT_TOOLS}
        try:
            state = await self.graph.ainvoke(
                _start(asked, documents, draft),
                context=replace(self.context, answer_parameters=said),
            )
        except Exception as error:  # noqa: BLE001 - a retriever may raise anything
            reason = self._excuse(error)
            if draft is None:
                draft = await self._own(messages, parameters)
            return unscored(draft, reason, question=asked.question)
        name = parameters.get("model") or self.context.generator.name
        return corrected(state, draft=draft, name=f"conflictscore/{name}")

    async def _own(self, messages: list[BaseMessage], parameters: Mapping[str, Any]) -> AIMessage:
        """What the answering model says by itself."""
        return await call(self.chat.bind(**parameters), messages, HIDDEN)

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

    def _excuse(self, error: Exception) -> str:
        """Why the model's own reply is returned in spite of an error.

        Raises:
            Exception: The error itself, where it is not to be excused.
        """
        if isinstance(error, NoDocumentsError):
            return f"not scored: {error}"
        wrong = isinstance(error, InputError) and not isinstance(error, ContextWindowError)
        if wrong or isinstance(error, GraphBubbleUp) or self.on_failure == "raise":
            raise error
        # an error of another library may quote an address with a key in it
        reason = str(error) if isinstance(error, ConflictScoreError) else type(error).__name__
        return f"not scored: {reason}"


def _start(asked: Asked, documents: Sequence[Document], draft: AIMessage | None) -> RagInput:
    start: RagInput = {
        "question": asked.question,
        "history": asked.history,
        "documents": [document.to_json() for document in documents],
    }
    return start if draft is None else {**start, "draft_answer": str(draft.text)}
