"""One answer of an agent: from what its model says first to what the agent says."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from uuid import uuid4

from langchain.agents.middleware import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableBinding
from langgraph.types import Command
from pydantic import SecretStr

from conflictscore.errors import (
    ConfigurationError,
    NoDocumentsError,
    UnreadableReplyError,
)
from conflictscore.graph.create import run_context
from conflictscore.graph.settings import LoopSettings
from conflictscore.middleware.approval import in_state, propose, with_run
from conflictscore.middleware.calls import CallWatch
from conflictscore.middleware.excuses import OnFailure, excused
from conflictscore.middleware.messages import asked_in, documents_from_messages
from conflictscore.middleware.steps import AnswerAgain, Given, Steps, correction
from conflictscore.models.clients import was_cut
from conflictscore.models.failures import clear_error
from conflictscore.nodes.generate import cut_notes
from conflictscore.nodes.regenerate import regeneration_prompt
from conflictscore.nodes.state import RunContext
from conflictscore.prompts import PromptSet
from conflictscore.records import Method, Run

__all__ = ["Response", "Settings", "Turn"]

Response = ModelResponse[Any] | ExtendedModelResponse[Any]

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Settings:
    """What a middleware was set up with."""

    retriever: BaseRetriever | None
    loop: LoopSettings
    """Its judge is open, or None where the agent's own model judges."""
    prompts: PromptSet
    approve_flips: bool
    on_failure: OnFailure


class _Said(NamedTuple):
    """An answer in words, and the response that it came in."""

    message: AIMessage
    response: ModelResponse[Any]

    def replaced(self, message: BaseMessage, update: dict[str, Any]) -> Response:
        """The response with another last message, and an update of the agent's state."""
        result = [*self.response.result[:-1], message]
        return ExtendedModelResponse(ModelResponse(result=result), Command(update=update))


