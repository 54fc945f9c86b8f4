import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from langchain_core.retrievers import BaseRetriever

from conflictscore.cli import main
from conflictscore.errors import ConfigurationError, InputError, NoDocumentsError
from conflictscore.retrieval.base import TopKRetriever
from conflictscore.retrieval.corpus import CorpusRetriever
from conflictscore.retrieval.google import GoogleRetriever
from conflictscore.retrieval.http_searches import SearxngRetriever, SerperRetriever
from conflictscore.retrieval.opening import described, open_retrieval, open_search
from conflictscore.retrieval.providers import DEFAULT_ORDER, PROVIDERS, configured_search
from conflictscore.retrieval.web_search import WebSearchRetriever


@pytest.fixture
def docs(tmp_path: Path) -> str:
    (tmp_path / "sky.txt").write_text("The sky is blue.")
    return str(tmp_path)


@pytest.fixture
def all_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in PROVIDERS.values():
        for either in provider.variables:
            monkeypatch.setenv(either[0], "http://localhost:8080")


@pytest.mark.usefixtures("all_keys")
@pytest.mark.parametrize("name", [None, "corpus"])
def test_docs_are_searched_where_they_are_given(name: str | None, docs: str) -> None:
    retriever = open_search(name, docs=[docs], top_k=3)
    assert isinstance(retriever, CorpusRetriever)
    assert retriever.k == 3
    assert len(retriever.invoke("sky")) == 1


@pytest.mark.parametrize("name", PROVIDERS)
def test_every_search_in_the_list_exists_and_needs_what_the_list_says(name: str) -> None:
    provider = PROVIDERS[name]
    module, _, class_name = provider.retriever.partition(":")
    search = getattr(import_module(f"conflictscore.retrieval.{module}"), class_name)
    assert issubclass(search, BaseRetriever)
    if issubclass(search, WebSearchRetriever):
        assert search.provider == name
        assert search.key_variables in ((), *provider.variables)


@pytest.mark.usefixtures("all_keys")
@pytest.mark.parametrize(
    ("name", "kind"),
    [("serper", SerperRetriever), ("searxng", SearxngRetriever), ("google", GoogleRetriever)],
)
def test_a_search_is_opened_by_its_name(name: str, kind: type[Any]) -> None:
    retriever = open_search(name, top_k=7)
    assert type(retriever) is kind
    assert isinstance(retriever, TopKRetriever)
    assert retriever.k == 7


def test_the_address_of_a_searxng_server_may_follow_its_name() -> None:
    retriever = open_search("searxng:http://search.example:8080/searx")
    assert isinstance(retriever, SearxngRetriever)
    assert retriever.endpoint == "http://search.example:8080/searx"


@pytest.mark.parametrize("name", DEFAULT_ORDER)
def test_by_default_the_first_configured_search_is_taken(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for later in DEFAULT_ORDER[DEFAULT_ORDER.index(name) :]:
        for either in PROVIDERS[later].variables:
            monkeypatch.setenv(either[-1], "http://localhost:8080")
    assert configured_search() == name


def test_google_is_the_last_and_nothing_the_default_without_a_variable() -> None:
    assert DEFAULT_ORDER[-1] == "google"
    assert configured_search() is None


def test_half_of_what_a_search_needs_does_not_make_it_the_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "key")
    monkeypatch.setenv("SERPER_API_KEY", " ")
    assert configured_search() is None


VERTEX = "(VERTEX_API_KEY or GOOGLE_API_KEY) and VERTEX_SERVING_CONFIG"


def test_without_docs_and_keys_every_way_is_named() -> None:
    with pytest.raises(ConfigurationError) as caught:
        open_search()
    needed = [PROVIDERS[name].needs for name in DEFAULT_ORDER]
    for word in ('docs="PATH"', "GOOGLE_API_KEY and GOOGLE_CSE_ID", VERTEX, *needed):
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("bing", "'bing'; choose from serper, searxng, .*corpus"),
        ("surper", "'surper'; did you mean serper"),
        ("SEARXNG", "did you mean searxng"),
        ("serper,corpus", "no search named 'serper,corpus'"),
        ("", "no search named ''"),
        ("serper:key", 'search="serper:key" .*give serper'),
        ("searxng:", r"give searxng\[:URL\]"),
        ("recorded", "give recorded:FILE"),
        ("corpus", "and docs=.* must be used together"),
    ],
)
def test_an_invalid_choice_is_refused(name: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        open_search(name)


def test_options_that_do_not_go_together_are_refused(docs: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be used together"):
        open_search("serper", docs=[docs])
    with pytest.raises(InputError, match="k is 0"):
        open_search(docs=[docs], top_k=0)
    (tmp_path / "empty").mkdir()
    with pytest.raises(NoDocumentsError):
        open_search(docs=[str(tmp_path / "empty")])


def test_help_names_every_search_and_what_it_needs() -> None:
    shown = " ".join(CliRunner().invoke(main, ["search", "--help"]).output.split())
    for name, provider in PROVIDERS.items():
        assert f" {provider.usage(name)} {provider.summary}" in shown
        assert provider.needs in shown
    assert "serper, searxng[:URL], vertex, google, corpus, re" in shown


def test_choosing_a_search_loads_no_search_library() -> None:
    searches = {"googleapiclient", "bm25s", "selectolax"}
    for module, heavy in (("opening", searches), ("providers", {"langchain_core"})):
        code = f"import sys, conflictscore.retrieval.{module}; print({heavy} & set(sys.modules))"
        assert subprocess.check_output([sys.executable, "-c", code], text=True) == "set()\n"


def test_sources_are_described_without_paths_or_addresses(
    docs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERPER_API_KEY", "key")

    assert described(open_retrieval(docs=docs)) == "1 document, “sky”"
    assert described(open_retrieval("serper")) == "Serper"
    assert described(None) == ""
