"""Several searches in a row, of which the next one answers where one fails."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    BaseCallbackHandler,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests import RetrieversIntegrationTests
from pydantic import SecretStr

from conflictscore.errors import (
    ConfigurationError,
    ConflictScoreError,
    InputError,
    ProviderError,
    QuotaError,
)
from conflictscore.records import Document as Record
from conflictscore.retrieval.chain import ChainRetriever
from conflictscore.retrieval.corpus import CorpusRetriever
from conflictscore.retrieval.http_searches import SearxngRetriever, SerperRetriever
from conflictscore.retrieval.search_notes import collecting
from tests.fakes.search_server import Reply, SearchServer, searxng, serper, serper_error

OUT_OF_CREDIT = serper_error(400, "Not enough credits")
DOWN = serper_error(500, "Boom")
FOUND_BY_SERPER = [
    {"title": f"S{n}", "link": f"https://s.example/{n}", "snippet": f"Serper {n}."}
    for n in range(1, 31)
]
FOUND_BY_SEARXNG = [
    {"title": f"X{n}", "url": f"https://x.example/{n}", "content": f"SearXNG {n}."}
    for n in range(1, 31)
]


class Web:
    """A Serper and a SearXNG server, and a chain of both."""

    def __init__(self, **serper_options: Any) -> None:
        self.serper = SearchServer(serper(FOUND_BY_SERPER), **serper_options)
        self.searxng = SearchServer(searxng(FOUND_BY_SEARXNG))

    def chain(self, **options: Any) -> ChainRetriever:
        first = SerperRetriever(api_key=SecretStr("key"), endpoint=self.serper.endpoint, retries=0)
        second = SearxngRetriever(endpoint=self.searxng.endpoint, retries=0)
        return ChainRetriever(**{"retrievers": (first, second), **options})

    @property
    def asked(self) -> tuple[int, int]:
        return len(self.serper.requests), len(self.searxng.requests)

    def __enter__(self) -> "Web":
        self.serper.__enter__()
        self.searxng.__enter__()
        return self

    def __exit__(self, *_: Any) -> None:
        self.serper.__exit__(None, None, None)
        self.searxng.__exit__(None, None, None)


class TestAChainIsALangChainRetriever(RetrieversIntegrationTests):
    retriever_constructor = ChainRetriever
    retriever_query_example = "why is the sky blue?"

    @pytest.fixture(autouse=True)
    def _web(self) -> Any:
        with Web(always=OUT_OF_CREDIT) as self.web:
            yield

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"retrievers": self.web.chain().retrievers}


Ask = Callable[[BaseRetriever, str], list[Document]]


def asked(retriever: BaseRetriever, question: str) -> list[Document]:
    return retriever.invoke(question)


def awaited(retriever: BaseRetriever, question: str) -> list[Document]:
    return asyncio.run(retriever.ainvoke(question))


@pytest.fixture(params=[asked, awaited])
def ask(request: pytest.FixtureRequest) -> Any:
    """Each of a retriever's two faces."""
    return request.param


def test_the_first_search_answers_and_the_next_is_not_asked(ask: Ask) -> None:
    with Web() as web, collecting() as notes:
        found = ask(web.chain(k=3), "sky")
    assert [doc.metadata["title"] for doc in found] == ["S1", "S2", "S3"]
    assert web.asked == (1, 0)
    assert notes == []


def test_where_one_fails_the_next_one_answers_and_a_note_says_so(ask: Ask) -> None:
    with Web(always=OUT_OF_CREDIT) as web, collecting() as notes:
        found = ask(web.chain(k=3), "sky")
    assert [doc.metadata["title"] for doc in found] == ["X1", "X2", "X3"]
    assert notes == [
        "serper: the quota or credit of Serper is used up (400: Not enough credits); "
        "searxng answered"
    ]


@pytest.mark.parametrize(
    "fault",
    [DOWN, serper_error(403, "Unauthorized."), serper_error(400, "Query too long")],
    ids=["down", "wrong key", "unusable question"],
)
def test_any_failure_of_a_search_is_a_reason_to_go_on(ask: Ask, fault: Reply) -> None:
    with Web(always=fault) as web, collecting() as notes:
        assert len(ask(web.chain(), "sky")) == 10
    assert len(notes) == 1


def test_nothing_found_is_an_answer(ask: Ask) -> None:
    with Web() as web, SearchServer(serper()) as empty, collecting() as notes:
        nothing = SerperRetriever(api_key=SecretStr("key"), endpoint=empty.endpoint)
        chain = ChainRetriever(retrievers=(nothing, *web.chain().retrievers))
        assert ask(chain, "sky") == []
    assert web.asked == (0, 0)
    assert notes == []


def test_an_empty_question_is_refused_without_a_request(ask: Ask) -> None:
    with Web() as web, pytest.raises(InputError, match=r"^the question to search for is empty"):
        ask(web.chain(), " \n")
    assert web.asked == (0, 0)


