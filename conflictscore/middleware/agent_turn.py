"""One answer of an agent, from the model's first reply to the final answer."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple
from uuid import uuid4

from langchain.agents.middleware import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain_core import exceptions
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableBinding
from langgraph.types import Command

from conflictscore.answering.answerer import Reconsideration, cut_notes
from conflictscore.answering.claim_coverage import states_nothing
from conflictscore.errors import ConfigurationError, NoDocumentsError, UnreadableReplyError
from conflictscore.graph.create import open_run
from conflictscore.loop.examining import unfinished
from conflictscore.loop.state import (
    GeneratedAnswer,
    RagState,
    RevisionRequest,
    RunContext,
    attempts_of,
    documents_of,
)
from conflictscore.middleware.answer_forms import (
    data_text,
    spoken,
    structured_with,
    why_not_rebuilt,
)
from conflictscore.middleware.approval import propose
from conflictscore.middleware.call_watch import CallWatch
from conflictscore.middleware.changed_blocks import with_text
from conflictscore.middleware.entrypoints import (
    OnEvent,
    PassedOnError,
    correct,
    listener,
    reason_or_raise,
    with_later_gaps,
)
from conflictscore.middleware.messages import asked_in
from conflictscore.middleware.own_answer import Chatbot, reconsider_prompt
from conflictscore.middleware.requirement import FailurePolicy, Require, meets, refuse
from conflictscore.middleware.run_views import whole, with_verdict
from conflictscore.middleware.turn_memory import TurnMemory
from conflictscore.middleware.unread_facts import unread_facts
from conflictscore.models.clear_errors import clear_error
from conflictscore.models.clients import secrets_of
from conflictscore.models.endings import abnormal_ending, early_ending, was_cut
from conflictscore.records import Answer, GapKind, Method, Run
from conflictscore.settings import Settings
from conflictscore.threads import in_thread, on_home_loop

Response = ModelResponse[Any] | ExtendedModelResponse[Any]
_Call = Callable[[ModelRequest[Any], bool], Awaitable[ModelResponse[Any]]]
"""Calls the agent's model; the flag keeps the reply's tokens out of ``messages`` streams."""

_log = logging.getLogger(__name__)
# raised by ModelRefusalMiddleware; older versions of langchain-core do not have it
_REFUSAL: type[Exception] | tuple[()] = getattr(exceptions, "ModelRefusalError", ())


@dataclass(frozen=True)
class AgentSettings:
    """The settings of a :class:`~conflictscore.middleware.agent.ConflictScoreMiddleware`."""

    retriever: BaseRetriever | None
    sources: Collection[str] | None
    run: Settings
    models: Mapping[str, Any]
    """Keyword arguments for ``open_run``, without a judge if the agent's own model judges."""
    approve_flips: bool
    on_failure: FailurePolicy
    on_event: OnEvent | None
    require: Require | None = None
    refusal: str | None = None
    """Text to return in place of a refused answer; None to raise an error."""


class _Said(NamedTuple):
    """An answer of the agent's model, and the response that contains it."""

    message: AIMessage
    """The answer's message; its text is JSON for a structured answer."""
    response: ModelResponse[Any]

    @property
    def text(self) -> str:
        """The answer's text, without the model's reasoning."""
        return spoken(self.message)

    def replaced(self, message: BaseMessage, update: dict[str, Any]) -> Response:
        if self.response.structured_response is not None:
            response = structured_with(self.response, message)
        else:
            response = ModelResponse(result=[*self.response.result[:-1], message])
        return ExtendedModelResponse(response, Command(update=update))


