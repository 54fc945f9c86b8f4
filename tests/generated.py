"""Text generated from the declarations of settings: the stub of keywords and the guide's table."""

import ast
from collections.abc import Callable, Iterable
from pathlib import Path

from conflictscore import Settings

ROOT = Path(__file__).parents[1]
STUB = ROOT / "conflictscore" / "setting_keywords.pyi"
GUIDE = ROOT / "docs" / "guide" / "settings.md"
TABLE_HEAD = "| setting | default | meaning |\n|---|---|---|\n"
_IMPORTS = """\
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
"""


def stub() -> str:
    """The stub that declares each setting to type checkers, as a keyword and a chat-model field."""
    scoring = [name for name in Settings.names() if Settings.declaration(name).scoring]
    others = [name for name in Settings.names() if name not in scoring]
    return "\n".join(
        [
            _IMPORTS,
            "class ScoringSettings(TypedDict, total=False):",
            *_fields(scoring, _accepted_type),
            "",
            "class CorrectionSettings(ScoringSettings, total=False):",
            *_fields(others, _accepted_type),
            "",
            "class SettingFields(BaseChatModel, metaclass=ABCMeta):",
            *_fields(Settings.names(), _stored_type),
            "",
        ]
    )


def guide_table() -> str:
    """The rows of the guide's table of settings."""
    return "".join(
        f"| `{name}` | {_shown_default(name)} | {Settings.declaration(name).brief} |\n"
        for name in Settings.names()
    )


def with_table(guide: str) -> str:
    """The text of the guide, with the rows of its table as declared."""
    before, head, after = guide.partition(TABLE_HEAD)
    _, _, rest = after.partition("\n\n")
    return f"{before}{head}{guide_table()}\n{rest}"


def _fields(names: Iterable[str], type_of: Callable[[str], str]) -> list[str]:
    return [f"    {name}: {type_of(name)}" for name in names]


def _accepted_type(name: str) -> str:
    return Settings.declaration(name).accepts or _stored_type(name)


def _stored_type(name: str) -> str:
    """The annotation of a setting as in the source, without its range."""
    tree = ast.parse((ROOT / "conflictscore" / "setting_declarations.py").read_text("utf-8"))
    [record] = [
        n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "DeclaredSettings"
    ]
    [annotation] = [
        node.annotation
        for node in record.body
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name
    ]
    return _without_range(annotation)


def _without_range(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.BinOp):
        return f"{_without_range(node.left)} | {_without_range(node.right)}"
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Annotated":
        assert isinstance(node.slice, ast.Tuple)
        return ast.unparse(node.slice.elts[0])
    return ast.unparse(node)


def _shown_default(name: str) -> str:
    default, shown = Settings.default(name), Settings.declaration(name).shown_default
    if shown is not None:
        return shown
    if isinstance(default, str):
        return f"`{default}`"
    if isinstance(default, tuple):
        return ", ".join(f"`{part}`" for part in default)
    return str(default)
