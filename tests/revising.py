"""The scripted model of ``world``, for answers of many passages that are revised in place.

An answer claims what its sentences with a year say; a claim names the passage that makes it.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from conflictscore.markdown import passages
from tests.fakes.openai_server import ChatRequest, Fault, Reply
from tests.middleware.agents import AgentWorld
from tests.world import World

__all__ = ["DOCUMENTS", "LONG", "RevisingAgentWorld", "RevisingWorld", "passage_in", "revision"]

DOCUMENTS = [
    {"text": "The lamp was lit in 1874, says the log.", "title": "Log"},
    {"text": "It is known that the lamp was lit in 1874.", "title": "Almanac"},
    {"text": "The lamp was lit in 1871.", "title": "Gazette"},
    {"text": "The tower was built in 1840.", "title": "Deeds"},
]
"""Two against one about the lamp, and one about the tower."""

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
"""The documents are two to one against the lamp's year, and one against the tower's."""

_YEAR = re.compile(r"\b1[89]\d\d\b")
_REVISE = "Decide what becomes of this passage"


def revision(
    way: str, text: str = "", reason: str = "The log was kept at the time (Doc 1)."
) -> str:
    """A reply in the form that is asked for."""
    return f"WAY: {way}\nREASON: {reason}" + (f"\nPASSAGE:\n{text}" if text else "")


def passage_in(prompt: str) -> str:
    """The passage that a revision is asked for."""
    return prompt.rpartition('<answer part="passage">')[2].partition("</answer>")[0].strip()


@dataclass
class RevisingWorld(World):
    """What the model says; a passage is revised by ``revised``, whose argument is the passage."""

    answer: str = LONG
    revised: Callable[[str], str | Fault] = field(
        default=lambda passage: revision(
            "REPLACE", passage.replace("1871", "1874").replace("1850", "1840")
        )
    )

    def __call__(self, request: ChatRequest) -> Reply | str | Fault:
        asked = [m["content"] for m in request.messages if m["role"] == "user"]
        prompt = next((p for p in asked if _REVISE in p), asked[0])
        if _REVISE in prompt:
            return self.revision_of(prompt)
        anew = "Take a passage of an answer apart" in prompt
        if (anew or self.decomposition is None) and "separate claims that it makes" in prompt:
            self.asked["decompose"] += 1
            asked = prompt.rpartition("<answer>")[2].partition("</answer>")[0].strip()
            claims = claims_of(asked)
            return self.broken.get("decompose") or (
                claims if "two bars" in prompt else re.sub(r" \|\| .*", "", claims)
            )
        return super().__call__(request)

    def revision_of(self, prompt: str) -> str | Fault:
        """The reply to a request for a revision."""
        self.asked["revise"] += 1
        self.prompts.setdefault("revise", []).append(prompt)
        return self.broken.get("revise", self.revised(passage_in(prompt)))


@dataclass
class RevisingAgentWorld(RevisingWorld, AgentWorld):
    """The same for a model that works as an agent."""


def claims_of(answer: str) -> str:
    """A claim for each passage with a year, with the first words of the passage."""
    said = [answer[p.start : p.end] for p in passages(answer)]
    claims = [
        f"- {' '.join(one.strip('*#| ').split())} || {' '.join(one.split()[:4])}"
        for one in said
        if _YEAR.search(one)
    ]
    return "\n".join(["Claims:", *claims])
