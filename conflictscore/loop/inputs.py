"""Validates the input of a run before any call costs money."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import HumanMessage

from conflictscore.errors import InputError
from conflictscore.loop.question_check import check_question
from conflictscore.loop.state import RagState, RunContext
from conflictscore.loop.turns import messages_of
from conflictscore.records import Answer, Document, differs, encodable
from conflictscore.retrieval.documents import as_documents

# The fields that a run writes into the state. Those of the first three lines are None at first.
_TEXTS = ("run_id", "draft", "decomposition_error", "decision", "reason", "regeneration_error")
_VERDICTS = ("answer", "first_answer", "flipped", "justification", "checked", "examined")
_REPORTS = ("report", "final_report")
_LISTS = ("changes", "claims", "gaps", "evidence", "attempts", "searches", "notes")
_MAPPINGS = ("usage", "timings")
EMPTY_RUN: dict[str, Any] = {
    **dict.fromkeys(_TEXTS + _VERDICTS + _REPORTS),
    **{name: [] for name in _LISTS},
    **{name: {} for name in _MAPPINGS},
}
"""The state of a run before its first step.

All runs share its lists and mappings, since steps replace them and never change them in place.
"""

NO_QUESTION = "Is everything in this text right?"
"""The question for an answer that comes without one, since prompts must contain a question.

The question asks for no fact, so it is not put to the documents.
"""


def whole_input(run_input: dict[str, Any], context: RunContext) -> dict[str, Any]:
    """Complete the input of a run, and reset all fields from earlier questions of its thread.

    If the input has no messages, the question becomes the thread's next message. Otherwise, the
    last human message serves as the question's message, since it may be a prompt that contains the
    question. If there is no retriever, the documents of an earlier question are kept, since there
    would otherwise be nothing to answer from.
    """
    blank: dict[str, Any] = {"question": "", "options": [], "history": [], "draft_answer": None}
    blank["is_question_clear"] = True
    if context.retriever is not None:
        blank["documents"] = []
    # None counts as missing, since programs often pass a field for which they have no value
    whole = {**blank, **{name: field for name, field in run_input.items() if field is not None}}
    question = whole["question"]
    if messages := messages_of(whole.get("messages"), "messages"):
        whole["messages"] = messages
    elif isinstance(question, str) and question.strip():
        whole["messages"] = [HumanMessage(question)]
    return whole


def read_question(state: RagState) -> tuple[str, list[str]]:
    """Validate all input, and return the question and its options."""
    question: object = encodable(state.get("question", ""))
    if not isinstance(question, str):
        raise InputError(f"the question is {type(question).__name__}, not a string")
    question = question.strip()
    options = _options_of(state)
    check_question(question, options)
    given_answer(state, options)  # only for its errors; ``generate`` reads the answer again
    return question, options


def _options_of(state: RagState) -> list[str]:
    options: object = state.get("options") or []
    if not isinstance(options, list | tuple):
        raise InputError(f"options is {type(options).__name__}, not a list of texts")
    for number, option in enumerate(options, start=1):
        if not isinstance(option, str):
            raise InputError(f"option {number} is {type(option).__name__}, not a string")
    return [option.strip() for option in encodable(list(options))]


def given_answer(state: RagState, options: Sequence[str]) -> Answer | None:
    """Return the first answer if the caller passed one, and None otherwise.

    For a multiple-choice question, white space and case may differ from the option.
    """
    text: object = state.get("draft_answer")
    if text is None:
        return None
    if not isinstance(text, str):
        raise InputError(f"draft_answer is {type(text).__name__}, not a string")
    if not text.strip():
        raise InputError("draft_answer is empty; omit it to have the question answered")
    if not options:
        return Answer(text=text.strip())
    for number, option in enumerate(options):
        if not differs(text, option):
            return Answer(text=option, option=number)
    raise InputError("draft_answer is not one of the options; give the full text of an option")


def given_documents(state: RagState) -> tuple[Document, ...]:
    """Return the caller's documents, numbered from 1 in order, without marking near-duplicates."""
    return as_documents(state.get("documents") or ())
