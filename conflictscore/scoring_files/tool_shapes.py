"""Reads answers and documents in the shapes in which other tools write them."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from conflictscore.retrieval.documents import PLAIN_FIELDS
from conflictscore.scoring_files.cells import documents_in_cell

DELIMITED: Final = ("retrieval_context",)
"""Fields whose values DeepEval joins with a pipe character in its CSV and JSON Lines files.
DeepEval's own reader splits on every pipe character, even one inside a value."""
# A context as DeepEval writes it into a table.
_DEEPEVAL_SOURCE: Final = re.compile(r"deepeval_source=(.*?),deepeval_context=(.*)", re.DOTALL)
_PHOENIX: Final = "document."  # Phoenix writes "document.content", "document.metadata", ...


def answer_text(answer: Any) -> Any:
    """Return the text of a serialised LangChain message; other answers are returned unchanged."""
    if not isinstance(answer, Mapping):
        return answer
    message = _constructed(answer)
    content = message.get("content")
    if isinstance(content, list):  # blocks, some of which hold text
        texts = [block if isinstance(block, str) else _block_text(block) for block in content]
        return "".join(texts)
    return content if isinstance(content, str) else answer


def documents_list(documents: Any, path: str) -> Any:
    """Return the documents of a row as a list of strings and mappings; keep other values.

    A string is read as a list in a table cell, or as a single document. Documents in the shapes of
    LangChain, Phoenix and DeepEval become mappings with ``text`` or ``page_content``.
    """
    if isinstance(documents, str):
        is_list = path.rpartition(".")[2] in DELIMITED and not documents.lstrip().startswith("[")
        documents = documents.split("|") if is_list else documents_in_cell(documents)
    return (
        [document_shape(document) for document in documents]
        if isinstance(documents, list)
        else documents
    )


def document_shape(document: Any) -> Any:
    """Return a document in a shape that ``retrieval.documents.as_document`` reads.

    A value of any other shape is returned unchanged.
    """
    if isinstance(document, str):
        source_match = _DEEPEVAL_SOURCE.fullmatch(document)
        return {"text": source_match[2], "title": source_match[1]} if source_match else document
    # `dict` is named, too, since a dictionary is recognised faster
    if not isinstance(document, (dict, Mapping)) or document.keys() <= PLAIN_FIELDS:
        return document
    if isinstance(inner := document.get("document"), Mapping):
        document = {**document, **inner}
    elif any(str(key).startswith(_PHOENIX) for key in document):
        document = {str(key).removeprefix(_PHOENIX): value for key, value in document.items()}
    document = _constructed(document)
    if isinstance(metadata := document.get("metadata"), str):  # Phoenix writes it as JSON.
        with suppress(ValueError, RecursionError):  # ``as_document`` names metadata of other forms.
            metadata_fields = json.loads(metadata)
            document = {
                **document,
                "metadata": metadata_fields if isinstance(metadata_fields, Mapping) else None,
            }
    return document


def _constructed(wrapping: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return the object inside a wrapper of LangChain's ``dumpd``; other objects are unchanged.

    The field ``lc`` is the version of LangChain's format, which is still 1.
    """
    arguments = wrapping.get("kwargs")
    return arguments if wrapping.get("lc") == 1 and isinstance(arguments, Mapping) else wrapping


def _block_text(block: Any) -> str:
    text = block.get("text") if isinstance(block, Mapping) else None
    return text if isinstance(text, str) else ""
