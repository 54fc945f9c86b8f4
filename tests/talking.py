"""A scripted model in a conversation, and a retriever that remembers its queries."""

from dataclasses import dataclass, field
from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field

from tests.fakes.openai_server import ChatRequest, Fault, Reply
from tests.world import DISAGREEING, World

STANDING_ALONE = "When was the lamp of Vennick lighthouse lit?"
LAMP: list[dict[str, str]] = [
    {"role": "system", "content": "You answer for the harbour office."},
    {"role": "user", "content": "Tell me of Vennick lighthouse."},
    {"role": "assistant", "content": "It stands on the point, and it has a lamp."},
]
"""A conversation that ``When was it lit?`` continues."""

_RETRY = "That reply could not be used"
_REWRITE = "The user's last message:"

Said = list[tuple[str, str]]


@dataclass
class Talk(World):
    """The world, asked by a conversation's last prompt; it also makes questions stand alone."""

    standing_alone: str = STANDING_ALONE
    said: list[Said] = field(default_factory=list)
    """The messages of each request, as role and text."""

    def __call__(self, request: ChatRequest) -> Reply | str | Fault:
        said = [(message["role"], str(message["content"])) for message in request.messages]
        self.said.append(said)
        prompt = _prompt(said)
        if _REWRITE not in prompt:
            messages = [{"role": "user", "content": prompt}]
            return super().__call__(ChatRequest({**request.body, "messages": messages}, {}))
        self.asked["contextualize"] += 1
        self.prompts.setdefault("contextualize", []).append(prompt)
        return self.broken.get("contextualize", self.standing_alone)

    def conversations(self, step: str) -> list[Said]:
        """The messages of a step's requests."""
        return [said for said in self.said if _prompt(said) in self.prompts[step]]


class Shelf(BaseRetriever):
    """Finds the same documents for any query."""

    found: list[dict[str, str]] = Field(default_factory=lambda: DISAGREEING)
    queries: list[str] = Field(default_factory=list)

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        self.queries.append(query)
        return [
            Document(page_content=d["text"], metadata={k: d[k] for k in d if k != "text"})
            for d in self.found
        ]


class Failing(BaseRetriever):
    """A retriever that fails."""

    error: Any

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        raise self.error


def _prompt(said: Said) -> str:
    asked = [text for role, text in said if role == "user" and not text.startswith(_RETRY)]
    return asked[-1] if asked else ""