def test_where_all_fail_each_one_is_named_with_its_reason(ask: Ask) -> None:
    with Web(always=OUT_OF_CREDIT) as web:
        chain = web.chain()
    with Web(always=DOWN) as other, pytest.raises(ProviderError) as caught:
        ask(ChainRetriever(retrievers=(other.chain().retrievers[0], chain.retrievers[1])), "sky")
    message = str(caught.value)
    assert message.startswith("no search answered: serper: Serper search failed (500: Boom); sear")
    assert "SearXNG cannot be reached" in message
    assert "other ways" not in message
    assert caught.value.provider == "serper, searxng"
    assert caught.value.__context__ is None


class Failing(BaseRetriever):
    """One of the user's own, that fails."""

    error: Any

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        raise self.error


@pytest.mark.parametrize(
    ("errors", "kind"),
    [
        ([ConfigurationError("no key"), ConfigurationError("no key")], ConfigurationError),
        ([ConfigurationError("no key"), InputError("too long")], InputError),
        ([ConfigurationError("no key"), ProviderError("down", provider="a")], ProviderError),
        ([QuotaError("used up", provider="a"), QuotaError("none", provider="b")], QuotaError),
        ([QuotaError("used up", provider="a"), ProviderError("down", provider="b")], ProviderError),
    ],
)
def test_the_error_is_of_the_kind_that_all_are(
    ask: Ask, errors: list[ConflictScoreError], kind: type[Exception]
) -> None:
    chain = ChainRetriever(retrievers=tuple(Failing(error=error) for error in errors))
    with pytest.raises(kind, match="no search answered: failing: ") as caught:
        ask(chain, "sky")
    assert type(caught.value) is kind


def test_a_bug_is_not_passed_over(ask: Ask) -> None:
    chain = ChainRetriever(retrievers=(Failing(error=KeyError("x")), Failing(error=InputError())))
    with pytest.raises(KeyError):
        ask(chain, "sky")


class OnlyAwaited(BaseRetriever):
    """One that has no synchronous face, and belongs to the loop that awaits it."""

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        await asyncio.sleep(0)
        return [Document(page_content=f"{query} {n}") for n in range(20)]

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        raise NotImplementedError


async def test_a_retriever_that_is_only_awaited_is_awaited() -> None:
    chain = ChainRetriever(retrievers=(Failing(error=InputError("no")), OnlyAwaited()))
    with collecting() as notes:
        found = await chain.ainvoke("sky", k=2)
    assert [doc.page_content for doc in found] == ["sky 0", "sky 1"]
    assert notes == ["failing: no; onlyawaited answered"]


def test_k_reaches_each_search(ask: Ask) -> None:
    with Web(always=DOWN) as web:
        assert len(web.chain(k=25).invoke("sky", k=5)) == 5
        assert len(ask(web.chain(k=25), "sky")) == 25
        with pytest.raises(InputError, match="at least 1"):
            web.chain().invoke("sky", k=0)
    assert [request.parameters["pageno"] for request in web.searxng.requests] == [
        *["1"],
        *["1", "2", "3"],
    ]


class TakesAnything(BaseRetriever):
    """One of the user's own, that hands its options on to a service."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        return [Document(page_content=f"{query} {options}") for _ in range(20)]


def test_a_retriever_of_ones_own_gets_no_option_that_it_does_not_know(ask: Ask) -> None:
    found = ask(ChainRetriever(retrievers=(TakesAnything(),), k=3), "sky")
    assert [doc.page_content for doc in found] == ["sky {}"] * 3


def test_the_runs_of_the_searches_are_part_of_the_chains_run(ask: Ask) -> None:
    runs: list[tuple[Any, Any]] = []

    class Recorder(BaseCallbackHandler):
        def on_retriever_start(self, *_: Any, **run: Any) -> None:
            runs.append((run["run_id"], run["parent_run_id"]))

    with Web(always=DOWN) as web:
        chain = web.chain().with_config(callbacks=[Recorder()])
        ask(chain, "sky")  # type: ignore[arg-type]
    (outer, none), *inner = runs
    assert none is None
    assert [parent for _, parent in inner] == [outer, outer]


def test_files_of_ones_own_are_named_as_when_chosen(ask: Ask) -> None:
    files = CorpusRetriever(documents=(Record(number=1, text="The sky."),))
    with collecting() as notes:
        ask(ChainRetriever(retrievers=(Failing(error=InputError("no")), files)), "sky")
    assert notes == ["failing: no; corpus answered"]


def test_notes_of_the_searches_are_the_chains() -> None:
    files = CorpusRetriever(documents=(Record(number=1, text="The sky."),), notes=("a.txt: odd",))
    with Web() as web:
        chain = ChainRetriever(retrievers=(*web.chain().retrievers, files))
    assert chain.notes == ("a.txt: odd",)
