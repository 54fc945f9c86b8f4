# Generated from the declarations in setting_declarations.py by tests/generated.py.
from abc import ABCMeta
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypedDict

from langchain_core.language_models import BaseChatModel

from conflictscore.choices import Disputed, Duplicates, Regeneration
from conflictscore.labelers import Labeler, LabelerFactory
from conflictscore.labelers.registry import LabelerName
from conflictscore.prompts import PromptSet
from conflictscore.setting_declarations import Effort, LookFurther, Unsettled
from conflictscore.trust import TrustTable

class ScoringSettings(TypedDict, total=False):
    effort: Effort
    labeler: Labeler | LabelerName | LabelerFactory | str | None
    prompts: PromptSet | str | Path | None
    max_claims: int | None
    min_coverage: float | None
    duplicates: Duplicates
    trust: TrustTable | Mapping[str, Any] | str | Path | None
    budget_seconds: float | None

class CorrectionSettings(ScoringSettings, total=False):
    max_rounds: int
    regeneration: Regeneration
    disputed: Iterable[Disputed]
    unsettled: Unsettled
    look_further: LookFurther
    guard: bool

class SettingFields(BaseChatModel, metaclass=ABCMeta):
    effort: Effort
    labeler: Labeler | LabelerFactory | str | None
    prompts: PromptSet
    max_rounds: int
    max_claims: int | None
    min_coverage: float | None
    regeneration: Regeneration
    disputed: tuple[Disputed, ...]
    unsettled: Unsettled
    look_further: LookFurther
    guard: bool
    duplicates: Duplicates
    trust: TrustTable | None
    budget_seconds: float | None
