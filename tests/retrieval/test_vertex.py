import pytest
from pydantic import SecretStr

from conflictscore.errors import ConfigurationError
from conflictscore.retrieval.http_searches import VertexRetriever
from tests.fakes.search_providers import CASES, KEY
from tests.fakes.search_server import ENGINE, SearchServer, vertex

searching = CASES["vertex"].searching
CONFIG = f"{ENGINE}/servingConfigs/default_search"

PAGES = [
    CASES["vertex"].found(n, htmlTitle=f"<b>Title</b> {n}", displayLink=f"site{n}.example")
    for n in range(1, 81)
]


def test_the_request_is_one_that_search_lite_takes() -> None:
    with SearchServer(vertex(PAGES)) as server:
        searching(server, k=3).invoke("sky & sea = blau?")
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", f"/v1/{CONFIG}:searchLite")
    assert request.headers["x-goog-api-key"] == KEY
    assert KEY not in request.target
    assert request.json == {
        "query": "sky & sea = blau?",
        "pageSize": 3,
        "offset": 0,
        "contentSearchSpec": {"snippetSpec": {"returnSnippet": True}},
    }


def test_the_page_without_a_next_one_is_the_last() -> None:
    with SearchServer(vertex(PAGES[:25])) as server:
        assert len(searching(server, k=60).invoke("sky")) == 25
    assert len(server.requests) == 1


def test_a_page_is_shown_by_its_snippets() -> None:
    parts = [
        {"snippet": "The <b>sky</b> is&nbsp;blue.", "htmlSnippet": "unused"},
        {"snippet": "At noon.<br>It is 10<br>20 m.", "snippet_status": "SUCCESS"},
    ]
    none = {"snippet": "No snippet is available.", "snippet_status": "NO_SNIPPET_AVAILABLE"}
    pages = [PAGES[0] | {"snippets": parts}, PAGES[1] | {"snippets": [none]}]
    with SearchServer(vertex(pages)) as server:
        found = searching(server).invoke("sky")
    assert [doc.page_content for doc in found] == [
        "The sky is blue. [...] At noon. It is 10 20 m.",
        "",
    ]


def test_a_short_name_stands_for_the_engines_default_config() -> None:
    with SearchServer(vertex(PAGES)) as server:
        assert len(searching(server, serving_config=" p1/e1 ").invoke("sky")) == 10
    assert server.requests[0].path == f"/v1/{CONFIG}:searchLite"


def test_a_data_store_is_searched_like_an_engine() -> None:
    store = CONFIG.replace("engines", "dataStores")
    with (
        SearchServer(vertex(PAGES)) as server,
        pytest.raises(ConfigurationError, match=r"404: .*dataStores/e1.*VERTEX_SERVING_CONFIG"),
    ):
        searching(server, serving_config=store).invoke("sky")
    assert server.requests[0].path == f"/v1/{store}:searchLite"


def test_without_an_endpoint_googles_own_for_the_location_is_asked() -> None:
    for location, host in (("global", "discoveryengine"), ("eu", "eu-discoveryengine")):
        config = CONFIG.replace("global", location)
        retriever = VertexRetriever(api_key=SecretStr(KEY), serving_config=config)
        address = f"https://{host}.googleapis.com/v1/{config}:searchLite"
        assert retriever.request("sky", 0, 10)["url"] == address


@pytest.mark.parametrize(
    "config", ["e1", "p1/", "p1/e1/x", "projects/p1/locations/global/engines/e1", CONFIG + "/x"]
)
def test_another_kind_of_name_is_refused_with_the_forms_there_are(config: str) -> None:
    with pytest.raises(ConfigurationError, match="PROJECT/ENGINE or projects/PROJECT/locations/"):
        VertexRetriever(api_key=SecretStr(KEY), serving_config=config)
