"""A LangChain chain of a question and documents, as a function of them."""

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.documents import Document as Retrieved
from langchain_core.runnables import Runnable

from conflictscore.prompts import PromptSet
from conflictscore.records import Document

_QUESTION_NAMES = ("question", "query", "input")
_DOCUMENTS_NAMES = ("documents", "context")
_ALONE = {"root"}
"""The fields of a chain that takes a single value, the question, and finds its documents itself."""


def function_of(chain: Runnable[Any, Any]) -> Callable[..., Any]:
    """The chain as a function, which invokes it with a mapping.

    The question is its ``question``, ``query`` and ``input``; the documents are its ``documents``
    and ``context``. They are a text if the chain declares one, as a prompt does, and otherwise
    LangChain's documents. Further keywords become further fields. A chain that takes a single
    value, such as one with its own search, gets the question.
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
    """The document in LangChain's form."""
    about = {"title": document.title, "source": document.url}
    return Retrieved(document.text, metadata={**document.metadata, **about})
