"""Turns the declared settings into keywords of entry points and into fields of a chat model.

Type checkers read the stub next to this file, which is generated from the same declarations.
"""

from typing import Any, TypedDict

from langchain_core.language_models import BaseChatModel
from pydantic import Field, SkipValidation, create_model

from conflictscore.setting_declarations import DeclaredSettings


def _keywords(name: str, names: tuple[str, ...]) -> Any:
    types = {setting: DeclaredSettings.__annotations__[setting] for setting in names}
    keywords = TypedDict(name, types, total=False)  # type: ignore[misc]  # its stub has the types
    keywords.__doc__ = f"Keywords with the names of {len(names)} settings. All are optional."
    return keywords


CorrectionSettings = _keywords("CorrectionSettings", DeclaredSettings.names())
ScoringSettings = _keywords(
    "ScoringSettings",
    tuple(name for name in DeclaredSettings.names() if DeclaredSettings.declaration(name).scoring),
)


_OBJECTS = ("labeler", "prompts", "trust")
"""Settings that may hold objects of this package, which pydantic cannot dump."""
_FIELDS: Any = {
    name: (
        SkipValidation[Any],  # Settings has already validated the fields
        Field(
            default=DeclaredSettings.default(name),
            description=DeclaredSettings.help(name),
            exclude=name in _OBJECTS,
        ),
    )
    for name in DeclaredSettings.names()
}
SettingFields = create_model("SettingFields", __base__=BaseChatModel, **_FIELDS)
"""Base class of a chat model. Each setting is a field with the setting's default and help."""
