"""Answers chat messages with a checked reply that has the run in its metadata."""

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import Context
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from langchain_core.callbacks import (
    AsyncCallbackManagerForLLMRun,
    BaseCallbackHandler,
    CallbackManager,
    CallbackManagerForLLMRun,
)
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    InputTokenDetails,
    UsageMetadata,
)
from langchain_core.messages.ai import add_usage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config, merge_configs, set_config_context
from langchain_core.tracers.langchain import LangChainTracer

from conflictscore.errors import NoDocumentsError
from conflictscore.loop.examining import unfinished
from conflictscore.loop.inputs import given_documents
from conflictscore.loop.state import RunContext
from conflictscore.middleware.answer_forms import check_of_format, spoken
from conflictscore.middleware.changed_blocks import THOUGHTS, with_text
from conflictscore.middleware.entrypoints import (
    HIDDEN,
    OnEvent,
    correct,
    reason_or_raise,
    with_later_gaps,
)
from conflictscore.middleware.messages import ChatQuestion, asked_in
from conflictscore.middleware.own_answer import with_block, with_own_answer
from conflictscore.middleware.requirement import FailurePolicy, Require, meets, refuse
from conflictscore.middleware.unread_facts import unread_facts
from conflictscore.models.callbacks import let_children_be_counted
from conflictscore.models.calls import call
from conflictscore.models.endings import early_ending
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Gap, GapKind, Run, Usage, differs

_log = logging.getLogger(__name__)

