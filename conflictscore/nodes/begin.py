"""begin: read the question and the conversation before it, and forget the run before."""

from typing import Any

from langchain_core.messages import HumanMessage

from conflictscore.nodes.conversation import history_of, messages_of, turns_in
from conflictscore.nodes.retrieve import given_documents, read_question
from conflictscore.nodes.state import RagState, RunContext, RunRuntime

EMPTY_RUN: dict[str, Any] = {
    **dict.fromkeys(("run_id", "draft", "decomposition_error", "unclaimed", "decision", "reason")),
    **dict.fromkeys(("regeneration_error", "answer", "first_answer", "flipped", "justification")),
    **dict.fromkeys(("checked", "report", "final_report")),
    **{name: [] for name in ("changes", "claims", "evidence", "attempts", "searches", "notes")},
    **{name: {} for name in ("usage", "timings")},
}
"""The state of a run before its first step."""


def whole_input(given: dict[str, Any], context: RunContext) -> dict[str, Any]:
    """The input of a run with nothing left over from an earlier question of its thread.

    A question joins the thread's messages. Documents of an earlier question stay where there is no
    retriever: there would be nothing to answer from.
    """
    blank: dict[str, Any] = {"question": "", "options": [], "history": [], "draft_answer": None}
    if context.retriever is not None:
        blank["documents"] = []
    whole = {**blank, **{name: value for name, value in given.items() if value is not None}}
    question = whole["question"]
    if messages := messages_of(whole.get("messages"), "messages"):
        whole["messages"] = messages
    elif isinstance(question, str) and question.strip():
        whole["messages"] = [HumanMessage(question)]
    return whole


async def begin(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Check the input before anything is paid for, and start the run from nothing.

    Without a ``question``, the last human message is it. Without a ``history``, the messages before
    that one are: on a checkpointer's thread, the earlier questions and their answers.
    """
    messages = state.get("messages") or []
    human = [place for place, one in enumerate(messages) if isinstance(one, HumanMessage)]
    question = state["question"]
    if human and not str(question).strip():
        question = str(messages[human[-1]].text)
    question, options = read_question({**state, "question": question})
    given_documents(state)
    turns = history_of(state["history"]) or turns_in(messages[: human[-1]] if human else [])
    history = [turn._asdict() for turn in turns]
    return {**EMPTY_RUN, "question": question, "asked": question, "options": options} | {
        "history": history
    }
