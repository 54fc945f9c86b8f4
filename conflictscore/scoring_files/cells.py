"""Reads lists of documents from table cells, as JSON, Python, NumPy and PostgreSQL write them."""

import ast
import json
import re
from contextlib import suppress
from typing import Any, Final

LONGEST_LITERAL: Final = 1_000_000
"""Maximum length of a Python literal, in characters; its syntax tree takes 100 times the memory."""
# The beginning of a list of strings, objects or lists. Plain text does not begin in this way.
_BEGINS_A_LIST: Final = re.compile(r"""(?:array\()?\[\s*+["'{\[]""")
# An array as NumPy prints it, with its type.
_ARRAY: Final = re.compile(
    r"\Aarray\(\s*+(\[.*\])\s*+(?:,\s*+dtype=[\w<>|' ]{1,20}+)?\)\Z", re.DOTALL
)
# A quoted string in a printed list, and the comma after it.
_QUOTED: Final = re.compile(r"""\s*+('(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")\s*+,?""", re.DOTALL)
# An item of a list in PostgreSQL's notation, "{a,\"b c\"}".
_ARRAY_ITEM: Final = re.compile(r'\s*+(?:"((?:[^"\\]|\\.)*+)"|([^",{}\\]++))\s*+([,}])', re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


def documents_in_cell(cell: str) -> Any:
    """Return the documents in a cell as a list: one for plain text, and none for an empty cell.

    If a cell begins like a list of strings, objects or lists but cannot be read, it is returned as
    a string, which the caller refuses. Text that begins with a bracket, such as "[1] Ledger, page
    3", is one document.
    """
    cell = cell.strip()
    if array := _ARRAY.match(cell):
        cell = array[1]
    # "array([" without its end is not cut out; the pattern below refuses it
    if not cell.startswith(("[", "{", "array([")):
        return [cell] if cell else []
    with suppress(ValueError, RecursionError):  # no JSON, so the other forms are tried below
        documents = json.loads(cell)
        return [documents] if isinstance(documents, dict) else documents
    # an unquoted PostgreSQL array cannot be distinguished from plain text in braces
    texts_in = _postgres_items if cell.startswith('{"') else _quoted_items
    with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
        if (texts := texts_in(cell)) is not None:
            return texts
        if cell.startswith("[") and len(cell) <= LONGEST_LITERAL:
            return ast.literal_eval(cell)
    return cell if _BEGINS_A_LIST.match(cell) else [cell]


def _quoted_items(cell: str) -> list[str] | None:
    """Return the strings in a list of quoted strings, with or without commas; otherwise None.

    NumPy prints no commas, and Python would join the strings of such a list into one.
    """
    texts: list[str] = []
    place = 1  # after the bracket
    while text_match := _QUOTED.match(cell, place):
        texts.append(
            str(ast.literal_eval(text_match[1])) if "\\" in text_match[1] else text_match[1][1:-1]
        )
        place = text_match.end()
    return texts if texts and cell[place:].strip() == "]" else None


def _postgres_items(cell: str) -> list[str | None] | None:
    """Return the strings in a PostgreSQL array; None if the cell is not such an array."""
    texts: list[str | None] = []
    place = 1
    while text_match := _ARRAY_ITEM.match(cell, place):
        text = text_match[2] if text_match[1] is None else _ESCAPED.sub(r"\1", text_match[1])
        texts.append(None if text_match[2] == "NULL" else text)
        place = text_match.end()
        if text_match[3] == "}":
            break
    return texts if place == len(cell) else None
