"""Passes on the verdicts of inner agents to the graph or agent around them.

A supervisor writes the last message itself, so only an earlier message has the verdict on its
agent's answer. :func:`carry_verdict` adds a verdict to the last message. If a tool of an agent
calls another agent, the outer agent reads the inner agent's answer as the tool's result.
:func:`inner_runs` lets the outer agent check its own answer against the inner agent's documents.

Limits without a stated reason were chosen by hand.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage, convert_to_messages

from conflictscore.loop.framework_messages import question_place
from conflictscore.records import GapKind, Run

_KEY = "conflictscore"
# Maximum bytes of a verdict's JSON, as for Run.verdict. Clients store the metadata of each message.
_MOST_BYTES = 600
_MOST_INNER = 3  # Only the latest agents are listed; more would seldom fit into these bytes.
_NAME_CHARS = 40  # An agent's name is cut to this length, so that no name displaces the verdicts.
_REWRITTEN = "the text was written from checked answers, but was not itself checked"
_NOT_CHECKED = "no agent checked an answer in this turn"

_inner_runs: ContextVar[list[Mapping[str, Any]] | None] = ContextVar(
    "conflictscore_inner_runs", default=None
)


def carry_verdict(state: Any) -> dict[str, Any]:
    """Add a verdict to the last message of a graph whose agents check their answers.

    Use it where a model writes the last message from the answers of several agents. It can be the
    ``post_model_hook`` of a supervisor, or the last node of a graph of messages.

    ```python
    create_supervisor([researcher], model=model, post_model_hook=carry_verdict)
    ```

    If the last message repeats the answer of an agent, it gets the verdict on this answer.
    Otherwise its verdict is ``"no"`` with the kind ``"rewritten"``, and ``inner`` lists the agents
    with the verdicts on their answers. If no agent checked an answer since the last human message,
    the kind is ``"no_documents"``. Messages that call tools, and messages that have a verdict,
    are not changed.

    Args:
        state: The state of the graph, with its ``messages``.

    Returns:
        The update of the state: the last message with its verdict, or no change.
    """
    messages = convert_to_messages(state["messages"])
    last = messages[-1] if messages else None
    if not isinstance(last, AIMessage) or last.tool_calls or last.response_metadata.get(_KEY):
        return {}
    place = question_place(messages)
    since = messages[0 if place is None else place + 1 : -1]
    answers = [each for each in since if each.response_metadata.get(_KEY)]
    metadata = {**last.response_metadata, _KEY: _verdict_on(last, answers)}
    return {"messages": [last.model_copy(update={"response_metadata": metadata})]}


def _verdict_on(last: BaseMessage, answers: Sequence[BaseMessage]) -> dict[str, Any]:
    """Return the verdict on the answer that the last message repeats, or a verdict of its own."""
    text = _in_one_line(last)
    for answer in reversed(answers):
        if _in_one_line(answer) == text:
            return dict(answer.response_metadata[_KEY])
    kind, note = GapKind.REWRITTEN, _REWRITTEN
    if all(each.response_metadata[_KEY].get("checked") in (None, "no") for each in answers):
        kind, note = GapKind.NO_DOCUMENTS, _NOT_CHECKED
    verdict = Run().unchecked(str(last.text), note, kind).verdict()
    return _with_inner(verdict, answers[-_MOST_INNER:]) if answers else verdict


def _with_inner(verdict: dict[str, Any], answers: Sequence[BaseMessage]) -> dict[str, Any]:
    """Add the verdicts on the agents' answers to a verdict; it still takes at most 600 bytes."""
    inner = [
        {
            "name": (answer.name or "")[:_NAME_CHARS] or None,
            "checked": answer.response_metadata[_KEY].get("checked"),
            "run_id": answer.response_metadata[_KEY].get("run_id"),
        }
        for answer in answers
    ]
    while inner and len(json.dumps({**verdict, "inner": inner}).encode()) > _MOST_BYTES:
        del inner[0]
    return {**verdict, "inner": inner} if inner else verdict


def _in_one_line(message: BaseMessage) -> str:
    return " ".join(str(message.text).split())


@contextmanager
def inner_runs() -> Iterator[list[Mapping[str, Any]]]:
    """Collect the runs of agents that finish within this block."""
    runs: list[Mapping[str, Any]] = []
    token = _inner_runs.set(runs)
    try:
        yield runs
    finally:
        _inner_runs.reset(token)


def note_inner_run(run: Mapping[str, Any]) -> None:
    """Hand the run of an agent's last answer to the outer agent whose tool called the agent.

    Does nothing if there is no outer agent.
    """
    runs = _inner_runs.get()
    if runs is not None:
        runs.append(run)


def documents_behind(result: object, runs: Sequence[Mapping[str, Any]]) -> list[Document]:
    """Return the documents of the run whose answer is the tool's whole result, if there is one."""
    if not isinstance(result, ToolMessage):
        return []
    text = str(result.text).strip()
    run = next(
        (run for run in reversed(runs) if text and str(run.get("answer")).strip() == text), None
    )
    return [_as_retrieved(each) for each in (run or {}).get("documents") or ()]


def _as_retrieved(document: Mapping[str, Any]) -> Document:
    metadata = {**(document.get("metadata") or {})}
    metadata |= {name: document[name] for name in ("title", "url") if document.get(name)}
    return Document(document["text"], metadata=metadata)
