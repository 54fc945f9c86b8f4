"""Forms in which a chatbot's function returns its answer: a text, a message, or a mapping."""

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import BaseMessage

from conflictscore.middleware.approval import with_run
from conflictscore.models.replies import reply_text
from conflictscore.records import Run

__all__ = ["CheckedText", "answer_text", "in_its_form"]

_KEYS = (
    *("answer", "output", "output_text", "result", "response", "generation", "text", "content"),
    *("message", "messages"),
)
"""Where chains and agents have their answer; the first that holds one counts."""


class CheckedText(str):
    """An answer, which is a text like any other, with the run that it came from.

    Attributes:
        run: The run; its ``checked`` is ``fully``, ``partly`` or ``no``.
    """

    __slots__ = ("run",)
    run: Run

    @classmethod
    def of(cls, run: Run) -> "CheckedText":
        """The answer that stands at the end of a run."""
        text = cls(run.answer or "")
        text.run = run
        return text


def answer_text(returned: object) -> str | None:
    """The text of an answer; None where there is none in what a function returned."""
    if isinstance(returned, str):
        return returned
    if isinstance(returned, BaseMessage):
        try:
            return reply_text(returned)  # without the model's reasoning
        except ValueError:  # cut while it reasons: checked is what the function's user would read
            return str(returned.text)
    if isinstance(returned, Mapping):
        key = _key(returned)
        return None if key is None else answer_text(returned[key])
    last = returned[-1] if isinstance(returned, list) and returned else None
    return answer_text(last) if isinstance(last, BaseMessage | Mapping) else None


def in_its_form(run: Run, returned: object) -> Any:
    """The final answer of a run, in the form that the function returned its own.

    A message has the run in ``response_metadata["conflictscore"]``, a mapping under
    ``conflictscore``, a text as its ``run``.
    """
    if isinstance(returned, Mapping) and (key := _key(returned)) is not None:
        said = _replaced(returned[key], run)
        return {**returned, key: said, "conflictscore": run.summary("reason", texts=False)}
    return CheckedText.of(run) if isinstance(returned, str) else _replaced(returned, run)


def _key(returned: Mapping[Any, Any]) -> str | None:
    return next((key for key in _KEYS if answer_text(returned.get(key)) is not None), None)


def _replaced(said: Any, run: Run) -> Any:
    """The value that held the answer, with the final one; unchanged where that did not change."""
    if isinstance(said, list):
        return [*said[:-1], _replaced(said[-1], run)]
    if isinstance(said, BaseMessage):
        message = with_run(said, run)
        return message.model_copy(update={"content": run.answer}) if run.flipped else message
    if isinstance(said, Mapping) and (key := _key(said)) is not None:
        return {**said, key: _replaced(said[key], run)}
    return CheckedText.of(run)
