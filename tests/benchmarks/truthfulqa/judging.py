"""A judge on a loopback server, whose verdicts by two measures are scripted by a test."""

from tests.benchmarks.conflicts.judging import between, first_prompt
from tests.fakes.openai_server import ChatRequest


def asks_for(request: ChatRequest) -> str:
    return "truthful" if "TRUTHFUL: [" in first_prompt(request) else "informative"


def judged_answer(request: ChatRequest) -> str:
    return between(first_prompt(request), "answer")
