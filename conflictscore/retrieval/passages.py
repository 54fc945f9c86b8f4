"""From long documents to the passages of them that fit a question best."""

import asyncio
from collections.abc import Sequence
from typing import Self

import numpy as np
from langchain_core.documents import Document
from numpy.typing import NDArray
from pydantic import model_validator

from conflictscore.errors import InputError
from conflictscore.retrieval.base import WrappingRetriever
from conflictscore.retrieval.ranking import BM25Ranker
from conflictscore.retrieval.token_windows import MARK, TokenWindow, check_size, cut_windows

__all__ = ["MARK", "PassageRetriever", "cut_to_passages"]


class PassageRetriever(WrappingRetriever):
    """Cuts the documents that another retriever finds to their best passages.

    A document of up to ``tokens`` tokens stays as it is. A longer one is cut in overlapping
    windows of that length, and the windows that fit the question best become its text; it stays
    one document, however many these are. For what comes back see ``cut_to_passages``. Awaited, it
    awaits the other retriever and ranks in a thread.

    Attributes:
        retriever: Who finds the documents.
        k: See the base.
        tokens: The most tokens of a window, at least 16.
        stride: Tokens from one window to the next, 1 to ``tokens``; None is half of ``tokens``.
        windows: The most windows of a document that are kept, at least 1.

    Raises:
        InputError: A setting is out of range.
        ProviderError: As the other retriever raises.
    """

    tokens: int = 512
    stride: int | None = None
    windows: int = 1

    @model_validator(mode="after")
    def _settings_are_in_range(self) -> Self:
        check_size(self.tokens, self._stride)
        if self.windows < 1:
            raise InputError(f"a document keeps at least 1 passage, and windows is {self.windows}")
        return self

    @property
    def _stride(self) -> int:
        return self.tokens // 2 if self.stride is None else self.stride

    def change(self, query: str, found: list[Document]) -> list[Document]:
        """See the base."""
        return cut_to_passages(
            query,
            found,
            tokens=self.tokens,
            stride=self._stride,
            windows=self.windows,
        )

    async def achange(self, query: str, found: list[Document]) -> list[Document]:
        """See the base."""
        return await asyncio.to_thread(self.change, query, found)


def cut_to_passages(
    query: str,
    documents: Sequence[Document],
    *,
    tokens: int,
    stride: int,
    windows: int,
) -> list[Document]:
    """Keep the windows of each long document that fit the question best.

    The windows of all documents are ranked together, so that a word that is in all of them counts
    for little. Of a document none of whose windows fits at all, the first is kept. Sizes are as for
    :class:`PassageRetriever`.

    Returns:
        As many documents, in their order. The text of one that was cut is its windows in the
        text's order, with ``MARK`` between those that neither overlap nor touch; its metadata
        has ``passage``, the range of tokens kept, and ``document_tokens``, how many it has.
    """
    cuts = [cut_windows(document.page_content, tokens, stride) for document in documents]
    if all(len(cut) == 1 for cut in cuts):
        return list(documents)
    texts = [
        document.page_content[window.start : window.end]
        for document, cut in zip(documents, cuts, strict=True)
        for window in cut
    ]
    scores = BM25Ranker(texts).scores(query)
    # Blank windows say nothing, however the others rank.
    scores = np.where([bool(text.strip()) for text in texts], scores, -np.inf)
    ends = np.cumsum([len(cut) for cut in cuts])[:-1]
    return [
        _passage(document, cut, _best(cut, own, windows)) if len(cut) > 1 else document
        for document, cut, own in zip(documents, cuts, np.split(scores, ends), strict=True)
    ]


def _best(windows: Sequence[TokenWindow], scores: NDArray[np.floating], count: int) -> list[int]:
    """Which windows to keep, in the text's order.

    One that overlaps a better one comes after all that do not: the two have the best place of the
    text in common, and another place is worth more.
    """
    fitting = np.flatnonzero(scores > 0)
    if not len(fitting):
        return [int(np.argmax(scores > -np.inf))]
    ranked = fitting[np.argsort(-scores[fitting], kind="stable")].tolist()
    apart: list[int] = []
    for number in ranked:
        if not any(_overlap(windows[number], windows[other]) for other in apart):
            apart.append(number)
    rest = [number for number in ranked if number not in apart]
    return sorted([*apart, *rest][:count])


def _overlap(one: TokenWindow, other: TokenWindow) -> bool:
    return one.start < other.end and other.start < one.end


def _passage(document: Document, windows: Sequence[TokenWindow], kept: Sequence[int]) -> Document:
    spans: list[TokenWindow] = []
    for window in (windows[number] for number in kept):
        if spans and window.start <= spans[-1].end:
            first = spans.pop()
            window = TokenWindow(first.start, window.end, first.first_token, window.end_token)
        spans.append(window)
    text, total = document.page_content, windows[-1].end_token
    if spans[0].end - spans[0].start == len(text):
        return document
    where = ", ".join(f"{span.first_token}–{span.end_token}" for span in spans)
    told = {"passage": f"tokens {where} of {total}", "document_tokens": total}
    return document.model_copy(
        update={
            "page_content": MARK.join(text[span.start : span.end].strip() for span in spans),
            "metadata": {**document.metadata, **told},
        }
    )
