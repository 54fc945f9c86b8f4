"""Documents that LangChain retrievers find inside an agent's tool, before the tool joins them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.messages import ToolMessage
from langchain_core.tracers.context import register_configure_hook
from langgraph.types import Command

__all__ = ["ToolResult", "retrieved_documents", "with_artifact"]

ToolResult = ToolMessage | Command[Any]


class _Found(BaseCallbackHandler):
    """Collects what retrievers return."""

    run_inline = True

    def __init__(self) -> None:
        self.documents: list[Document] = []

    def on_retriever_end(self, documents: Sequence[Document], **_: Any) -> None:
        """Keep what a retriever found."""
        self.documents += documents


_found: ContextVar[BaseCallbackHandler | None] = ContextVar("conflictscore_found", default=None)
# a tool is called with a config of the agent's own, so that no callback can be handed down in it
register_configure_hook(_found, True)


@contextmanager
def retrieved_documents() -> Iterator[list[Document]]:
    """Collect the documents that retrievers find in this block."""
    found = _Found()
    token = _found.set(found)
    try:
        yield found.documents
    finally:
        _found.reset(token)


def with_artifact(result: ToolResult, found: Sequence[Document]) -> ToolResult:
    """A tool's result with those of the documents as its artifact that it tells whole.

    An artifact of its own stays.
    """
    if not isinstance(result, ToolMessage) or result.artifact is not None:
        return result
    told = [document for document in found if document.page_content in str(result.text)]
    return result.model_copy(update={"artifact": told}) if told else result
