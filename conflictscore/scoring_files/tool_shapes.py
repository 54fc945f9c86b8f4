"""Answers and documents in the shapes in which other tools write them."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from conflictscore.scoring_files.cells import documents_in_cell

DELIMITED: Final = ("retrieval_context",)
"""DeepEval's CSV and JSON lines join the texts of this field with a bar, and its own reader parts
them at every bar, also at those within a text."""
_DEEPEVAL_SOURCE: Final = re.compile(r"deepeval_source=(.*?),deepeval_context=(.*)", re.DOTALL)
_PHOENIX: Final = "document."


def answer_text(value: Any) -> Any:
    """The text of an answer that may be a serialised message of LangChain; otherwise the value."""
    if not isinstance(value, Mapping):
        return value
    message = _constructed(value)
    content = message.get("content")
    if isinstance(content, list):  # blocks, some of which hold text
        texts = [block if isinstance(block, str) else _block_text(block) for block in content]
        return "".join(texts)
    return content if isinstance(content, str) else value


def documents_list(value: Any, path: str) -> Any:
    """The documents of a row as a list of texts and mappings; a value that is no list as it is.

    A text is a list written as a cell of a table, or one document. Shapes of LangChain, Phoenix and
    DeepEval become mappings with ``text`` or ``page_content``.
    """
    if isinstance(value, str):
        is_list = path.rpartition(".")[2] in DELIMITED and not value.lstrip().startswith("[")
        value = value.split("|") if is_list else documents_in_cell(value)
    return [document_shape(item) for item in value] if isinstance(value, list) else value


def document_shape(item: Any) -> Any:
    """A document as :func:`~conflictscore.retrieval.documents.as_document` reads it.

    What is of no shape known here is returned as it is.
    """
    if isinstance(item, str):
        marked = _DEEPEVAL_SOURCE.fullmatch(item)
        return {"text": marked[2], "title": marked[1]} if marked else item
    if not isinstance(item, Mapping):
        return item
    if isinstance(inner := item.get("document"), Mapping):
        item = {**item, **inner}
    elif any(str(key).startswith(_PHOENIX) for key in item):
        item = {str(key).removeprefix(_PHOENIX): value for key, value in item.items()}
    item = _constructed(item)
    if isinstance(metadata := item.get("metadata"), str):  # Phoenix writes it as JSON
        with suppress(ValueError, RecursionError):
            parsed = json.loads(metadata)
            item = {**item, "metadata": parsed if isinstance(parsed, Mapping) else None}
    return item


def _constructed(item: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """The content of a wrapping by LangChain's ``dumpd``; without one, the item itself."""
    arguments = item.get("kwargs")
    return arguments if item.get("lc") == 1 and isinstance(arguments, Mapping) else item


def _block_text(block: Any) -> str:
    text = block.get("text") if isinstance(block, Mapping) else None
    return text if isinstance(text, str) else ""
