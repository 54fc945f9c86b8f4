"""begin: validate the input of a run and start with a fresh state."""

from typing import Any

from conflictscore.loop.framework_messages import question_place
from conflictscore.loop.inputs import EMPTY_RUN, given_documents, read_question
from conflictscore.loop.state import RagState, RunRuntime
from conflictscore.loop.turns import history_of, turns_in
from conflictscore.retrieval.search_notes import collecting


async def begin(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Validate the input before any call costs money, and start with a fresh state.

    If ``question`` is missing, the question is the last human message that a user wrote. If
    ``history`` is missing, the history consists of the messages before the question. On a
    checkpointer's thread, those messages are the earlier questions and answers.
    """
    messages = state.get("messages") or []
    place = question_place(messages)
    question = state["question"]
    if place is not None and not str(question).strip():
        question = str(messages[place].text)
    question, options = read_question({**state, "question": question})
    with collecting() as notes:
        # only for its errors and notes; ``retrieve`` reads the documents again
        given_documents(state)
    turns = history_of(state["history"]) or turns_in(messages[: place or 0])
    history = [turn._asdict() for turn in turns]
    return {**EMPTY_RUN, "question": question, "asked": question, "options": options} | {
        "history": history,
        "notes": notes,
    }