# Requests about an answer offer no tools, since the reply must be text.
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
    """Runs the loop for a model that is called with a chat conversation."""

    context: RunContext
    on_failure: FailurePolicy
    sources: Collection[str] | None = None
    require: Require | None = None
    refusal: str | None = None
    """Text to return in place of a refused answer; None to raise an error."""

    @property
    def chat(self) -> BaseChatModel:
        """The answering model."""
        return self.context.generator.chat

    async def reply(
        self,
        messages: list[BaseMessage],
        parameters: Mapping[str, Any],
        on_event: OnEvent | None = None,
    ) -> AIMessage:
        """Reply to a conversation.

        ``parameters`` are passed to the answering model. If the parameters include ``tools``, the
        model is called before any search. Two parameters are our extensions. ``documents`` are the
        documents to check against. ``question`` is the question, which is needed if the last
        message is a whole prompt.

        Raises:
            InputError: A document cannot be used.
        """
        parameters = dict(parameters)
        chat_question = self._question_in(messages, parameters)
        draft: AIMessage | None = None
        if _is_answered_first(chat_question, parameters):
            draft = await self._own(messages, parameters)
            if draft.tool_calls or draft.invalid_tool_calls:
                return draft
            if gap := self._out_of_reach(chat_question, draft):
                return self._unscored(draft, gap, chat_question.question)
        context = replace(
            self.context,
            answer_parameters=in_words(parameters),
            on_event=on_event,
            answer_check=check_of_format(parameters.get("response_format")),
        )
        replies: list[AIMessage] = []
        if draft is None:
            context = self._asking_itself(context, messages, parameters, replies)
        start = chat_question.start(None if draft is None else spoken(draft, _in_words(messages)))
        try:
            run = await correct(context, start)
        except Exception as error:  # noqa: BLE001 - a retriever may raise anything
            gap = self._gap_of_failure(error)
            if draft is None:
                draft = replies[-1] if replies else await self._own(messages, parameters)
            return self._unscored(draft, gap, chat_question.question, error)
        name = parameters.get("model") or self.context.generator.name
        before = draft.usage_metadata if draft is not None else None
        draft = draft or replies[-1]
        ending = early_ending(draft)
        run = with_later_gaps(
            run,
            *([unfinished(ending)] if ending else []),
            *chat_question.left_out,
            *unread_facts(run, chat_question.unread()),
        )
        message = _corrected(run, draft, before, name=f"conflictscore/{name}")
        return self._required(message, run)

    def _question_in(self, messages: list[BaseMessage], parameters: dict[str, Any]) -> ChatQuestion:
        """Read the question of a conversation, and remove our extensions from the parameters."""
        documents = given_documents({"documents": _listed(parameters.pop("documents", None))})
        question = asked_in(messages, documents, parameters.pop("question", None), self.sources)
        return question.or_earlier() if self.context.retriever is None else question

    def _asking_itself(
        self,
        context: RunContext,
        messages: list[BaseMessage],
        parameters: Mapping[str, Any],
        replies: list[AIMessage],
    ) -> RunContext:
        """Return a context in which the model answers the caller's own messages.

        Each of its replies is appended to ``replies``.
        """

        async def ask(block: str, meter: UsageMeter) -> tuple[str, str | None]:
            reply = await self._own(_attached(messages, block), parameters, meter)
            replies.append(reply)
            return spoken(reply, read_before), early_ending(reply)

        read_before = _in_words(messages)
        return with_own_answer(context, ask, read_before, parameters)

    def _gap_of_failure(self, error: Exception) -> Gap:
        """Return a gap that says why nothing was checked.

        If the policy for failures is to raise errors, raise the error instead.
        """
        reason = f"not scored: {reason_or_raise(error, self.on_failure)}"
        nothing = isinstance(error, NoDocumentsError)
        return Gap(kind=GapKind.NO_DOCUMENTS if nothing else GapKind.CHECK_FAILED, note=reason)

    def _required(
        self, message: AIMessage, run: Run, cause: BaseException | None = None
    ) -> AIMessage:
        """Return the message if enough of it was checked, and the refusal otherwise."""
        if meets(run, self.require):
            return message
        if self.refusal is None:
            refuse(run, self.require, cause)
        # token probabilities and the texts of the run would reveal the refused answer
        metadata = {k: v for k, v in message.response_metadata.items() if k != "logprobs"}
        metadata["conflictscore"] = run.verdict()
        update = {"content": self.refusal, "response_metadata": metadata, "additional_kwargs": {}}
        return message.model_copy(update=update)

    def _unscored(
        self, reply: AIMessage, gap: Gap, question: str, cause: BaseException | None = None
    ) -> AIMessage:
        """Return a reply with a verdict that names the gap, or the refusal if one is due."""
        run_id = self.context.run_id or uuid4().hex
        run = Run(question=question, asked=question, run_id=run_id)
        run = run.unchecked(str(reply.text), gap.note, gap.kind)
        _log.warning("the reply was not checked: %s", gap.note)
        # the message's own usage already includes the cost of the reply
        summary = run.summary("asked") | {"usage": None} | run.verdict()
        metadata = {**reply.response_metadata, "conflictscore": summary}
        message = reply.model_copy(update={"response_metadata": metadata})
        return self._required(message, run, cause)

    async def _own(
        self,
        messages: list[BaseMessage],
        parameters: Mapping[str, Any],
        meter: UsageMeter | None = None,
    ) -> AIMessage:
        config = merge_configs(ensure_config(), {"callbacks": [meter]} if meter else None, HIDDEN)
        return await self.context.generator.reply(messages, parameters, config)

    def _out_of_reach(self, chat_question: ChatQuestion, draft: AIMessage) -> Gap | None:
        """Return a gap that says why a reply cannot be checked, or None if it can."""
        if chat_question.other_content:
            kind, reason = GapKind.EVIDENCE_LEFT_OUT, "the conversation contains more than text"
        elif not chat_question.question:
            kind, reason = GapKind.NOT_ANSWERED, "there is no question in a human message"
        elif not draft.text.strip():
            kind, reason = GapKind.EMPTY_ANSWER, "the reply has no text"
        elif not chat_question.documents and self.context.retriever is None:
            reason = "no tool has returned documents since the question, and there is no retriever"
            kind = GapKind.NO_DOCUMENTS
        else:
            return None
        return Gap(kind=kind, note=f"not scored: {reason}")


class AnswerForm:
    """Asks a model to convert an answer into a structured format.

    ``writer`` is the model with structured output that includes the raw message.
    """

    def __init__(self, writer: Runnable[LanguageModelInput, Any], ask: BaseMessage) -> None:
        self._writer, self._ask = writer, ask
        self._written: Mapping[str, Any] = {}

    async def fill(self, messages: Sequence[BaseMessage], answer: AIMessage) -> AIMessage:
        """Return the message with the structured answer, the run, and the tokens of both calls."""
        self._written = await call(self._writer, [*messages, answer, self._ask])
        raw: AIMessage = self._written["raw"]
        about_answer = {k: answer.response_metadata.get(k) for k in ("model_name", "conflictscore")}
        update = {
            "response_metadata": {**raw.response_metadata, **about_answer},
            "usage_metadata": add_usage(answer.usage_metadata, raw.usage_metadata),
        }
        return raw.model_copy(update=update)

    def result(self, raw: AIMessage, *, include_raw: bool) -> Any:
        """Return the parsed answer or, if ``include_raw`` is set, all fields with the message."""
        if include_raw:
            return {**self._written, "raw": raw}
        if (error := self._written["parsing_error"]) is not None:
            raise error
        return self._written["parsed"]


