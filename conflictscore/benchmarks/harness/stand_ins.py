"""Stand-ins for a model's replies in a dry run, in the form asked for and as long as assumed."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import ceil, prod
from string import ascii_lowercase
from typing import Any

from conflictscore.benchmarks.harness.conflict_types import ConflictType, typed_fields
from conflictscore.benchmarks.harness.estimate import Assumptions, Level
from conflictscore.benchmarks.harness.records import Question
from conflictscore.prompts import PromptSet

__all__ = ["PASSAGE", "Scene", "StandIn", "cited_text", "stand_in", "word", "words"]

PASSAGE = "PASSAGE:\n"
"""Stands before what takes the place of a passage."""
_SENTENCE_WORDS = 25
_CITED = 2
"""Words of a sentence with citations, and how many documents it cites."""


@dataclass(frozen=True)
class Scene:
    """A prompt of a dry run, as far as its reply depends on it."""

    template: str
    fields: Mapping[str, Any]
    """What the template was filled with."""
    question: Question
    documents: int
    """How many the question has."""
    prompts: PromptSet
    assumptions: Assumptions
    level: Level
    fresh: Iterator[int]
    """Tells one text of the question from another."""

    def assumed(self, name: str) -> float:
        """A figure of the assumptions."""
        figure: float = getattr(self.assumptions, name).at(self.level)
        return figure

    def text(self, tokens: float) -> str:
        """A text of so many tokens that no other reply about the question has."""
        return words(next(self.fresh), tokens)


StandIn = str | Callable[[Scene], str]
"""A reply, or what makes one."""


def word(number: int) -> str:
    """One of 26 words of one token."""
    return ascii_lowercase[number % 26]


def words(number: int, tokens: float) -> str:
    """A text of about so many tokens, at least one, another one for each number below 300."""
    first, apart = number % 26, 1 + number // 26
    pair = word(first), word(first + apart)
    return " ".join(pair[place % 2] for place in range(max(1, round(tokens))))


def cited_text(scene: Scene, length: str = "answer_tokens") -> str:
    """An answer whose sentences have 25 words, and cite two documents each."""
    said = scene.text(scene.assumed(length)).split()
    cited = "".join(f"[{number}]" for number in range(1, min(_CITED, scene.documents) + 1))
    starts = range(0, len(said), _SENTENCE_WORDS)
    sentences = (" ".join(said[start : start + _SENTENCE_WORDS]) for start in starts)
    return " ".join(f"So {sentence}, {cited}." for sentence in sentences)


def stand_in(scene: Scene, own: Mapping[str, StandIn], graded: bool) -> tuple[str, float]:
    """The reply to a prompt, and how many tokens are assumed for it.

    Args:
        scene: The prompt.
        own: Those that a benchmark says, by template.
        graded: Whether a benchmark's judge asks.
    """
    made, length = _REPLIES.get(scene.template, (_answer, _ANSWER))
    said = own.get(scene.template, made)
    text = said if isinstance(said, str) else said(scene)
    return text, sum(prod(map(scene.assumed, part)) for part in (_GRADE if graded else length))


def _answer(scene: Scene) -> str:
    return scene.text(scene.assumed("answer_tokens"))


def _longer_option(scene: Scene) -> str:
    options = scene.question.options
    return "AB"[options.index(max(options, key=len))]


def _other_option(scene: Scene) -> str:
    return f"{'AB'[scene.fields['answer'].startswith('A')]}\nJustification: It is newer."


def _claims(scene: Scene) -> str:
    each = scene.assumed("claim_tokens")
    listed = (scene.text(each) for _ in range(ceil(scene.assumed("claims"))))
    return "Claims:\n" + "\n".join(f"- {claim}" for claim in listed)


def _type(scene: Scene) -> str:
    """People's type, or where they told none that of the longest rule."""
    longest = max(ConflictType, key=lambda kind: len(typed_fields(kind, scene.prompts)["rule"]))
    return f"TYPE: {(scene.question.conflict_type or longest).value}"


def _typed_answer(scene: Scene) -> str:
    return f"{_type(scene)}\nANSWER: {cited_text(scene, 'cited_tokens')}"


def _cited(scene: Scene) -> str:
    return cited_text(scene, "cited_tokens")


def _replaced(scene: Scene) -> str:
    return f"WAY: REPLACE\nREASON: It is newer (Doc 1).\n{PASSAGE}{_answer(scene)}"


def _kept_unless_high(scene: Scene) -> str:
    """A debate goes on in the upper bound alone."""
    return _answer(scene) if scene.level == "high" else "KEEP"


_Length = tuple[tuple[str, ...], ...]
"""Names of assumptions: a sum of products."""

_ANSWER: _Length = (("answer_tokens",),)
_GRADE: _Length = (("grade_tokens",),)
_CHOICE: _Length = (("choice_tokens",),)
_RECONSIDERED: _Length = (("reconsidered_tokens",),)
_RECONSIDERED_TEXT: _Length = (("reconsidered_tokens",), ("answer_tokens",))
_CITED_LENGTH: _Length = (("cited_tokens",),)

_REPLIES: Mapping[str, tuple[StandIn, _Length]] = {
    "multiple_choice_rag": (_longer_option, _CHOICE),
    "multiple_choice_control_rag": (_longer_option, _CHOICE),
    "multiple_choice_regenerate": (_other_option, _RECONSIDERED),
    "multiple_choice_regenerate_typed": (_other_option, _RECONSIDERED),
    "decompose": (_claims, (("claims", "claim_tokens"),)),
    "write_claim": (_answer, (("claim_tokens",),)),
    "justify": (_answer, (("justification_tokens",),)),
    "classify_conflict": (_type, (("type_tokens",),)),
    "revise": (_replaced, _RECONSIDERED_TEXT),
    "madam_reader_again": (_kept_unless_high, _ANSWER),
    "cited_typed": (_cited, _CITED_LENGTH),
    "cited_rag": (_cited, _CITED_LENGTH),
    "cited_taxonomy_aware": (_typed_answer, (("type_tokens",), ("cited_tokens",))),
}
"""By template, a reply and its assumed length; by any other an answer is asked for."""
