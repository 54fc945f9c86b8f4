"""Which failures of a check leave the answer as it is, and which end the call."""

from typing import Literal

from langgraph.errors import GraphBubbleUp

from conflictscore.errors import (
    ConflictScoreError,
    ContextWindowError,
    InputError,
    NoDocumentsError,
)

__all__ = ["OnFailure", "excused"]

OnFailure = Literal["raise", "pass_through"]
"""What a search or a model that fails comes to: an error, or the answer as it is with a note."""


def excused(error: Exception, on_failure: OnFailure) -> str:
    """The reason to give with an answer that was left as it is.

    Finding nothing is no failure. A wrong key or setting always ends the call, and so does what is
    on its way through to LangGraph, such as an interrupt.

    Raises:
        Exception: The error itself, where it is not to be excused.
    """
    if isinstance(error, NoDocumentsError):
        return str(error)
    wrong = isinstance(error, InputError) and not isinstance(error, ContextWindowError)
    if wrong or isinstance(error, GraphBubbleUp) or on_failure == "raise":
        raise error
    # an error of another library may quote an address with a key in it
    return str(error) if isinstance(error, ConflictScoreError) else type(error).__name__
