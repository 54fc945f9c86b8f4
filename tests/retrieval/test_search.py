"""Which retriever a run uses."""

import subprocess
import sys
from pathlib import Path

import pytest

from conflictscore.errors import ConfigurationError, InputError, NoDocumentsError
from conflictscore.retrieval.corpus import CorpusRetriever
from conflictscore.retrieval.google import GoogleRetriever
from conflictscore.retrieval.search import open_search


@pytest.fixture
def docs(tmp_path: Path) -> str:
    (tmp_path / "sky.txt").write_text("The sky is blue.")
    return str(tmp_path)


@pytest.fixture
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    monkeypatch.delenv("GOOGLE_CSE_ID", raising=False)


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "key")
    monkeypatch.setenv("GOOGLE_CSE_ID", "engine")


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize("name", [None, "corpus"])
def test_docs_are_searched_where_they_are_given(name: str | None, docs: str) -> None:
    retriever = open_search(name, docs=[docs], top_k=3)
    assert isinstance(retriever, CorpusRetriever)
    assert retriever.k == 3
    assert len(retriever.invoke("sky")) == 1


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize("name", [None, "google"])
def test_google_is_searched_where_its_keys_are_set(name: str | None) -> None:
    retriever = open_search(name, top_k=7)
    assert isinstance(retriever, GoogleRetriever)
    assert retriever.k == 7


@pytest.mark.usefixtures("no_keys")
def test_without_docs_and_keys_both_ways_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "key")
    with pytest.raises(ConfigurationError) as caught:
        open_search()
    for word in ("--docs PATH", "--search google", "GOOGLE_API_KEY", "GOOGLE_CSE_ID"):
        assert word in str(caught.value)


@pytest.mark.usefixtures("no_keys")
def test_google_without_keys_is_a_matter_of_configuration() -> None:
    with pytest.raises(ConfigurationError, match="not set: GOOGLE_API_KEY and GOOGLE_CSE_ID"):
        open_search("google")


def test_options_that_do_not_go_together_are_refused(docs: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--docs .*--search"):
        open_search("google", docs=[docs])
    with pytest.raises(InputError, match="needs --docs"):
        open_search("corpus")
    with pytest.raises(InputError, match=r"'bing'.* corpus, google"):
        open_search("bing")
    with pytest.raises(InputError, match="k is 0"):
        open_search(docs=[docs], top_k=0)
    (tmp_path / "empty").mkdir()
    with pytest.raises(NoDocumentsError):
        open_search(docs=[str(tmp_path / "empty")])


def test_choosing_a_search_loads_no_search_library() -> None:
    heavy = "{'googleapiclient', 'bm25s', 'selectolax'}"
    code = f"import sys, conflictscore.retrieval.search; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
