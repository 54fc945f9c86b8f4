"""A scripted model that reads its prompts: it answers, decomposes, judges and reconsiders.

Documents and claims in these tests state one year each. A document supports a claim with the same
year and contradicts one with another year. It is irrelevant if it has no year, or if the claim is
about the lamp and the document about the tower.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from conflictscore import create_self_correcting_rag
from conflictscore.graph.self_correction import SelfCorrectionGraph
from tests.batches import batch_of, batch_reply
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply

_YEAR = re.compile(r"\b1[89]\d\d\b")
_TOPIC = re.compile(r"\b(?:lamp|tower)\b")

PAPER: dict[str, Any] = {
    "labeler": "json",
    "regeneration": "paper",
    "disputed": ("conflict",),
    "guard": False,
}
"""Settings of the paper's loop: an answer is regenerated, whatever its evidence."""
PAPER_OPTIONS = (
    *("--labeler", "json"),
    *("--set", "regeneration=paper"),
    *("--set", "disputed=conflict"),
    *("--set", "guard=false"),
)
"""The same settings for ``conflictscore ask``."""

DISAGREEING: list[dict[str, str]] = [
    {"text": "The lamp was lit in 1871.", "title": "Gazette", "url": "https://gazette.test/a"},
    {"text": "The log says the lamp was lit in 1874.", "title": "Log", "url": "https://log.test/b"},
    {"text": "The tower is white.", "title": "Walks", "url": "https://walks.test/c"},
]


@dataclass
class World:
    """The model's replies, and how often each step was requested.

    A step named in ``broken`` replies with the fault instead.
    """

    answer: str = "It was lit in 1871."
    regenerated: str | list[str] = "It was lit in 1874."
    reason: str = "The log was written on the night (Doc 2)."
    decomposition: str | None = None
    queries: str = "FOR: lamp diary 1871\nAGAINST: lamp almanac 1874"
    broken: dict[str, Fault | str] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    prompts: dict[str, list[str]] = field(default_factory=dict)

    def __call__(self, request: ChatRequest) -> Reply | str | Fault:  # noqa: C901
        prompt = next(m["content"] for m in request.messages if m["role"] == "user")
        step = step_of(prompt)
        self.asked[step] += 1
        self.prompts.setdefault(step, []).append(prompt)
        if step in self.broken:
            return self.broken[step]
        match step:
            case "decompose" if prompt.endswith("Sentence:"):
                [*_, short] = re.findall(r"^Answer: (.*)$", prompt, re.MULTILINE)
                said = re.findall(r"^- (.*?)(?: \|\|.*)?$", self.decomposition or "", re.MULTILINE)
                return said[0] if said else str(short)
            case "decompose":
                return self.decomposition or f"Claims:\n- {between(prompt, 'answer')}"
            case "label":
                return _judge(prompt)
            case "batch":
                asked = batch_of(prompt)
                return batch_reply([asked.verdict(its_id, compared) for its_id in asked.claims])
            case "choice":
                letter = {"SUPPORTS": "A", "CONTRADICTS": "B", "IRRELEVANT": "C"}[_verdict(prompt)]
                scores = {"A": -3.0, "B": -3.0, "C": -3.0} | {letter: -0.1}
                return Reply(letter, logprobs=scores)
            case "regenerate":
                if isinstance(self.regenerated, str):
                    return self.regenerated
                return self.regenerated[self.asked["regenerate"] - 1]
            case "ask_document":
                return self.reading(between(prompt, "document"))
            case "relation":
                return rival_lines(prompt)
            case "weigh":
                return self.ruling(between(prompt.partition("Statement B:")[0], "claim"))
            case "justify":
                return self.reason
            case "look_further":
                return self.queries
        return self.answer

    def reading(self, document: str) -> str:
        """A document's answer: the first answer, or another if the document gives another year."""
        years, told = _YEAR.findall(document), _YEAR.findall(self.answer)
        other = self.regenerated if isinstance(self.regenerated, str) else self.regenerated[0]
        if not years:
            return "The document does not say."
        return self.answer if set(years) & set(told) else other

    def ruling(self, statement: str) -> str:
        """A verdict against the first answer's side, whichever is statement A."""
        side = "B" if set(_YEAR.findall(statement)) <= set(_YEAR.findall(self.answer)) else "A"
        return f"SIDE: {side}\nGROUND: PRIMARY\nREASON: {self.reason}"


def rival_lines(prompt: str) -> str:
    """The relation of statements to a claim: each is a rival."""
    numbers = re.findall(r"^(\d+)\. \"", prompt, re.MULTILINE)
    return "\n".join(f"{number}: RIVAL" for number in numbers)


def scripted_model(server: OpenAIServer) -> ChatOpenAI:
    """The real client of a scripted server."""
    return ChatOpenAI(
        model="scripted",
        base_url=server.base_url,
        api_key=SecretStr("key"),
        max_retries=0,
        use_responses_api=False,
    )


def paper_loop(model: ChatOpenAI, **settings: Any) -> SelfCorrectionGraph:
    """The paper's loop, without a cache."""
    return create_self_correcting_rag(model, cache=False, **{**PAPER, **settings})


def step_of(prompt: str) -> str:
    if prompt.endswith("Sentence:"):
        return "decompose"
    marks = {
        "decompose": "the separate claims that it makes",
        "label": '"document_snippet"',
        "batch": '"verdicts"',
        "choice": "Reply with the letter only",
        "justify": "Say why the answer changed",
        "look_further": "Write two search queries for it",
        "ask_document": "Reply with one short full sentence that repeats",
        "relation": "A claim of an answer seems to be disputed",
        "weigh": "Two statements answer the same question",
        "regenerate": "on which the documents disagree",
    }
    return next((step for step, mark in marks.items() if mark in prompt), "generate")


def _judge(prompt: str) -> str:
    document = between(prompt, "document")
    return json.dumps(
        {
            "claim": between(prompt, "claim"),
            "document_snippet": document.splitlines()[-1] if document else "",
            "reasoning": "The years were compared.",
            "answer": _verdict(prompt),
        }
    )


def _verdict(prompt: str) -> str:
    return compared(between(prompt, "claim"), between(prompt, "document"))


def compared(claim: str, document: str) -> str:
    """The label of a document for a claim in this world."""
    years, topics = _YEAR.findall(claim), set(_TOPIC.findall(claim))
    if topics and topics.isdisjoint(_TOPIC.findall(document)):
        return "IRRELEVANT"
    if not years or not _YEAR.findall(document):
        return "IRRELEVANT"
    return "SUPPORTS" if set(years) & set(_YEAR.findall(document)) else "CONTRADICTS"


def between(prompt: str, mark: str) -> str:
    """The text between the last pair of these marks."""
    [*_, inside] = ["", *re.findall(rf"<{mark}\b[^>]*>(.*?)</{mark}\b[^>]*>", prompt, re.DOTALL)]
    return str(inside).strip()


def applied(state: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The applied changes of a run, from its state or its summary."""
    return [one for one in state["changes"] if one["accepted"] and one["action"] != "keep"]


def sides(change: Mapping[str, Any]) -> list[tuple[str, list[int], list[int]]]:
    """The claims of a change, each with D+ and D-."""
    return [
        (
            evidence["claim"]["text"],
            [pair["document"] for pair in evidence["labels"] if pair["label"] == "SUPPORTS"],
            [pair["document"] for pair in evidence["labels"] if pair["label"] == "CONTRADICTS"],
        )
        for evidence in change["claims"]
    ]
