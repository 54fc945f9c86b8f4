"""What an answer must do, by how its documents relate ("DRAGged into Conflicts", section 2)."""

from conflictscore.prompts import PromptSet
from conflictscore.records import ConflictType

__all__ = ["all_behaviours", "behaviour", "behaviour_template", "typed_fields"]


def behaviour_template(kind: ConflictType) -> str:
    """The template that says which behaviour a type asks for."""
    return f"behaviour_{kind.value.replace('-', '_')}"


def behaviour(kind: ConflictType, prompts: PromptSet) -> str:
    """The behaviour that a type asks for, as it is put to a model."""
    return prompts.render(behaviour_template(kind))


def all_behaviours(prompts: PromptSet) -> str:
    """The behaviours of all types, one a line."""
    return "\n".join(f"{kind}: {behaviour(kind, prompts)}" for kind in ConflictType)


def typed_fields(kind: ConflictType | None, prompts: PromptSet) -> dict[str, str]:
    """A type with its behaviour, as template fields; none where the type is not known."""
    return {} if kind is None else {"type": kind.value, "rule": behaviour(kind, prompts)}