class Turn:
    """One model call of an agent, with what is done about its answer.

    Attributes:
        watch: Makes the calls of the agent's model.
        hidden: Whether the answer may be replaced, so that its tokens must not be streamed.
    """

    def __init__(self, request: ModelRequest[Any], settings: Settings) -> None:
        """Read the question and the documents from the agent's state.

        The question is the last human message, and only what tools brought since then counts. Both
        are read from the state, since a middleware may have shortened what the model is sent.
        """
        asked = asked_in(request.state["messages"])
        self._request, self._settings, self._asked = request, settings, asked
        self._documents = documents_from_messages(asked.since)
        self.watch = CallWatch()
        checkable = asked.question and (self._documents or settings.retriever)
        self.hidden = bool(settings.loop.max_rounds and checkable)
        self._said: list[_Said] = []
        self._foreign: Exception | None = None

    def opened(self, draft: ModelResponse[Any]) -> Response | None:
        """What to return at once; None where the draft is an answer to be looked at."""
        answer = _answer_in(draft)
        if answer is None:
            return draft
        self._said.append(answer)
        if self.watch.failure is not None:
            return self._left("its model failed, and this is a message in the place of an answer")
        if not self._documents and self._settings.retriever is None:
            return self._left(
                "no tool brought documents for it, and there is no retriever to ask", logging.DEBUG
            )
        if not self._asked.question:
            return self._left("the last human message asks nothing in words", logging.INFO)
        return None

    def steps(self) -> Steps:
        """What is to be done about the answer."""
        documents = [document.to_json() for document in self._documents]
        return correction(self._asked.question, documents, self._asked.history)

    @cached_property
    def context(self) -> RunContext:
        """What the answer is scored with; the agent's own model judges where no other does.

        Raises:
            InputError: A setting is out of range.
            ConfigurationError: There is no judge, and the agent's model is no chat model; or the
                labeler is unknown.
        """
        settings = self._settings
        model = _chat_model(self._request.model) or settings.loop.judge
        if model is None:
            raise ConfigurationError(
                f"the agent's model is no chat model but a {type(self._request.model).__name__},"
                " so the answers need a judge: give judge="
            )
        return run_context(model, settings.retriever, settings.loop)

    def first(self) -> Given:
        """The draft."""
        return Given(str(self._said[0].message.text), seconds=self.watch.seconds)

    def again(self, step: AnswerAgain) -> tuple[ModelRequest[Any], tuple[str, ...]]:
        """The request for another answer, and what to note of it.

        The conversation goes along, with the earlier answer at its end; no tool is offered. Where
        the type of the conflict is told, the documents are shown once more, with their dates.

        Raises:
            ContextWindowError: The window is too small for documents that are to be shown.
        """
        prompts, notes = self.context.prompts, list[str]()
        before = self._said[-1].message
        if self._documents and step.conflict_type is None:
            prompt = step.prompt(prompts)
        else:
            prompt, fitted = regeneration_prompt(
                step.question,
                (),
                step.before,
                step.claim,
                step.documents,
                model=self.context.generator,
                prompts=prompts,
                history=[*_system(self._request), *self._request.messages, before],
                conflict_type=step.conflict_type,
            )
            notes = cut_notes(fitted, "answer again")
        request = self._request.override(
            messages=[*self._request.messages, before, HumanMessage(prompt)],
            tools=[],
            tool_choice=None,
            response_format=None,
        )
        return request, tuple(notes)

    def given(self, response: ModelResponse[Any], notes: tuple[str, ...]) -> Given:
        """Keep another answer, and hand on its text.

        Raises:
            UnreadableReplyError: It is no answer, or not all of one.
        """
        answer, provider = _answer_in(response), self.context.generator.name
        if answer is None or self.watch.failure is not None:
            raise UnreadableReplyError("it was no answer in words", provider=provider)
        if was_cut(answer.message):
            raise UnreadableReplyError("it was cut off", provider=provider)
        self._said.append(answer)
        return Given(str(answer.message.text), notes)

    @contextmanager
    def model_failures(self) -> Iterator[None]:
        """Tell what the agent's model failed at from what another middleware raised.

        Raises:
            ConflictScoreError: The model failed; one clear line.
        """
        try:
            yield
        except Exception as error:
            if error is not self.watch.failure:
                self._foreign = error
                raise
            generator = self.context.generator
            raise clear_error(
                error,
                provider=generator.name,
                endpoint=generator.endpoint,
                secrets=_secrets(generator.chat),
            ) from None

    def failed(self, error: Exception) -> Response:
        """What to return where the answer could not be looked at.

        Raises:
            Exception: The error itself, where it is not ours, or where failures are to be raised.
        """
        if error is self._foreign:
            raise error
        reason = excused(error, self._settings.on_failure)
        if isinstance(error, NoDocumentsError):
            return self._left(reason, logging.INFO)
        return self._left(f"the check of it failed: {reason}")

    def finished(self, run: Run) -> Response:
        """What to return after the steps."""
        run, first, last = self._with_usage(run), self._said[0], self._said[-1]
        if not (self._settings.approve_flips and run.flipped):
            return last.replaced(with_run(last.message, run), {"conflict": in_state(run)})
        standing = first.message.model_copy(update={"id": first.message.id or str(uuid4())})
        proposal = propose(standing, last.message, run)
        return first.replaced(standing, {"conflict_proposal": proposal})

    def _left(self, reason: str, level: int = logging.WARNING) -> Response:
        note = f"the answer was left as it is: {reason}"
        _log.log(level, note)
        begun = Run(
            question=self._asked.question, method=Method.REGENERATED_RAG, run_id=uuid4().hex
        )
        run = self._with_usage(begun.unchecked(self.first().text, note))
        draft = self._said[0]
        return draft.replaced(draft.message, {"conflict": in_state(run)})

    def _with_usage(self, run: Run) -> Run:
        return run.model_copy(update={"usage": run.usage + self.watch.usage})


def _answer_in(response: ModelResponse[Any]) -> _Said | None:
    """The answer in words, where the response is one, and no tool call or structured one."""
    last = response.result[-1] if response.result else None
    if not isinstance(last, AIMessage) or last.tool_calls or last.invalid_tool_calls:
        return None
    if response.structured_response is not None or not last.text.strip():
        return None
    return _Said(last, response)


def _system(request: ModelRequest[Any]) -> list[BaseMessage]:
    return [request.system_message] if request.system_message else []


def _chat_model(model: object) -> BaseChatModel | None:
    """The chat model under what a middleware may have bound to it."""
    while isinstance(model, RunnableBinding):
        model = model.bound
    return model if isinstance(model, BaseChatModel) else None


def _secrets(model: object) -> list[str]:
    return [item.get_secret_value() for item in vars(model).values() if isinstance(item, SecretStr)]
