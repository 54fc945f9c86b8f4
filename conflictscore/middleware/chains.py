"""Wraps a LangChain chain, which takes a question and documents, as a function."""

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.documents import Document as Retrieved
from langchain_core.runnables import Runnable

from conflictscore.prompts import PromptSet
from conflictscore.records import Document

# Usual names of a chain's inputs. All of them are passed, and a chain ignores those it lacks.
_QUESTION_NAMES = ("question", "query", "input")
_DOCUMENTS_NAMES = ("documents", "context")
_ALONE = {"root"}
"""The input fields of a chain that takes only the question and finds its documents itself."""


def function_of(chain: Runnable[Any, Any]) -> Callable[..., Any]:
    """Turn a chain into a function of a question and documents.

    The function invokes the chain with a mapping. The fields ``question``, ``query`` and ``input``
    of the mapping hold the question; ``documents`` and ``context`` hold the documents. Some chains
    declare ``documents`` or ``context`` as a string, as prompts do. Such a field gets the documents
    as one string; any other field gets LangChain documents. The function's other keyword arguments
    are added to the mapping. A chain that takes a single value, such as a chain with its
    own search, gets only the question.
    """
    schema = chain.get_input_jsonschema()
    fields = schema.get("properties", {})
    takes_one = set(fields) == _ALONE or schema.get("type", "object") != "object"
    takes_text = {name for name, field in fields.items() if field.get("type") == "string"}

    def answer(question: str, documents: Sequence[Document], **more: Any) -> Any:
        if takes_one:
            return chain.invoke(question)
        text, retrieved = PromptSet.load().documents(documents), [*map(_retrieved, documents)]
        evidence = {name: text if name in takes_text else retrieved for name in _DOCUMENTS_NAMES}
        return chain.invoke({**more, **dict.fromkeys(_QUESTION_NAMES, question), **evidence})

    answer.__name__ = answer.__qualname__ = chain.get_name()
    return answer


def _retrieved(document: Document) -> Retrieved:
    """Convert a document to LangChain's class."""
    about = {"title": document.title, "source": document.url}
    return Retrieved(document.text, metadata={**document.metadata, **about})
