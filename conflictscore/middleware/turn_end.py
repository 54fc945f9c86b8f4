"""The end of an agent's turn: its last message gets a verdict, whoever wrote that message."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage

from conflictscore.answering.claim_coverage import states_nothing
from conflictscore.middleware.agent_turn import AgentSettings
from conflictscore.middleware.answer_forms import spoken
from conflictscore.middleware.messages import asked_in
from conflictscore.middleware.requirement import meets, refuse
from conflictscore.middleware.run_views import redacted, verdict_of, whole, with_verdict
from conflictscore.middleware.tool_updates import has_new_words
from conflictscore.records import Examined, Gap, GapKind, Method, Run

_NOT_TEXT = "the answer was kept unchanged: it is not a text answer"
_OF_OTHERS = "other middleware put a different message in the place of the checked answer"
_ADDED = "other middleware added text to the answer after its check"


def ended(
    state: Mapping[str, Any], messages: Sequence[BaseMessage], settings: AgentSettings
) -> dict[str, Any]:
    """Return the update of an agent's state at the end of a turn.

    The update contains ``conflict`` only if the run changes, since every update is stored in a
    checkpoint. ``messages`` are the state's messages, with the turn's original question and tool
    results. If the last answer was checked, its run stays in the state. If the answer was redacted
    after the check, the texts of the run are removed. If other middleware added text or wrote the
    answer itself, the verdict says that this text was not checked.
    """
    run, last = state.get("conflict"), state["messages"][-1]
    if not run:
        return _unchecked(last, messages, settings, _NOT_TEXT)
    # a structured answer may be followed by the result of the tool call that carried it
    answer = next((m for m in reversed(state["messages"]) if isinstance(m, AIMessage)), last)
    verdict = answer.response_metadata.get("conflictscore") or {}
    if verdict.get("run_id") != run["run_id"]:
        if spoken(last) != run["answer"]:
            return _unchecked(last, messages, settings, _OF_OTHERS)
        return {"messages": [_with_verdict_of(run, last)]}
    in_words = isinstance(last, AIMessage) and state.get("structured_response") is None
    if not in_words or spoken(last) in (run["answer"], settings.refusal):
        return {}
    if run["answer"] and run["answer"] in spoken(last):
        return _added(run, last, messages, settings)
    if has_new_words(spoken(last), run["answer"] or ""):
        return _unchecked(last, messages, settings, _OF_OTHERS)
    return {"conflict": redacted(run, spoken(last))}


def _added(
    run: Mapping[str, Any],
    last: BaseMessage,
    messages: Sequence[BaseMessage],
    settings: AgentSettings,
) -> dict[str, Any]:
    """Return the update for a checked answer to which other middleware added text."""
    text = spoken(last)
    if states_nothing(text.replace(run["answer"], "", 1), run.get("question") or ""):
        return {}
    if settings.require == "fully":
        return _unchecked(last, messages, settings, _ADDED)
    ledger = Examined.model_validate(run["examined"])
    ledger = ledger.with_gaps(Gap(kind=GapKind.UNCLAIMED, note=_ADDED))
    about = {"examined": ledger.to_json(), "checked": ledger.checked}
    new = {**run, **about, "answer": text, "notes": [*run["notes"], _ADDED]}
    return {"conflict": new, "messages": [_with_verdict_of(new, last)]}


def _with_verdict_of(run: Mapping[str, Any], last: BaseMessage) -> BaseMessage:
    metadata = {**last.response_metadata, "conflictscore": verdict_of(run)}
    return last.model_copy(update={"response_metadata": metadata})


def _unchecked(
    last: BaseMessage, messages: Sequence[BaseMessage], settings: AgentSettings, note: str
) -> dict[str, Any]:
    """Return the update for an unchecked last message, which is refused if a check is required."""
    text = str(last.text)
    question = asked_in(messages).question
    run = Run(question=question, method=Method.REGENERATED_RAG, run_id=uuid4().hex)
    run = run.unchecked(text, note, GapKind.NOT_ANSWERED)
    update: dict[str, Any] = {"conflict": whole(run)}
    if not (meets(run, settings.require) or states_nothing(text, question)):
        if settings.refusal is None:
            refuse(run, settings.require)
        last = _with_refusal(last, settings.refusal)
    elif last.id is None:
        # LangGraph would append a message without an id instead of replacing the last one
        return update
    return update | {"messages": [with_verdict(last, run)]}


def _with_refusal(last: BaseMessage, refusal: str) -> BaseMessage:
    """Return the refusal in the place of an answer, or after the result of a tool."""
    if not isinstance(last, AIMessage):
        return AIMessage(refusal)
    # the log-probabilities would repeat the tokens of the refused answer
    metadata = {k: v for k, v in last.response_metadata.items() if k != "logprobs"}
    update = {"content": refusal, "tool_calls": [], "invalid_tool_calls": []}
    return last.model_copy(update={**update, "response_metadata": metadata})
