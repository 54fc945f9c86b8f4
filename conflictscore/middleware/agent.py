"""Self-correction for LangChain agents, as a middleware of ``create_agent``."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from contextvars import copy_context
from typing import Annotated, Any, NotRequired, Unpack

from langchain_core.retrievers import BaseRetriever
from langgraph.runtime import Runtime

from conflictscore.errors import ConfigurationError, install_hint
from conflictscore.graph.binding import in_callers_thread, run_for_sync_caller
from conflictscore.graph.create import open_run
from conflictscore.graph.keywords import CorrectionOptions, explicit_kwargs, split_options

# imported before our own modules below, which need langchain too
try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
    from langchain.agents.middleware.types import (
        OmitFromSchema,
        PrivateStateAttr,
        ToolCallRequest,
    )
except ModuleNotFoundError:
    raise ConfigurationError(
        f"agents need the package langchain: {install_hint('langchain')}"
    ) from None

from conflictscore.middleware.agent_turn import AgentSettings, AgentTurn, Response
from conflictscore.middleware.approval import decide_on
from conflictscore.middleware.call_watch import (
    CallWatch,
    retrieved_documents,
    with_artifact,
)
from conflictscore.middleware.entrypoints import OnEvent, check_choices
from conflictscore.middleware.outer_verdict import inner_runs, note_inner_run
from conflictscore.middleware.requirement import FailurePolicy, Require
from conflictscore.middleware.tool_updates import ToolResult
from conflictscore.middleware.turn_end import ended
from conflictscore.middleware.turn_memory import TurnMemory, begun, brought_up_to_date


def _latest(before: object, run: dict[str, Any] | None) -> dict[str, Any] | None:
    return run


class ConflictState(AgentState[Any]):
    """The agent's state with the fields that the middleware adds to it."""

    # LangGraph allows several updates in one step only if there is a reducer. A host may return the
    # state of parallel subagents to their parent agent, as deepagents does. The private fields are
    # never returned.
    conflict: NotRequired[
        Annotated[dict[str, Any] | None, OmitFromSchema(input=True, output=False), _latest]
    ]
    """The run of the last answer; None until there is one."""
    conflict_proposal: NotRequired[Annotated[dict[str, Any] | None, PrivateStateAttr]]
    """A flip, that is, a changed answer, that awaits a person's decision."""
    conflict_turn: NotRequired[Annotated[dict[str, Any] | None, PrivateStateAttr]]
    """The current turn's question, and the ids of the turn's tool calls."""