@contextmanager
def apart(
    run: CallbackManagerForLLMRun | AsyncCallbackManagerForLLMRun | None, *, traced_only: bool
) -> Iterator[Context]:
    """Make runnables called in this block children of this run, and isolate them from outer graphs.

    Without the isolation, a nested graph would use the outer graph's checkpoints, context and
    streams. The children get all callbacks of the run. Callbacks that add up tokens then skip the
    reply of this run, since it includes the tokens of the children. If ``traced_only`` is set, the
    children get only LangSmith's tracer, without which LangSmith would start a trace for each.
    """
    config: RunnableConfig = {}
    if run is not None:
        if not traced_only:
            let_children_be_counted(run)
        children = CallbackManager(handlers=[], parent_run_id=run.run_id)
        for handler in run.inheritable_handlers:
            if not traced_only or isinstance(handler, LangChainTracer):
                children.add_handler(handler)
        children.add_tags(run.inheritable_tags)
        # leave out the name of this model, since the inner calls go to other models
        metadata = run.inheritable_metadata.items()
        children.add_metadata({key: item for key, item in metadata if not key.startswith("ls_")})
        config = {"callbacks": children}
    with set_config_context(config) as context:
        if run is not None and traced_only:  # LangChain also adds handlers from context variables
            for variable, value in list(context.items()):
                if isinstance(value, BaseCallbackHandler):
                    context.run(variable.set, None)
        yield context


def _in_words(messages: Sequence[BaseMessage]) -> str:
    """Return the text of all messages, which the model reads before it answers."""
    return "\n".join(f"{message.type}: {message.text}" for message in messages)


def _attached(messages: Sequence[BaseMessage], block: str) -> list[BaseMessage]:
    last = max(n for n, message in enumerate(messages) if isinstance(message, HumanMessage))
    content = with_block(messages[last].content, block)
    question = messages[last].model_copy(update={"content": content})
    return [*messages[:last], question, *messages[last + 1 :]]


def _is_answered_first(chat_question: ChatQuestion, parameters: Mapping[str, Any]) -> bool:
    """Return whether to call the model with the unchanged messages before any search.

    The model is called first if it may call tools or has called some. It is also called first if
    there is no question to search for, or if the caller passed the documents.
    """
    by_tools = chat_question.since or "tools" in parameters
    unsearchable = chat_question.other_content or not chat_question.question
    return bool(by_tools or unsearchable or chat_question.brought)


def _listed(documents: Any) -> Any:
    return [documents] if isinstance(documents, str) else documents or ()


def in_words(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the call parameters without those that concern tools."""
    return {name: value for name, value in parameters.items() if name not in _ABOUT_TOOLS}


def _corrected(run: Run, draft: AIMessage, before: UsageMetadata | None, *, name: str) -> AIMessage:
    """Return the draft's message with the run's answer, and the tokens of all calls.

    ``before`` are the tokens of a draft that was written before the run; the run lacks them.
    """
    metadata = {"model_name": name, "conflictscore": {**run.summary("asked"), **run.verdict()}}
    usage = _usage(run.usage)
    update: dict[str, Any] = {
        "response_metadata": {**draft.response_metadata, **metadata},
        "usage_metadata": add_usage(before, usage) if before else usage,
    }
    if differs(draft.text, run.answer or ""):
        # The draft's token probabilities do not apply to the new text. Neither does its finish
        # reason, unless only the reasoning was left out.
        update["response_metadata"] |= {"finish_reason": "stop"} if run.flipped else {}
        update["response_metadata"].pop("logprobs", None)
        update["content"] = with_text(draft.content, str(draft.text), run.answer or "")
        thoughts = {k: v for k, v in draft.additional_kwargs.items() if k in THOUGHTS}
        update["additional_kwargs"] = thoughts
    return draft.model_copy(update=update)


def as_chunk(message: AIMessage) -> AIMessageChunk:
    """Convert a message to the single chunk of a stream."""
    return AIMessageChunk(**message.model_dump(exclude={"type"}), chunk_position="last")


def _usage(usage: Usage) -> UsageMetadata:
    return UsageMetadata(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        total_tokens=usage.input_tokens + usage.output_tokens,
        input_token_details=InputTokenDetails(cache_read=usage.cache_read_tokens),
    )
