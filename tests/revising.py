"""The scripted model of ``world``, for long answers that are revised in place.

Each sentence with a year is a claim; a claim names the passage that makes it.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from conflictscore.markdown import passages
from tests.fakes.openai_server import ChatRequest, Fault, Reply
from tests.middleware.agents import AgentWorld
from tests.world import World, between

DOCUMENTS = [
    {"text": "The lamp was lit in 1874, says the log.", "title": "Log"},
    {"text": "It is known that the lamp was lit in 1874.", "title": "Almanac"},
    {"text": "The lamp was lit in 1871.", "title": "Gazette"},
    {"text": "The tower was built in 1840.", "title": "Deeds"},
]
"""Two documents against one about the lamp, and one about the tower."""

LONG = """# The light at Vennick

Vennick is a headland in the west. **The lamp was lit in 1871.** Its light reaches far [1].

- It was the first of its kind;
- the tower was built in 1850.

| what | colour |
|------|--------|
| lamp | red    |

```sh
curl -s https://light.test/vennick | head  # lamp
```

See [the log](https://log.test/a(b)) for more."""
"""Two documents to one contradict the lamp's year, and one contradicts the tower's."""

_YEAR = re.compile(r"\b1[89]\d\d\b")
_PUT_IN = "Write the passage again with this corrected"
_OWN_QUESTION = "Write the question that a statement answers"
_SAID = {"lamp": "The lamp was lit in {}.", "tower": "The tower was built in {}."}


def passage_in(prompt: str) -> str:
    """The passage to rewrite."""
    return prompt.rpartition('<answer part="passage">')[2].partition("</answer>")[0].strip()


@dataclass
class RevisingWorld(World):
    """The model's replies about the lamp and the tower.

    ``read`` gives a document's answer from the topic and the document. If a passage needs a writer,
    ``written`` rewrites it.
    """

    answer: str = LONG
    read: Callable[[str, str], str | Fault] = field(
        default=lambda topic, document: (
            _SAID[topic].format(_YEAR.findall(document)[0])
            if topic in document and _YEAR.search(document)
            else "The document does not say."
        )
    )
    written: Callable[[str], str | Fault] = field(
        default=lambda passage: passage.replace("1871", "1874").replace("1850", "1840")
    )
    read_rest: str | None = None
    """The claims of a passage without a year that is read again; None if it has none."""

    def __call__(self, request: ChatRequest) -> Reply | str | Fault:
        asked = [m["content"] for m in request.messages if m["role"] == "user"]
        prompt = next((p for p in asked if _PUT_IN in p), asked[0])
        if _PUT_IN in prompt:
            return self.written_again(prompt)
        if _OWN_QUESTION in prompt:
            topic = "tower" if "tower" in between(prompt, "claim") else "lamp"
            question = "When was the tower built?" if topic == "tower" else "When was the lamp lit?"
            return self._noted("claim_question", prompt, lambda: question)
        if "Reply with one short full sentence that repeats" in prompt:
            question = prompt.rpartition("Question: ")[2].partition("\n")[0]
            topic = "tower" if "tower" in question else "lamp"
            document = between(prompt, "document")
            return self._noted("ask_document", prompt, lambda: self.read(topic, document))
        anew = "Take a passage of an answer apart" in prompt
        if (anew or self.decomposition is None) and "separate claims that it makes" in prompt:
            self.asked["decompose"] += 1
            passage = prompt.rpartition("<answer>")[2].partition("</answer>")[0].strip()
            if anew and self.read_rest and not _YEAR.search(passage):
                return self.read_rest
            claims = claims_of(passage)
            return self.broken.get("decompose") or (
                claims if "two bars" in prompt else re.sub(r" \|\| .*", "", claims)
            )
        return super().__call__(request)

    def written_again(self, prompt: str) -> str | Fault:
        """The reply to a request to rewrite a passage."""
        return self._noted("put_in", prompt, lambda: self.written(passage_in(prompt)))

    def _noted(self, step: str, prompt: str, reply: Callable[[], str | Fault]) -> str | Fault:
        self.asked[step] += 1
        self.prompts.setdefault(step, []).append(prompt)
        return self.broken[step] if step in self.broken else reply()


@dataclass
class RevisingAgentWorld(RevisingWorld, AgentWorld):
    """The same model, working as an agent."""


def claims_of(answer: str) -> str:
    """A claim for each passage with a year, with the first words of the passage."""
    said = [answer[p.start : p.end] for p in passages(answer)]
    claims = [
        f"- {' '.join(one.strip('*#| ').split())} || {' '.join(one.split()[:4])}"
        for one in said
        if _YEAR.search(one)
    ]
    return "\n".join(["Claims:", *claims])