class ConflictScoreMiddleware(AgentMiddleware[ConflictState, Any, Any]):
    """Checks an agent's answers against its documents and corrects disputed claims.

    ```python
    middleware = [ConflictScoreMiddleware()]
    agent = create_agent("openai:gpt-4.1-mini", tools=[search], middleware=middleware)
    state = agent.invoke({"messages": [{"role": "user", "content": "Is it safe to reheat rice?"}]})
    print(state["messages"][-1].text, state["conflict"]["flipped"])
    ```

    Answers are checked against the documents that the agent's tools returned since the last human
    message. Text answers are checked claim by claim, structured answers value by value. If the
    tools returned no documents, the retriever is queried. If there is no retriever either, the
    answer to a follow-up question is checked against earlier tool results of the conversation.

    If a claim is disputed, the middleware calls the agent's model again. This call adds the
    evidence for and against the claim to the agent's conversation, and it offers no tools. The call
    passes through inner middleware, such as retries and fallbacks. So put this middleware before
    the retries and fallbacks in the list. Limits on model calls count both calls as one. Neither
    the first answer nor the evidence becomes part of the history. If the second call fails, the
    first answer is kept, with a note.

    The state's ``conflict`` is the run of the last answer (:class:`conflictscore.Run`) as plain
    JSON. The answer's message has the verdict (:meth:`conflictscore.Run.verdict`, at most 600
    bytes) in ``response_metadata["conflictscore"]``. With ``stream_mode="messages"``, an answer
    that may still be replaced or refused is sent in one piece once it is final.

    Args:
        retriever: Any LangChain retriever, which is queried if the tools returned no documents.
        sources: Names of the tools whose results are documents. By default, the results of two
            kinds of tools are documents: tools whose names suggest a search, and tools that return
            documents or prose.
        approve_flips: Whether a person must approve every changed answer. If a person must approve
            changes, the agent pauses with a LangGraph interrupt and therefore needs a checkpointer.
            Resume it with ``"approve"``, ``"reject"``, ``{"edit": text}``, or LangChain's
            ``{"decisions": [{"type": "approve"}]}``.
        require: How much of an answer must be checked: ``"fully"``, or at least ``"partly"``. Other
            answers are refused, including answers whose check failed. Answers that state nothing,
            such as greetings, and answers on which a person has decided are always returned.
        refusal: Text to return in place of a refused answer; by default an ``UncheckedAnswerError``
            is raised.
        on_failure: What to do if a search or check fails. ``pass_through`` keeps the answer, with a
            note in ``conflict``, and logs a warning. ``raise`` raises the error, and also sets
            ``require="partly"``.
        on_event: A function that is called with each event of a run, such as
            ``{"event": "label", …}``, in a separate thread. The agent's
            ``stream_mode="custom"`` yields the same events.
        **settings: See below. The judge defaults to the agent's own model; ``base_url`` applies
            only to the judge.

    Raises:
        InputError: A setting is out of range.
        ConfigurationError: The judge, its key or the prompt folder is missing or invalid.
    """

    state_schema = ConflictState

    @explicit_kwargs(CorrectionOptions)
    def __init__(
        self,
        *,
        retriever: BaseRetriever | None = None,
        sources: Collection[str] | None = None,
        approve_flips: bool = False,
        require: Require | None = None,
        refusal: str | None = None,
        on_failure: FailurePolicy = "pass_through",
        on_event: OnEvent | None = None,
        **settings: Unpack[CorrectionOptions],
    ) -> None:
        """See the class.

        The judge is opened when the middleware is created, so that an invalid key is reported at
        once.
        """
        super().__init__()
        check_choices(on_failure, sources, require)
        if require is None and on_failure == "raise":
            require = "partly"
        run_settings, models = split_options(settings)
        if (judge := models.pop("judge", None)) is not None:
            # opened as the only model of a run, which is then also its decomposer
            models["judge"] = open_run(judge, None, run_settings, **models).decomposer
        # base_url is only for the judge, since the agent's own model answers
        models.pop("base_url", None)
        self._turns = TurnMemory()
        self._settings = AgentSettings(
            retriever,
            sources,
            run_settings,
            models,
            approve_flips,
            on_failure,
            on_event,
            require,
            refusal,
        )

    def before_agent(self, state: ConflictState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Clear the run of an earlier turn, and store this turn's question."""
        turn = begun(state["messages"])
        return {"conflict": None, "conflict_proposal": None, "conflict_turn": turn}

    def after_agent(self, state: ConflictState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Make the last message's verdict and the state's run agree at the end of the turn.

        See :func:`conflictscore.middleware.turn_end.ended`.
        """
        messages = self._turns.messages(state)
        self._turns.forget(state)
        update = ended(state, messages, self._settings)
        note_inner_run(update.get("conflict") or state["conflict"] or {})
        return {**update, "conflict_turn": None}

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> Response:
        """Call the model and check its answer."""
        watch = CallWatch()

        async def call(model_request: ModelRequest[Any], hidden: bool) -> ModelResponse[Any]:
            return await in_callers_thread(
                lambda: watch.call(handler, model_request, hidden=hidden)
            )

        return run_for_sync_caller(
            AgentTurn(request, self._settings, watch, call, self._turns).response()
        )

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> Response:
        """Asynchronous version of :meth:`wrap_model_call`."""
        watch, outside = CallWatch(), copy_context()

        async def call(model_request: ModelRequest[Any], hidden: bool) -> ModelResponse[Any]:
            calling = watch.call_async(handler, model_request, hidden=hidden)
            # run it in the agent's context, not in the context of a node of the loop
            return await asyncio.create_task(calling, context=outside.copy())

        return await AgentTurn(request, self._settings, watch, call, self._turns).response()

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]
    ) -> ToolResult:
        """Attach the documents that were found inside a tool to the tool's result, as its artifact.

        The documents come from retrievers, or from an agent that the tool called and that checked
        its answer.
        """
        with retrieved_documents() as documents, inner_runs() as runs:
            result = with_artifact(handler(request), request.tool_call["id"], documents, runs)
        self._turns.keep(request.state, request.tool_call, result)
        return result

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolResult]],
    ) -> ToolResult:
        """Asynchronous version of :meth:`wrap_tool_call`."""
        with retrieved_documents() as documents, inner_runs() as runs:
            reply = await handler(request)
            result = with_artifact(reply, request.tool_call["id"], documents, runs)
        self._turns.keep(request.state, request.tool_call, result)
        return result

    def after_model(self, state: ConflictState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Ask for a person's decision on a proposed flip, and record tool calls.

        When the agent resumes with the decision, only this step runs again, so no model is called.
        """
        proposal = state.get("conflict_proposal")
        if not proposal or state["messages"][-1].id != proposal["replaces"]:
            turn = brought_up_to_date(state)
            return None if turn is None else {"conflict_turn": turn}
        settings = self._settings.run
        return decide_on(proposal, state["messages"][-1], settings.prompts, settings.min_coverage)
