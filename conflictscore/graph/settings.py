"""What shapes a run: one record, made by every door from its keyword arguments."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import wraps
from math import inf
from pathlib import Path
from typing import Any, TypedDict, TypeVar, cast, get_args, get_type_hints

from langchain_core.language_models import BaseChatModel

from conflictscore.errors import InputError
from conflictscore.graph.efforts import Effort
from conflictscore.labelers import Labeler, LabelerFactory, LabelerName
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.ledger import Ledger
from conflictscore.models.spec import ReasoningEffort
from conflictscore.nodes.state import LookFurther, Unsettled
from conflictscore.prompts import PromptSet
from conflictscore.records import (
    CONFLICT,
    Disputed,
    Duplicates,
    Method,
    Regeneration,
)
from conflictscore.storage.cache import ContentCache
from conflictscore.trust import TrustTable

__all__ = [
    "CorrectionOptions",
    "LabelingOptions",
    "LoopOptions",
    "LoopSettings",
    "Model",
    "ScoringOptions",
    "Trust",
    "takes",
]

Model = str | BaseChatModel | LanguageModel
"""A spec, a LangChain chat model, or a model that is open already."""
Trust = str | Path | Mapping[str, Any]
"""A table of weights for documents: its TOML file, or the same as a mapping."""
F = TypeVar("F", bound=Callable[..., Any])

_MOST_ROUNDS = 20


@dataclass(frozen=True, kw_only=True)
class LoopSettings:
    """What shapes a run, apart from the model that answers and the source of its documents.

    The settings are described at :func:`~conflictscore.create_self_correcting_rag`, except two:

    Attributes:
        max_calls: The most calls in flight at an endpoint, at least 1; None for 16.
        ledger: Counts the calls of the models that are opened for the run, and holds them to its
            budget.

    Raises:
        InputError: A setting is out of range; names the setting.
        ConfigurationError: A setting needs an extra that is not installed.
    """

    method: Method | str = Method.REGENERATED_RAG
    labeler: Labeler | LabelerName | LabelerFactory | None = None
    judge: Model | None = None
    base_url: str | None = None
    context_window: int | None = None
    reasoning_effort: ReasoningEffort | None = None
    prompts: PromptSet | str | Path | None = None
    max_rounds: int = 1
    regeneration: Regeneration = "revise"
    disputed: Sequence[Disputed] = ("conflict", "refuted")
    unsettled: Unsettled = "hedge"
    look_further: LookFurther = "off"
    guard: bool = True
    min_coverage: float | None = 0.5
    cache: ContentCache | bool = True
    duplicates: Duplicates = "vote"
    trust: Trust | None = None
    budget_seconds: float | None = None
    max_claims: int | None = None
    max_calls: int | None = None
    ledger: Ledger | None = None
    effort: Effort | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.max_rounds <= _MOST_ROUNDS:
            raise InputError(f"max_rounds is {self.max_rounds}; give 0 to {_MOST_ROUNDS}")
        for name, known in (
            ("method", tuple(Method)),
            ("regeneration", get_args(Regeneration)),
            ("duplicates", get_args(Duplicates)),
            ("unsettled", get_args(Unsettled)),
            ("effort", (None, *get_args(Effort))),
            ("look_further", get_args(LookFurther)),
            ("reasoning_effort", (None, *get_args(ReasoningEffort))),
        ):
            if (given := getattr(self, name)) not in known:
                raise InputError(
                    f"unknown {name} {given!r}; one of {', '.join(filter(None, known))}"
                )
        if self.budget_seconds is not None and not 0 < self.budget_seconds < inf:
            raise InputError(
                f"budget_seconds is {self.budget_seconds}; give a number of seconds above 0"
            )
        # a lone text is a sequence too, of letters
        unknown = [one for one in self.disputed if one not in get_args(Disputed)]
        if unknown or isinstance(self.disputed, str):
            wrong = self.disputed if isinstance(self.disputed, str) else unknown[0]
            policies = ", ".join(get_args(Disputed))
            raise InputError(f"disputed is {wrong!r}; give a list of any of {policies}")
        if self.min_coverage is not None and not 0 <= self.min_coverage <= 1:
            raise InputError(f"min_coverage is {self.min_coverage}; give 0 to 1")
        for name in ("max_calls", "max_claims"):
            if (given := getattr(self, name)) is not None and given < 1:
                raise InputError(f"{name} is {given}; give at least 1")

    def as_in_the_paper(self) -> "LoopSettings":
        """The same, where the paper's own loop is reproduced: no rule of ours decides anything."""
        return replace(
            self,
            regeneration="paper",
            disputed=CONFLICT,
            look_further="off",
            guard=False,
            min_coverage=None,
            trust=None,
        )

    def open_prompts(self) -> PromptSet:
        """The prompt set that is set.

        Raises:
            ConfigurationError: The folder or one of its templates is missing or wrong.
        """
        return PromptSet.open(self.prompts)

    def open_trust(self) -> TrustTable | None:
        """The table that weighs documents; None where all count alike.

        Raises:
            InputError: The table cannot be read, or says what it cannot; names file and field.
        """
        given = self.trust
        if given is None:
            return None
        if isinstance(given, Mapping):
            return TrustTable(given)
        if not Path(given).exists():
            raise InputError(f"trust is {str(given)!r}; there is no such file")
        return TrustTable.read(Path(given))

    def open_cache(self) -> ContentCache | None:
        """The cache that is set; None for none."""
        if isinstance(self.cache, bool):
            return ContentCache.default() if self.cache else None
        return self.cache


class LabelingOptions(TypedDict, total=False):
    """The settings that all take as keyword arguments who label; see :class:`LoopSettings`."""

    labeler: Labeler | LabelerName | LabelerFactory | None
    base_url: str | None
    context_window: int | None
    reasoning_effort: ReasoningEffort | None
    prompts: PromptSet | str | Path | None
    cache: ContentCache | bool
    duplicates: Duplicates
    max_claims: int | None


class ScoringOptions(LabelingOptions, total=False):
    """Those for scoring answers that exist already."""

    trust: Trust | None
    budget_seconds: float | None
    min_coverage: float | None
    effort: Effort | None


class CorrectionOptions(ScoringOptions, total=False):
    """Those for correcting an answer that the caller gives."""

    judge: Model | None
    max_rounds: int
    regeneration: Regeneration
    disputed: Sequence[Disputed]
    unsettled: Unsettled
    look_further: LookFurther
    guard: bool


class LoopOptions(CorrectionOptions, total=False):
    """Those of the whole loop."""

    method: Method | str


def takes(options: type) -> Callable[[F], F]:
    """Write the settings that a door takes as ``**settings`` out in its signature.

    So ``help()`` shows each with its default, and another keyword is a TypeError as elsewhere.

    Args:
        options: The TypedDict that ``**settings`` unpacks.
    """
    defaults = {field.name: field.default for field in fields(LoopSettings)}

    def decorate(door: F) -> F:
        signature = inspect.signature(door)
        named = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        named += [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=defaults[name], annotation=kind
            )
            for name, kind in get_type_hints(options).items()
        ]
        written_out = signature.replace(parameters=named)

        @wraps(door)
        def checked(*args: Any, **given: Any) -> Any:
            written_out.bind(*args, **given)
            return door(*args, **given)

        checked.__signature__ = written_out  # type: ignore[attr-defined]
        return cast("F", checked)

    return decorate
