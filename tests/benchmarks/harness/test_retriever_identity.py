"""How documents were found: a run is not resumed by a retriever that may find others."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore
from pydantic import Field

from conflictscore.benchmarks.harness.retriever_identity import (
    retrieved_hashes,
    retriever_identity,
)
from conflictscore.retrieval.excluding import ExcludingRetriever

TEXTS = ("Lamp 1 was lit in 1871.", "Lamp 1 was lit in 1874.")


class _Found(BaseRetriever):
    """Finds the same documents for every query, with settings like those of LangChain's own."""

    docs: list[Document] = Field(default_factory=list)
    k: int = 4
    search_kwargs: dict[str, Any] = Field(default_factory=dict)
    headers: dict[str, str] = Field(default_factory=dict)

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        return self.docs


class _Joined(BaseRetriever):
    """Joins what several retrievers find, as LangChain's ensemble does."""

    retrievers: list[BaseRetriever]
    weights: list[float]

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        return [document for inner in self.retrievers for document in inner.invoke(query)]


def found(texts: Sequence[str] = TEXTS, **settings: Any) -> _Found:
    return _Found(docs=[Document(page_content=text) for text in texts], **settings)


def stored(texts: Sequence[str] = TEXTS, **settings: Any) -> BaseRetriever:
    store = InMemoryVectorStore.from_texts([*texts], DeterministicFakeEmbedding(size=4))
    return store.as_retriever(search_kwargs={"k": 2, **settings})


def joined(*inner: BaseRetriever, weights: Sequence[float] = (0.5, 0.5)) -> _Joined:
    return _Joined(retrievers=[*inner], weights=[*weights])


def recorded(retriever: BaseRetriever) -> str:
    """What the manifest of a run has about it."""
    return json.dumps([retriever_identity(retriever), retrieved_hashes(retriever)])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (found(), found(k=2)),
        (found(), found(TEXTS[:1])),
        (found(), found(TEXTS[::-1])),
        (found(), found(search_kwargs={"filter": {"year": 1871}})),
        (found(search_kwargs={"lang": "en"}), found(search_kwargs={"lang": "de"})),
        (found(search_kwargs={"sites": ["a", "b"]}), found(search_kwargs={"sites": ["ab"]})),
        (found(search_kwargs={"n": [*range(90)]}), found(search_kwargs={"n": [*range(91)]})),
        (stored(), stored(k=1)),
        (stored(), stored(TEXTS[:1])),
        (joined(found(), stored()), joined(found(), stored(k=1))),
        (joined(found(), stored()), joined(found(TEXTS[:1]), stored())),
        (joined(found(), stored()), joined(found(), stored(), weights=(0.9, 0.1))),
    ],
)
def test_another_retriever_is_recorded_otherwise(
    first: BaseRetriever, second: BaseRetriever
) -> None:
    assert recorded(first) != recorded(second)


@pytest.mark.parametrize("make", [found, stored, lambda: joined(found(), stored())])
def test_the_same_retriever_made_again_is_recorded_as_the_same(make: Any) -> None:
    assert recorded(make()) == recorded(make())


def test_no_key_path_or_text_is_recorded() -> None:
    private = found(
        headers={"x": "sk-1"},
        search_kwargs={"api_key": "sk-2", "filter": {"source": "/home/me", "auth": "sk-3"}},
    )
    text = recorded(joined(private, stored()))
    assert "search_kwargs" in text
    for secret in ("sk-1", "sk-2", "sk-3", "/home", "1871"):
        assert secret not in text


def test_what_our_own_retrievers_count_is_not_recorded() -> None:
    excluding = ExcludingRetriever(retriever=found(), references={"Lit?": ("1871",)})
    before = recorded(excluding)
    excluding.left_out["https://site.example/"] += 1
    assert recorded(excluding) == before
    assert "Lit?" not in before
    assert before != recorded(ExcludingRetriever(retriever=found(k=2), references={}))


def test_settings_within_themselves_are_recorded_to_a_depth() -> None:
    endless: dict[str, Any] = {"k": 1}
    endless["again"] = endless
    identity = retriever_identity(found(search_kwargs=endless))
    assert identity is not None
    assert identity["settings"]["search_kwargs"]["again"]["k"] == 1
