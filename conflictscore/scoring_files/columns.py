"""Finds the answer and the documents of a row by the field names that evaluation tools use.

A name may be a dotted path: ``outputs.answer`` is the field ``answer`` of the object in
``outputs``. A field whose name is the whole path takes precedence, because LangSmith and Phoenix
name data-frame columns that way.
"""

import ast
import json
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

from conflictscore.errors import InputError
from conflictscore.scoring_files.cells import LONGEST_LITERAL

LONGEST_CELL: Final = 50_000_000
"""Maximum length of a cell, in characters; the documents of any answer are shorter."""


class _Family(NamedTuple):
    """The field names of one or more tools. The first name that a row has is read."""

    answers: tuple[str, ...]
    documents: tuple[str, ...]


# Fields in which chains and evaluation tools put the documents, in the order of preference. The
# order matters only if a row has several of them. This package's own name comes first. "context" is
# last, since some tools give this name to ideal documents.
_CHAIN_DOCUMENTS: Final = (
    "documents",
    "retrieved_contexts",
    "contexts",
    "source_documents",
    "context",
)
_OTEL: Final = "ai.observability."  # the prefix of TruLens' attributes
_FAMILIES: Final = (
    # this package, RAGAS, LangChain's retrieval chains, and the data frames of TruLens' virtual
    # apps
    _Family(("answer", "response", "result"), _CHAIN_DOCUMENTS),
    # DeepEval; its "context", which holds the ideal documents, is never read
    _Family(("actual_output", "actualOutput"), ("retrieval_context", "retrievalContext")),
    # LangSmith: runs and examples, or the data frame of an experiment
    _Family(
        tuple(f"outputs.{name}" for name in ("answer", "response", "output", "result")),
        tuple(f"{side}.{name}" for side in ("outputs", "inputs") for name in _CHAIN_DOCUMENTS),
    ),
    # Phoenix: spans, in a data frame or as JSON
    _Family(
        ("attributes.output.value", "output.value"),
        ("attributes.retrieval.documents", "retrieval.documents"),
    ),
    # TruLens: OpenTelemetry attributes, with full names or as the columns of a run's data
    _Family(
        (f"{_OTEL}record_root.output", "record_root.output", "RECORD_ROOT.OUTPUT"),
        (
            f"{_OTEL}retrieval.retrieved_contexts",
            "retrieval.retrieved_contexts",
            "RETRIEVAL.RETRIEVED_CONTEXTS",
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Columns:
    """The fields of the answer and of the documents; None means the first known name in the row."""

    answer: str | None = None
    documents: str | None = None

    def among(self, names: Collection[str]) -> tuple[str, str]:
        """Return the paths of the answer and the documents in a row whose fields have these names.

        Raises:
            InputError: The answer or the documents are missing, or such a field occurs more than
                once.
        """
        answer, documents = self._choose(lambda path: any(head in names for head in _heads(path)))
        for path in (answer, documents):
            if (count := list(names).count(path)) > 1:
                raise InputError(f"has {count} fields {path}")
        return answer, documents

    def of(self, fields: Mapping[str, Any]) -> tuple[str, str]:
        """Return the paths of a row's answer and documents; a null field is treated as missing.

        Raises:
            InputError: The answer or the documents are missing.
        """
        return self._choose(lambda path: value_at(fields, path) is not None)

    def _choose(self, is_there: Callable[[str], bool]) -> tuple[str, str]:
        """Return the paths of the answer and documents, from the first family with both paths."""
        families = _families(self)
        has_answer = False
        for answers, documents in families:
            answer = next(filter(is_there, answers), None)
            has_answer = has_answer or answer is not None
            if answer is not None and (
                path_of_documents := next(filter(is_there, documents), None)
            ):
                return answer, path_of_documents
        first = families[0].documents[0] if has_answer else families[0].answers[0]
        raise InputError(f"has no field {first}")


@lru_cache  # all rows of a file have the same columns
def _families(columns: Columns) -> tuple[_Family, ...]:
    """Return the families of field names, with the user's names in place of the known names."""
    answers = columns.answer and (columns.answer,)
    documents = columns.documents and (columns.documents,)
    return tuple(
        _Family(answers or family.answers, documents or family.documents) for family in _FAMILIES
    )


def value_at(fields: Mapping[str, Any], path: str) -> Any:
    """Return the value at a path, or None if there is no such value.

    An object on the path may be serialised as a string, since LangSmith and pandas write objects to
    CSV in this way.
    """
    if path in fields:
        return fields[path]
    for head in _heads(path):
        if head in fields and isinstance(inner := _as_object(fields[head]), Mapping):
            return value_at(inner, path[len(head) + 1 :])
    return None


def _heads(path: str) -> list[str]:
    """Return the path and all shorter paths that it begins with, longest first."""
    names = path.split(".")
    return [".".join(names[:count]) for count in range(len(names), 0, -1)]


def _as_object(cell: Any) -> Any:
    if not isinstance(cell, str) or not cell.lstrip().startswith("{"):
        return cell
    if len(cell) <= LONGEST_CELL:
        with suppress(ValueError, RecursionError):  # no JSON, but perhaps a Python literal
            return json.loads(cell)
    if len(cell) <= LONGEST_LITERAL:  # pandas writes an object as a Python literal
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            return ast.literal_eval(cell.strip())
    return None
