"""A judge on a loopback server: the verdicts of its two measures, as a test scripts them."""

from conflictscore.models.language_model import LanguageModel
from conflictscore.models.spec import from_chat_model
from tests.fakes.openai_server import ChatRequest, OpenAIServer
from tests.world import scripted_model

__all__ = ["asks_for", "opened"]


def asks_for(request: ChatRequest) -> str:
    """The measure that a prompt is about."""
    first = next(m["content"] for m in request.messages if m["role"] == "user")
    return "truthful" if "TRUTHFUL: [" in first else "informative"


def opened(server: OpenAIServer) -> LanguageModel:
    return from_chat_model(scripted_model(server), context_window=8192)