class AgentTurn:
    """One model call of an agent, and the check of the answer."""

    def __init__(
        self,
        request: ModelRequest[Any],
        settings: AgentSettings,
        watch: CallWatch,
        call: _Call,
        turns: TurnMemory,
    ) -> None:
        """Read the question and the documents from the agent's state.

        The question is the human message with which the turn began. The documents are the tool
        results since then. If there are no such results and no retriever, the documents are earlier
        tool results. The question and the documents are read from the state and from the memory of
        the turn. The memory is needed because other middleware may have shortened the messages in
        the request or in the state.
        """
        messages, place = turns.conversation(request.state)
        question = asked_in(messages, sources=settings.sources, place=place)
        self._lost = turns.lost(request.state)
        if settings.retriever is None:
            question = question.or_earlier()
        self._called, self._settings, self._asked = request, settings, question
        self._documents = question.documents
        self._watch, self._call = watch, call
        self._on_event = listener(settings.on_event)
        self._answers: list[_Said] = []
        self._one_at_a_time = asyncio.Lock()
        self._drafting = 0.0  # seconds that the first answer took
        self._foreign: Exception | None = None  # the error of other middleware, if it failed

    async def response(self) -> Response:
        """Call the model and check its answer; errors that must not be hidden are raised."""
        checkable = self._asked.question and (self._documents or self._settings.retriever)
        may_be_replaced = bool(self._settings.run.max_rounds and checkable)
        may_be_refused = self._settings.require is not None
        draft = await self._call(self._called, may_be_replaced or may_be_refused)
        answer = _answer_in(draft)
        if answer is None:
            return draft
        self._answers.append(answer)
        if self._watch.failure is not None:
            note = "the model failed, and other middleware returned a message instead of an answer"
            return self._left(note, GapKind.NOT_ANSWERED)
        if not checkable:
            return self._uncheckable()
        self._drafting = self._watch.seconds
        # opening models reads files, and may download them, so it must not block the event loop
        context = await in_thread(lambda: self._context)
        answerer = Chatbot(
            context.generator.name, context.prompts, self._begin, self._said, self._request
        )
        context = replace(context, answerer=answerer, on_event=self._on_event)
        data = draft.structured_response
        if data is not None:
            context = replace(context, answer_check=partial(why_not_rebuilt, data))
            # a person can approve only text, so structured answers are not changed
            if self._settings.approve_flips:
                context = replace(context, settings=context.settings.replace(max_rounds=0))
        try:
            run = await correct(context, self._asked.start())
        except Exception as error:  # noqa: BLE001 - raised again if it must not be hidden
            return self._failed(error)
        return self._finished(run)

    async def _begin(self, state: RagState) -> GeneratedAnswer:
        answer = self._answers[0]
        return GeneratedAnswer(Answer(text=answer.text), seconds=self._drafting)

    async def _said(self, state: RagState, prompt: str) -> str:
        """Send a request to the agent's model within its conversation, without offering tools.

        Calls are made one at a time, since other middleware may keep state between its calls. They
        are made in the agent's event loop, to which its clients belong.
        """
        before = attempts_of(state)[-1].answer.text
        async with self._one_at_a_time:
            answer = await on_home_loop(lambda: self._reply_to(prompt, before))
        self._answers.append(answer)
        return answer.text

    async def _reply_to(self, prompt: str, before: str) -> _Said:
        """Send the model a request after its earlier answer ``before``; return the new answer.

        Raises:
            PassedOnError: Something other than the model failed, such as other middleware.
            ProviderError: The model failed, or its reply is not a complete text answer.
        """
        request = self._called.override(
            messages=[
                *self._called.messages,
                self._answer_of(before).message,
                HumanMessage(prompt),
            ],
            tools=[],
            tool_choice=None,
            response_format=None,
        )
        generator = self._context.generator
        try:
            response = await self._call(request, True)
        except Exception as error:
            if isinstance(error, _REFUSAL):
                raise UnreadableReplyError("it was a refusal", provider=generator.name) from None
            if error is not self._watch.failure:
                self._foreign = error
                raise PassedOnError(error) from error
            raise clear_error(
                error,
                provider=generator.name,
                endpoint=generator.endpoint,
                secrets=secrets_of(generator.chat),
            ) from None
        answer = _answer_in(response)
        if answer is None or self._watch.failure is not None:
            raise UnreadableReplyError("it was not a text answer", provider=generator.name)
        if ending := abnormal_ending(answer.message):
            how = "was cut off" if was_cut(answer.message) else f"ended by “{ending}”"
            raise UnreadableReplyError(f"it {how}", provider=generator.name)
        return answer

    def _answer_of(self, text: str) -> _Said:
        """Return the model's answer that has the given text.

        If there is none, copy the first answer and give the copy this text. The copy has no id and
        no token probabilities, since the model did not write it.
        """
        with_it = [each for each in self._answers if each.text == text]
        if with_it:
            return with_it[-1]
        first = self._answers[0]
        metadata = {k: v for k, v in first.message.response_metadata.items() if k != "logprobs"}
        content = with_text(first.message.content, str(first.message.text), text)
        update = {"content": content, "id": None, "response_metadata": metadata}
        return _Said(first.message.model_copy(update=update), first.response)

    def _request(self, state: RagState, request: RevisionRequest) -> tuple[str, Sequence[str]]:
        """Return the request for a new answer, with the documents if the model lacks them."""
        if self._documents:  # the model has already seen the documents and the question
            state = {**state, "question": self._asked.question}
            return reconsider_prompt(state, request, self._context.prompts), ()
        before = self._answer_of(request.before.text).message
        reconsideration = Reconsideration(
            state["question"],
            (),
            request.before,
            request.claim,
            documents_of(state),
            history=[*filter(None, [self._called.system_message]), *self._called.messages, before],
            weights=request.weights,
        )
        prompt, fit = reconsideration.prompt(self._context.generator, self._context.prompts)
        return prompt, cut_notes(fit, "answer again")

    @cached_property
    def _context(self) -> RunContext:
        """The models and settings of this run; by default, the agent's own model is the judge."""
        settings = self._settings
        # anything but a chat model can answer only inside the agent, so the judge is opened alone
        model = _chat_model(self._called.model) or settings.models.get("judge")
        if model is None:
            raise ConfigurationError(
                "the agent's model is not a chat model but a "
                f"{type(self._called.model).__name__}; give judge= to check its "
                "answers"
            )
        return open_run(model, settings.retriever, settings.run, **settings.models)

    def _failed(self, error: Exception) -> Response:
        if error is self._foreign:  # an error of other middleware is meant for the agent
            raise error
        reason = reason_or_raise(error, self._settings.on_failure)
        if isinstance(error, NoDocumentsError):
            return self._left(reason, GapKind.NO_DOCUMENTS, logging.INFO, error)
        return self._left(f"its check failed: {reason}", cause=error)

    def _finished(self, run: Run) -> Response:
        """Return the checked answer, a proposal that awaits a decision, or the refusal."""
        first = self._answers[0]
        ending = early_ending(first.message)
        system = self._called.system_message
        texts = self._asked.unread(*([str(system.text)] if system else ()))
        run = with_later_gaps(
            self._with_usage(run),
            *([unfinished(ending)] if ending else []),
            *self._asked.left_out,
            *self._lost,
            *self._asked.attached_gaps,
            *unread_facts(run, texts),
        )
        if not meets(run, self._settings.require):
            return self._refused(run)
        last = self._answer_of(run.answer or "")
        if not (self._settings.approve_flips and run.flipped):
            return last.replaced(with_verdict(last.message, run), {"conflict": whole(run)})
        # the decision on the flip uses the message's id to find the first answer
        standing = first.message.model_copy(update={"id": first.message.id or str(uuid4())})
        proposal = propose(standing, last.message, run)
        return first.replaced(standing, {"conflict_proposal": proposal})

    def _refused(self, run: Run, cause: Exception | None = None) -> Response:
        """Return the configured refusal instead of the answer; raise an error if none is set."""
        settings, first = self._settings, self._answers[0]
        if settings.refusal is None:
            refuse(run, settings.require, cause)
        # no id and no token probabilities, since the model did not write the refusal
        metadata = {k: v for k, v in first.message.response_metadata.items() if k != "logprobs"}
        update = {"content": settings.refusal, "id": None, "response_metadata": metadata}
        message = with_verdict(first.message.model_copy(update=update), run)
        parts = first.response.result
        # the calls that carry a structured answer are removed with it, and so are their results
        answering = next(n for n, each in enumerate(parts) if isinstance(each, AIMessage))
        place = len(parts) - 1 if first.response.structured_response is None else answering
        response = ModelResponse(result=[*parts[:place], message])
        return ExtendedModelResponse(response, Command(update={"conflict": whole(run)}))

    def _uncheckable(self) -> Response:
        if not self._documents and self._settings.retriever is None:
            # common in agents that also chat, so it is logged only at debug level
            note = "no tool returned documents for this question, and there is no retriever"
            return self._left(note, GapKind.NO_DOCUMENTS, logging.DEBUG)
        # asked_in returns no question in both cases
        note = "the last human message has no text, or is the chat client's own request for a title"
        return self._left(note, GapKind.NO_DOCUMENTS, logging.INFO)

    def _left(
        self,
        reason: str,
        kind: GapKind = GapKind.CHECK_FAILED,
        level: int = logging.WARNING,
        cause: Exception | None = None,
    ) -> Response:
        """Return the answer unchanged, with a verdict that says why it was not checked.

        If ``require`` demands a check, the answer is refused instead.
        """
        note = f"the answer was kept unchanged: {reason}"
        _log.log(level, note)
        draft, method = self._answers[0], Method.REGENERATED_RAG
        empty_run = Run(question=self._asked.question, method=method, run_id=uuid4().hex)
        text = str(draft.message.text)
        if kind is GapKind.NO_DOCUMENTS and states_nothing(text, self._asked.question):
            kind = GapKind.STATES_NOTHING
        run = self._with_usage(empty_run.unchecked(text, note, kind)).with_gaps(
            *self._asked.left_out, *self._lost
        )
        if not meets(run, self._settings.require):
            return self._refused(run, cause)
        return draft.replaced(with_verdict(draft.message, run), {"conflict": whole(run)})

    def _with_usage(self, run: Run) -> Run:
        return run.model_copy(update={"usage": run.usage + self._watch.usage})


def _answer_in(response: ModelResponse[Any]) -> _Said | None:
    """Return the answer in a response; None if the response calls tools or has no answer."""
    if response.structured_response is not None:
        return _structured_in(response)
    last = response.result[-1] if response.result else None
    if not isinstance(last, AIMessage) or last.tool_calls or last.invalid_tool_calls:
        return None
    return _Said(last, response) if last.text.strip() else None


def _structured_in(response: ModelResponse[Any]) -> _Said | None:
    text = data_text(response.structured_response)
    message = next((each for each in response.result if isinstance(each, AIMessage)), None)
    if text is None or message is None:
        return None
    update = {"content": text, "tool_calls": [], "invalid_tool_calls": []}
    return _Said(message.model_copy(update=update), response)


def _chat_model(model: object) -> BaseChatModel | None:
    """Return the chat model itself, without anything that middleware has bound to it."""
    while isinstance(model, RunnableBinding):
        model = model.bound
    return model if isinstance(model, BaseChatModel) else None
