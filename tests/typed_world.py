"""The scripted model of ``world``, which can also tell a conflict type and cite documents."""

from dataclasses import dataclass

from tests.fakes.openai_server import ChatRequest, Fault, Reply
from tests.world import World

_MARKS = {
    "classify": "Decide how they relate to it and to each other",
    "classify_and_cite": "First decide how the documents relate to it",
    "cite": "End each sentence with the numbers of the documents",
}


@dataclass
class TypedWorld(World):
    """The model's replies; with several classifications, each call gets the next one."""

    classification: str | list[str] = "REASON: The log is of a later day.\nTYPE: outdated"
    cited: str = "It was lit in 1874 [2]."
    typed_answer: str = "REASON: The log is newer.\nTYPE: outdated\nANSWER: It was lit in 1874 [2]."

    def __call__(self, request: ChatRequest) -> Reply | str | Fault:
        prompt = next(m["content"] for m in request.messages if m["role"] == "user")
        step = next((step for step, mark in _MARKS.items() if mark in prompt), None)
        if step is None:
            return super().__call__(request)
        self.asked[step] += 1
        self.prompts.setdefault(step, []).append(prompt)
        if step in self.broken:
            return self.broken[step]
        if step == "classify":
            if isinstance(self.classification, str):
                return self.classification
            return self.classification[self.asked[step] - 1]
        return self.cited if step == "cite" else self.typed_answer
