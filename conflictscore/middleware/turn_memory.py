"""Remembers the question and the tool results of an agent's turn, in case they are removed.

Summarising middleware removes the question and early results from the state, and other middleware
may move large results to a file. Our middleware therefore stores a turn's question in a separate
field of the state, and the original tool results in this process. If the agent continues in another
process, results are read from its messages, and missing results are reported.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    ToolCall,
    ToolMessage,
    convert_to_messages,
)

from conflictscore.loop.framework_messages import question_place
from conflictscore.loop.turns import turns_in
from conflictscore.middleware.tool_updates import is_redacted, message_of
from conflictscore.records import Gap, GapKind

_MOST_TURNS = 256
"""Maximum turns to remember; the least recently used turn is dropped first. Some turns never end,
for example if the agent is abandoned. Without this maximum, they would stay in memory. Chosen by
hand.
"""

Result = tuple[ToolCall, ToolMessage]


@dataclass
class TurnMemory:
    """The tool results of all current turns in this process."""

    _results: OrderedDict[str, dict[str, Result]] = field(default_factory=OrderedDict)
    # tools may run in several threads
    _changing: threading.Lock = field(default_factory=threading.Lock)

    def keep(self, state: Mapping[str, Any], call: ToolCall, result: object) -> None:
        """Store the message of a tool call before other middleware shortens it."""
        turn = state.get("conflict_turn")
        call_id = call.get("id")
        message = message_of(result, call_id)
        if not turn or not call_id or message is None:
            return
        with self._changing:
            results = self._results.setdefault(turn["id"], {})
            results[call_id] = (call, message)
            self._results.move_to_end(turn["id"])
            while len(self._results) > _MOST_TURNS:
                self._results.popitem(last=False)

    def forget(self, state: Mapping[str, Any]) -> None:
        """Forget a turn that has ended."""
        with self._changing:
            self._results.pop((state.get("conflict_turn") or {}).get("id", ""), None)

    def messages(self, state: Mapping[str, Any]) -> list[BaseMessage]:
        """Return the messages of a state, with the turn's original question and results.

        All other messages that the turn added to the conversation stay in place.
        """
        return self.conversation(state)[0]

    def conversation(self, state: Mapping[str, Any]) -> tuple[list[BaseMessage], int | None]:
        """Return :meth:`messages`, and the position of the turn's question among them.

        The position is None if the turn began without a question.
        """
        messages = list(state["messages"])
        turn = state.get("conflict_turn")
        if not turn:
            return messages, None
        results = self._results_of(turn, messages)
        place = _place_of_question(messages, turn)
        # If a summary has replaced the question, it has replaced everything before the question
        # too. The summary is then the last human message.
        if place is None:
            last_human = max(
                (n for n, each in enumerate(messages) if isinstance(each, HumanMessage)), default=-1
            )
            question = HumanMessage(turn["question"])
            messages = [
                *convert_to_messages(turn["history"]),
                question,
                *messages[last_human + 1 :],
            ]
            place = len(turn["history"])
        before, since = messages[: place + 1], messages[place + 1 :]
        asked_at = place if turn["question"] else None
        return [*before, *_restored(since, results)], asked_at

    def _results_of(
        self, turn: Mapping[str, Any], messages: Sequence[BaseMessage]
    ) -> dict[str, Result]:
        """Return the turn's original results; a result that was redacted stays redacted."""
        with self._changing:
            results = self._results.get(turn["id"], {})
            for message in messages:
                if not isinstance(message, ToolMessage) or message.tool_call_id not in results:
                    continue
                call, original = results[message.tool_call_id]
                if is_redacted(message, original):
                    # the artifact still contains the words that the text lost
                    bare = message.model_copy(update={"artifact": None})
                    results[message.tool_call_id] = (call, bare)
            return dict(results)

    def lost(self, state: Mapping[str, Any]) -> tuple[Gap, ...]:
        """Return the gap for tool results that are neither in the state nor in this process."""
        turn = state.get("conflict_turn") or {}
        there = {each.tool_call_id for each in state["messages"] if isinstance(each, ToolMessage)}
        with self._changing:
            there |= self._results.get(turn.get("id", ""), {}).keys()
        missing = [call_id for call_id in turn.get("calls", ()) if call_id not in there]
        if not missing:
            return ()
        note = f"{len(missing)} of this turn's tool results were removed from the conversation"
        note += " before the answer was checked"
        return (Gap(kind=GapKind.EVIDENCE_LEFT_OUT, note=note),)


def begun(messages: Sequence[BaseMessage]) -> dict[str, Any]:
    """Return ``conflict_turn`` for a turn that begins with these messages, as plain JSON."""
    place = question_place(messages)
    turn: dict[str, Any] = {"id": uuid4().hex, "question": "", "history": [], "calls": []}
    if place is None:
        return turn
    question = messages[place]
    turn |= {"question": str(question.text), "message": question.id}
    return turn | {"history": [each._asdict() for each in turns_in(messages[:place])]}


def brought_up_to_date(state: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return ``conflict_turn``, updated with what the last step changed; None if nothing changed.

    The step may have called tools. Other middleware may have redacted the question, which must stay
    redacted if the question's message is removed later.
    """
    turn, last = state.get("conflict_turn"), state["messages"][-1]
    if not turn or not isinstance(last, AIMessage):
        return None
    ids = [call["id"] for call in last.tool_calls if call["id"]]
    new = {**turn, "calls": list(dict.fromkeys([*turn["calls"], *ids]))}
    place = _place_of_question(state["messages"], turn)
    if place is not None:
        new["question"] = str(state["messages"][place].text)
    return None if new == turn else new


def _place_of_question(messages: Sequence[BaseMessage], turn: Mapping[str, Any]) -> int | None:
    """Return the position of the turn's question, or None if the question was removed."""
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if not isinstance(message, HumanMessage):
            continue
        if turn.get("message") is not None and message.id == turn["message"]:
            return place
        if str(message.text) == turn["question"]:
            return place
    return None


def _restored(since: Sequence[BaseMessage], results: dict[str, Result]) -> list[BaseMessage]:
    """Return the messages since the question, with the original tool results.

    Results that are no longer among the messages are put before them. They follow a message that
    calls their tools, since a result without its call is invalid.
    """
    there = {each.tool_call_id for each in since if isinstance(each, ToolMessage)}
    missing = [result for call_id, result in results.items() if call_id not in there]
    calls = [AIMessage("", tool_calls=[call for call, _ in missing])] if missing else []
    whole = [
        results[each.tool_call_id][1]
        if isinstance(each, ToolMessage) and each.tool_call_id in results
        else each
        for each in since
    ]
    return [*calls, *(message for _, message in missing), *whole]
