"""Wordings and names that the project's English avoids, found in its modules.

Each entry of PATTERNS is one pattern: identifiers, and a regular expression for docstrings, help
texts and messages. It finds known offenders; it cannot tell whether a sentence reads well.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

__all__ = ["PATTERNS", "offences"]


class _Pattern(NamedTuple):
    """Identifiers, and an expression for prose; either may be empty."""

    names: frozenset[str] = frozenset()
    prose: str = ""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


PATTERNS: Mapping[str, _Pattern] = {
    "docstrings headed by What or Who": _Pattern(prose=r"\A(?:What|Who|Whom|Whose|That which)\b"),
    "metaphors": _Pattern(
        _names("doors errand errands Pace Gate _Crowd _Calm Silent Line Ticket Play"),
        r"\b(?:errands?|this door|doors?\b(?! of)|the house|rooms? (?:of|that|imports))",
    ),
    "participles as nouns": _Pattern(
        _names("Given Doubt heard stands joined taken_back spoiled Doubted _Doubted doubted")
    ),
    "names with several meanings": _Pattern(_names("_telling _apart once")),
    "unclear names": _Pattern(
        _names("Certain Way takes has_learned Trouble excused _owns_up held_to_length")
    ),
    "archaic passives": _Pattern(
        prose=r"the one who answers|gave no answer within|\bof before\b|\bis heard\b|\bare heard\b"
        r"|\b(?:is|are|was|were) told (?:that|of|by|apart|as)\b|\bhas to be told\b"
    ),
    "help that teaches nothing": _Pattern(
        prose=r"counts? (?:beside|more)\b|what is kept costs none|given beside it"
    ),
}
"""The patterns by name."""


def offences(modules: Mapping[str, str]) -> dict[str, list[str]]:
    """Find every pattern in some modules.

    Args:
        modules: Source by path.

    Returns:
        By pattern, ``path:line text`` of each place.
    """
    found: dict[str, list[str]] = {name: [] for name in PATTERNS}
    for path, source in modules.items():
        tree = ast.parse(source)
        names, prose = [*_defined(tree)], [*_prose(tree)]
        for pattern, wanted in PATTERNS.items():
            found[pattern] += [
                f"{path}:{line} {name}" for line, name in names if name in wanted.names
            ]
            if wanted.prose:
                expression = re.compile(wanted.prose)
                found[pattern] += [
                    f"{path}:{line} {hit[0]}"
                    for line, text in prose
                    if (hit := expression.search(text))
                ]
        stem = path.rpartition("/")[2].removesuffix(".py")
        found["metaphors"] += [path] if stem in PATTERNS["metaphors"].names else []
    return found


def _defined(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Names of classes, functions, arguments, fields and variables, where they are defined."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.lineno, node.target.id
        elif isinstance(node, ast.Assign):
            yield from ((node.lineno, one.id) for one in node.targets if isinstance(one, ast.Name))


def _prose(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Texts of several words that are no question: docstrings, help, messages."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value.strip()
            if " " in text and not text.endswith("?"):
                yield node.lineno, text
