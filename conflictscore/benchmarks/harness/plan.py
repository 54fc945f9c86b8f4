"""What a dry run plans with: the settings of the run, and calls as far as they can be told."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from conflictscore.benchmarks.harness.benchmark import JudgePrompts
from conflictscore.benchmarks.harness.estimate import Assumptions
from conflictscore.labelers.batches import BatchName
from conflictscore.prompts import PromptSet
from conflictscore.tokens import count_tokens

__all__ = ["Plan", "PlannedCall", "PlannedLabeler", "PlannedModel", "TokenCounts"]

PlannedLabeler = Literal["json", "choice", "whole-answer", BatchName]
"""How pairs are judged, as far as it decides what is asked."""


class PlannedModel(Protocol):
    """What is to be known of a model that will be called; a LanguageModel fits."""

    @property
    def name(self) -> str:
        """How records and price files call it."""

    @property
    def endpoint(self) -> str:
        """Where it answers."""

    @property
    def context_window(self) -> int:
        """Tokens of prompt and reply together; a prompt is never longer."""

    @property
    def thinking_tokens(self) -> int:
        """The most tokens that it thinks for on top of a reply; 0 where it does not."""


@dataclass(frozen=True)
class Plan:
    """What is run for every question; the fields are those of ``dry_run.estimate``."""

    methods: frozenset[str]
    generator: PlannedModel
    judge: PlannedModel
    answer_judge: PlannedModel | None
    labeler: PlannedLabeler | None
    prompts: PromptSet
    max_rounds: int
    max_claims: int | None
    assumptions: Assumptions
    judge_prompts: JudgePrompts | None
    scored: bool


class PlannedCall(NamedTuple):
    """Calls of one kind for one question."""

    step: str
    model: PlannedModel
    times: float
    prompt: float
    """Tokens of each prompt."""
    reply: float
    """Tokens of each reply, without what a model thinks."""


@dataclass(frozen=True)
class TokenCounts:
    """Counts tokens, of each text of a question once."""

    known: dict[tuple[str, str], int] = field(default_factory=dict)

    def __call__(self, text: str, model: PlannedModel) -> int:
        """Tokens of a text as a model counts them."""
        key = (text, model.name)
        if key not in self.known:
            self.known[key] = count_tokens(text, model.name).n
        return self.known[key]
