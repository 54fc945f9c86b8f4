"""Ways to wrap an existing chatbot: a chat model, a middleware for agents, a decorator."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conflictscore.middleware.agent import ConflictScoreMiddleware
    from conflictscore.middleware.chat_model import SelfCorrectingChatModel
    from conflictscore.middleware.decorator import self_correct
    from conflictscore.records import Run

__all__ = ["ConflictScoreMiddleware", "Run", "SelfCorrectingChatModel", "self_correct"]

_HOMES = {
    "ConflictScoreMiddleware": "conflictscore.middleware.agent",
    "Run": "conflictscore.records",
    "SelfCorrectingChatModel": "conflictscore.middleware.chat_model",
    "self_correct": "conflictscore.middleware.decorator",
}


def __getattr__(name: str) -> Any:
    """Import on first use: each way needs packages that the others do without."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
