"""Reads the printed form of Python objects: mappings, dataclasses, pydantic models and documents.

If a tool returns Python objects, the chat model receives their printed form. Only literals are
read; nothing is evaluated.
"""

import ast
import re
from contextlib import suppress
from typing import Any

from conflictscore.retrieval.documents import MOST_OF_TOOLS

# Quantifiers are bounded, so that matching a hostile text takes linear time.
_WRITTEN_OUT = re.compile(r"[\[(]{0,2}[A-Z]\w{0,60}\(\w{1,60}=|\[\{|\{'|[a-z_]\w{0,60}=\[")
"""Matches the printed form of a list of objects or mappings, or of an object with such a list."""
# A field with a list at the very start, without the name of its object: "results=[".
_FIELDS_ALONE = re.compile(r"[a-z_]\w{0,60}=\[")
# The content of a printed LangChain document. The quantifiers are possessive, so that a hostile
# text of quotation marks and backslashes takes linear time.
_CONTENT = re.compile(r"page_content=(?:'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\")", re.DOTALL)
_LONGEST_WRITTEN_OUT = 100_000
"""At most this many characters are parsed, since Python's parser blocks all other threads.

A million characters of short literals take 1.4 s and 500 MB. The quoted contents of documents are
not counted: each is a single literal, and a million characters of it take 0.01 s.
"""


def written_out(text: str) -> object:
    """Return the value of a printed list, mapping or LangChain document; None for other texts."""
    if text.startswith("page_content="):
        pieces = re.split(r"(?m)^(?=page_content=)", text)
        # one more than the limit, so that the caller sees that documents were left out
        written_calls = [piece for piece in pieces if piece][: MOST_OF_TOOLS + 1]
        if sum(map(_chars_around_content, written_calls)) > _LONGEST_WRITTEN_OUT:
            return None
        calls = [_called(piece.rpartition(" metadata=")) for piece in written_calls]
        # with None, the caller splits the text itself, so an unreadable document is not lost
        return None if None in calls else calls
    if not _WRITTEN_OUT.match(text) or len(text) > _LONGEST_WRITTEN_OUT:
        return None
    # ``str`` prints a pydantic model's fields without the name of the class
    written = f"f({text})" if _FIELDS_ALONE.match(text) else text
    try:
        return _value_of(ast.parse(written, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError, TypeError):
        return None


def _value_of(node: ast.expr) -> object:
    """Return the value of a literal, or of a printed object as a mapping of its fields."""
    match node:
        case ast.Call():
            return {field.arg: _field_of(field.value) for field in node.keywords if field.arg}
        case ast.List() | ast.Tuple():
            return [_value_of(each) for each in node.elts]
    return ast.literal_eval(node)


def _field_of(node: ast.expr) -> object:
    """Return the value of a field; None if it is not a literal, for example a date."""
    with suppress(ValueError, TypeError):
        return _value_of(node)
    return None


def _chars_around_content(written: str) -> int:
    """Return how many characters of a printed document are outside its quoted content."""
    content = _CONTENT.match(written)
    return len(written) - (content.end() if content else 0)


def _called(written: tuple[str, str, str]) -> object:
    """Read a document in the form that ``str`` prints: ``page_content='…' metadata={…}``."""
    content, _, metadata = written
    call = f"f({content}, metadata={metadata.strip()})" if content else f"f({metadata})"
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        return _keywords(ast.parse(call, mode="eval").body)
    return None


def _keywords(call: object) -> dict[str, Any]:
    """Return the literals among the keyword arguments of a call.

    A field of another kind is left out. If it were None as in :func:`_field_of`, it would become
    metadata of the document.
    """
    fields: dict[str, Any] = {}
    for field in getattr(call, "keywords", ()):
        with suppress(ValueError, TypeError, RecursionError, MemoryError):  # a date, for example
            fields[field.arg] = ast.literal_eval(field.value)
    return fields
