"""What an answer must do, by how its documents relate ("DRAGged into Conflicts", section 2)."""

from conflictscore.prompts import PromptSet
from conflictscore.records import ConflictType

__all__ = ["BEHAVIOURS", "CLASSIFYING", "all_behaviours", "typed_fields"]

_TEMPLATES = {kind: f"behaviour_{kind.value.replace('-', '_')}" for kind in ConflictType}

BEHAVIOURS = tuple(_TEMPLATES.values())
"""The templates that say which behaviour each type asks for."""

CLASSIFYING = ("classify_conflict", "conflict_types", *BEHAVIOURS)
"""The templates of telling a type and doing what it asks for."""


def all_behaviours(prompts: PromptSet) -> str:
    """The behaviours of all types, one a line."""
    return "\n".join(f"{kind}: {prompts.render(_TEMPLATES[kind])}" for kind in ConflictType)


def typed_fields(kind: ConflictType | None, prompts: PromptSet) -> dict[str, str]:
    """A type with its behaviour, as template fields; none where the type is not known."""
    return {} if kind is None else {"type": kind.value, "rule": prompts.render(_TEMPLATES[kind])}
