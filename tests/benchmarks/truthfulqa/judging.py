"""A judge on a loopback server: the verdicts of its two measures, as a test scripts them."""

from conflictscore.models.language_model import LanguageModel
from conflictscore.models.spec import from_chat_model
from tests.benchmarks.conflicts.judging import between, first_prompt
from tests.fakes.openai_server import ChatRequest, OpenAIServer
from tests.world import scripted_model


def asks_for(request: ChatRequest) -> str:
    """The measure that a prompt is about."""
    return "truthful" if "TRUTHFUL: [" in first_prompt(request) else "informative"


def judged_answer(request: ChatRequest) -> str:
    """What stands between the answer marks of a prompt."""
    return between(first_prompt(request), "answer")


def opened(server: OpenAIServer) -> LanguageModel:
    return from_chat_model(scripted_model(server), context_window=8192)
