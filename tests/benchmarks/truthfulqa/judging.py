"""A judge on a loopback server: the verdicts of its two measures, as a test scripts them."""

from conflictscore.models.language_model import LanguageModel
from conflictscore.models.spec import from_chat_model
from tests.fakes.openai_server import ChatRequest, OpenAIServer
from tests.world import scripted_model


def asks_for(request: ChatRequest) -> str:
    """The measure that a prompt is about."""
    first = next(m["content"] for m in request.messages if m["role"] == "user")
    return "truthful" if "TRUTHFUL: [" in first else "informative"


def judged_answer(request: ChatRequest) -> str:
    """What stands between the answer marks of a prompt."""
    first = str(next(m["content"] for m in request.messages if m["role"] == "user"))
    return first.partition("<answer>\n")[2].rpartition("\n</answer>")[0]


def opened(server: OpenAIServer) -> LanguageModel:
    return from_chat_model(scripted_model(server), context_window=8192)
