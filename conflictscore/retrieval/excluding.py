"""Removes documents that reveal a benchmark's answers."""

import threading
from collections import Counter
from collections.abc import Mapping

from langchain_core.documents import Document
from pydantic import Field, PrivateAttr

from conflictscore.retrieval.base import WrappingRetriever
from conflictscore.retrieval.search_notes import note
from conflictscore.scripts import words_in

_QUOTING = "that contain the question and a reference answer"
_LEAST_WORDS = 3
"""Minimum number of words in a reference answer; chosen by hand. A shorter answer may occur near
its question by chance, so no document is removed because of it."""


class ExcludingRetriever(WrappingRetriever):
    """A retriever that removes documents that reveal a benchmark's answers.

    The removed documents are not replaced, so fewer than ``k`` may remain.

    Attributes:
        references: A benchmark's questions with their reference answers, both correct and
            incorrect. The query must be one of the benchmark's questions in its exact wording,
            which is how benchmarks search. A document is removed if it contains both this question
            and one of the question's reference answers, word for word. The question and the answer
            may each be in the title or in the text. An answer counts only if it has at least three
            words and at least one of them is not in the question. Case and punctuation are ignored.
        left_out: The number of documents removed for each reason since the retriever was opened.
            Only one reason exists. The wording of the reason completes the sentence "skipped 2
            documents …".
    """

    references: Mapping[str, tuple[str, ...]] = Field(repr=False)
    left_out: Counter[str] = Field(default_factory=Counter, repr=False)
    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)

    def change(self, query: str, found: list[Document]) -> list[Document]:
        """Remove documents that reveal an answer, and note how many were removed."""
        clean = [one for one in found if not self._gives_away(query, one)]
        if left_out := len(found) - len(clean):
            note(f"documents left out {_QUOTING}: {left_out}")
            with self._lock:
                self.left_out[_QUOTING] += left_out
        return clean

    def _gives_away(self, question: str, document: Document) -> bool:
        references = self.references.get(question, ())
        if not references:
            return False
        parts = [_in_a_row(document.page_content)]
        # a page with questions and answers often has the question only as its title
        if isinstance(title := document.metadata.get("title"), str):
            parts.append(_in_a_row(title))
        if not any(_in_a_row(question) in part for part in parts):
            return False
        asked = set(words_in(question))
        return any(
            any(_in_a_row(answer) in part for part in parts)
            for answer in references
            if len(words := words_in(answer)) >= _LEAST_WORDS and not asked.issuperset(words)
        )


def _in_a_row(text: str) -> str:
    # spaces at both ends, so that only whole words match
    return f" {' '.join(words_in(text))} "
