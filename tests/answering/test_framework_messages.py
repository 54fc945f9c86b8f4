"""Messages of frameworks and chat clients, which are not questions from a user."""

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from conflictscore.loop.framework_messages import (
    is_client_task,
    is_framework_message,
    question_place,
)
from conflictscore.middleware.messages import asked_in

QUESTION = "When was the pool of Kell built?"


@pytest.mark.parametrize(
    "text",
    [
        "Please continue.",
        "continue",
        "Go on!",
        "Continue from where you left off",
        "Here is a summary of the conversation to date:\n\nThey spoke of a pool.",
        "This session is being continued from a previous conversation that ran out of context.",
        "Successfully transferred to pool_agent",
    ],
)
def test_what_a_framework_puts_in_leaves_the_users_question_standing(text: str) -> None:
    messages = [HumanMessage(QUESTION), AIMessage("Let me see."), HumanMessage(text)]

    assert is_framework_message(messages[-1])
    assert question_place(messages) == 0
    assert asked_in(messages).question == QUESTION


def test_a_summary_that_says_so_itself_is_told_by_that() -> None:
    summary = HumanMessage("They spoke.", additional_kwargs={"lc_source": "summarization"})

    assert question_place([HumanMessage(QUESTION), summary]) == 0


@pytest.mark.parametrize(
    "text",
    [
        "Should they continue the works on the pool?",
        "Go on about the pool.",
        "When was the conversation summary written?",
    ],
)
def test_a_users_own_words_are_a_question(text: str) -> None:
    messages = [HumanMessage(QUESTION), AIMessage("In 1931."), HumanMessage(text)]

    assert question_place(messages) == 2


@pytest.mark.parametrize(
    ("text", "is_task"),
    [
        ("### Task:\nSuggest three follow-up questions.\n### Chat History:\nUSER: Hi", True),
        ("Generate a concise, 3-5 word title for this conversation.", True),
        ("Suggest a title for my novel about a pool.", False),
        ("What is the title of the show?", False),
    ],
)
def test_a_chat_clients_own_task_asks_nothing_of_documents(text: str, is_task: bool) -> None:
    assert is_client_task(text) is is_task
    assert (asked_in([HumanMessage(text)]).question == "") is is_task


def test_where_every_message_is_a_frameworks_the_last_one_is_what_was_asked() -> None:
    assert question_place([SystemMessage("Be brief."), HumanMessage("Please continue.")]) == 1
    assert question_place([SystemMessage("Be brief.")]) is None
