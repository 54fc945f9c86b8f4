"""Fields of the chat model for the settings of a run, made from the settings record."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseChatModel
from pydantic import Field, SkipValidation, create_model

from conflictscore.labelers import Labeler, LabelerFactory
from conflictscore.prompts import PromptSet
from conflictscore.records import Disputed, Duplicates, Regeneration
from conflictscore.settings import Effort, LookFurther, Settings, Unsettled
from conflictscore.trust import TrustTable

__all__ = ["SettingFields"]

if TYPE_CHECKING:

    class SettingFields(BaseChatModel):
        """A chat model with a field for each setting."""

        effort: Effort
        labeler: Labeler | LabelerFactory | str | None
        prompts: PromptSet
        max_rounds: int
        max_claims: int | None
        min_coverage: float | None
        regeneration: Regeneration
        disputed: Sequence[Disputed]
        unsettled: Unsettled
        look_further: LookFurther
        guard: bool
        duplicates: Duplicates
        trust: TrustTable | None
        budget_seconds: float | None

else:  # a field for each setting, with its default and help from the record
    SettingFields = create_model(
        "SettingFields",
        __base__=BaseChatModel,
        **{
            name: (
                SkipValidation[Any],
                Field(
                    default=Settings.default(name),
                    description=Settings.help(name),
                    exclude=name in ("labeler", "prompts", "trust"),
                ),
            )
            for name in Settings.names()
        },
    )
