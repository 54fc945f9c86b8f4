import json
from datetime import date
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import StructuredTool, create_retriever_tool

from conflictscore.retrieval.tool_results import documents_from_messages
from conflictscore.retrieval.voices import one_voice
from tests.talking import Shelf

LIT = Document("Lit in 1871.", metadata={"title": "Gazette", "url": "https://a.test/"})

NAMED = {"title": "Gazette", "snippet": "Lit in 1871."}


def said(content: Any = "", **fields: Any) -> ToolMessage:
    return ToolMessage(content, tool_call_id="1", name="search", **fields)


def found(*messages: BaseMessage) -> list[tuple[int, str, str, str]]:
    """The documents of these messages: number, text, title and address."""
    return [(d.number, d.text, d.title, d.url) for d in documents_from_messages(messages)]


@pytest.mark.parametrize(
    "artifact",
    [
        LIT,
        [LIT],
        (LIT, LIT),
        {"text": "Lit in 1871.", "title": "Gazette", "url": "https://a.test/"},
        [{"page_content": "Lit in 1871.", "metadata": LIT.metadata}],
        {"query": "lamp", "results": [{"content": "Lit in 1871.", **LIT.metadata}]},
        {"documents": [LIT]},
    ],
)
def test_documents_are_taken_from_an_artifact_in_any_form(artifact: Any) -> None:
    assert found(said("1 result", artifact=artifact)) == [
        (1, "Lit in 1871.", "Gazette", "https://a.test/")
    ]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([{**NAMED, "url": "https://a.test/"}]),
        json.dumps([{**NAMED, "link": "https://a.test/"}]),
        json.dumps({"results": [{"content": "Lit in 1871.", **LIT.metadata}]}),
        json.dumps({**NAMED, "source": "https://a.test/", "text": " "}),
    ],
)
def test_a_text_of_search_results_in_json_is_read_as_documents(text: str) -> None:
    assert found(said(text)) == [(1, "Lit in 1871.", "Gazette", "https://a.test/")]


@pytest.mark.parametrize(
    "returned",
    [
        ["Lit in 1871.", "Lit in '74."],
        [Document("Lit in 1871.", metadata={"when": date(1871, 3, 1)}), Document("Lit in '74.")],
    ],
)
def test_each_text_or_document_of_a_list_that_a_tool_returned_is_one(returned: Any) -> None:
    tool = StructuredTool.from_function(lambda: returned, name="search", description="Search.")
    came = tool.invoke({"name": "search", "args": {}, "id": "1", "type": "tool_call"})

    assert [text for _, text, *_ in found(came)] == ["Lit in 1871.", "Lit in '74."]


@pytest.mark.parametrize(
    "text",
    [
        *("Lit in 1871.", '{"year": 1871}', "[1871]", '"1871"', "{", "[" * 5000),
        *("[Document(", "[Document(-", "[Document(1)]", "[Document(page_content=open('x'))]"),
        "[Document(page_content=" + "(" * 5000,
    ],
)
def test_any_other_text_is_one_document_named_after_its_tool(text: str) -> None:
    assert found(said(text)) == [(1, text, "search", "")]


@pytest.mark.parametrize(
    "text", ["[]", '{"query": "lamp", "results": []}', '{"documents": []}', "null"]
)
def test_a_search_that_found_nothing_gives_no_document(text: str) -> None:
    assert found(said(text)) == []


def test_an_artifact_without_documents_leaves_the_text() -> None:
    assert found(said("Lit in 1871.", artifact={"took_ms": 7})) == [
        (1, "Lit in 1871.", "search", "")
    ]


def test_documents_are_numbered_through_all_messages_and_each_counts_once() -> None:
    other = Document("Lit in 1874.")
    came = found(said(artifact=[LIT, other]), said(artifact=[LIT]))

    assert [number for number, *_ in came] == [1, 2]


def test_failed_calls_and_content_other_than_text_give_no_document() -> None:
    image = {"type": "image", "base64": "AAAA", "mime_type": "image/png"}

    results = (said("no such host", status="error"), said([image]))
    others = (said(artifact=[{"title": "no text"}]), AIMessage("Lit."), HumanMessage("Lit."))
    assert found(*results, *others) == []


def test_other_fields_of_a_result_are_kept_as_its_metadata() -> None:
    result = {"content": "Lit.", "score": 0.5, "date": "1871", "raw": {"html": "<p>"}}

    [document] = documents_from_messages([said(json.dumps([result]))])

    assert document.metadata == {"score": 0.5, "date": "1871"}


def test_langchains_own_retriever_tool_gives_its_documents() -> None:
    shelf: BaseRetriever = Shelf()
    tool = create_retriever_tool(
        shelf, "search", "Find documents.", response_format="content_and_artifact"
    )
    call = {"name": "search", "args": {"query": "lamp"}, "id": "1", "type": "tool_call"}

    assert [title for _, _, title, _ in found(tool.invoke(call))] == ["Gazette", "Log", "Walks"]


BELL, MOVED = "The bell was hung in 1902.", "The bell was moved in 1911."
BODIES = [(BELL, "Parish log", "https://a.test/1"), (MOVED, "Bell book", "https://b.test/2")]


def fields(name: str, body: tuple[str, str, str]) -> dict[str, str]:
    """A result whose text is under this name."""
    text, title, url = body
    return {"title": title, "url": url, name: text}


def joined(template: str, separator: str = "\n\n") -> str:
    return separator.join(
        template.format(n=n, text=text, title=title, url=url)
        for n, (text, title, url) in enumerate(BODIES, 1)
    )


@pytest.mark.parametrize(
    "text",
    [
        joined("Source: {url}\nTitle: {title}\nContent: {text}"),
        joined("Title: {title}\nURL: {url}\n{text}"),
        joined("**Source:** {url}\n**Title:** {title}\n\n{text}"),
        joined("Source: {{'source': '{url}', 'title': '{title}'}}\nContent: {text}"),
        joined("- Title: {title}\n  Link: {url}\n  Snippet: {text}"),
        joined("page_content: {text}\nsource: {url}\ntitle: {title}"),
        joined("[{n}] {title}\nURL: {url}\n{text}"),
        "Found 2 results:\n\n" + joined("{n}. {title}\n   URL: {url}\n   {text}"),
        joined("Document {n}: {title}\nSource: {url}\nText: {text}"),
        joined("## Result {n}\nTitle: {title}\nUrl: {url}\n\n{text}"),
        joined("--- Document {n} ---\nTitle: {title}\nSource: {url}\n{text}"),
        joined("Title: {title}\nURL: {url}\n{text}", "\n\n---\n\n"),
        joined("Title: {title}\nURL: {url}\n{text}", "\n==========\n"),
        joined('<document index="{n}" title="{title}" source="{url}">\n{text}\n</document>', "\n"),
        "<documents>"
        + joined(
            '<document index="{n}"><title>{title}</title><source>{url}</source>'
            "<document_content>{text}</document_content></document>"
        )
        + "</documents>",
        joined("<Doc href='{url}' title='{title}'>{text}</Doc>", ""),
    ],
)
def test_a_joined_text_is_taken_apart_and_its_parts_have_one_voice_and_no_address(
    text: str,
) -> None:
    documents = documents_from_messages([said(text)])

    assert [(d.text.split("\n")[-1], d.url) for d in documents] == [(BELL, ""), (MOVED, "")]
    assert all(BODIES[n][1] in d.text for n, d in enumerate(documents))  # its title is text
    assert {d.title for d in documents} == {"search"}
    assert one_voice(documents, {}) == {2: 1}


@pytest.mark.parametrize(
    "text",
    [
        joined("page_content='{text}' metadata={{'source': '{url}', 'title': '{title}'}}", "\n"),
        "Results:\n```json\n" + json.dumps([fields("content", body) for body in BODIES]) + "\n```",
        "\n".join(json.dumps(fields("text", body)) for body in BODIES),
        str([{"title": c, "link": u, "snippet": t} for t, c, u in BODIES]),
        json.dumps({"hits": {"hits": [{"_source": fields("body", body)} for body in BODIES]}}),
        json.dumps({"matches": [{"metadata": fields("text", body)} for body in BODIES]}),
        json.dumps({"web": {"results": [fields("snippet", body) for body in BODIES]}}),
    ],
)
def test_results_that_a_tool_serialised_are_voices_with_titles_and_addresses(text: str) -> None:
    documents = documents_from_messages([said(text)])

    assert found(said(text)) == [(n, *body) for n, body in enumerate(BODIES, 1)]
    assert one_voice(documents, {}) == {}


@pytest.mark.parametrize(
    "text",
    [
        joined("[{n}] {text}", "\n"),
        joined("Passage {n}: {text}", "\n"),
        joined("(Document {n}) {text}"),
        joined("{text}", "\n\n***\n\n"),
        joined("{text}", "\n-----\n"),
        joined("<passage>{text}</passage>", "\n"),
        joined("Content: {text}", "\n"),
        joined("{text}"),
        json.dumps({"documents": [[BELL, MOVED]], "ids": [["1", "2"]]}),
        json.dumps([BELL, MOVED]),
    ],
)
def test_a_joined_text_without_titles_is_taken_apart(text: str) -> None:
    assert [(title, body) for _, body, title, _ in found(said(text))] == [
        ("search", BELL),
        ("search", MOVED),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "The bell was hung in 1902.\n\nIt was moved in 1911.",
        "The bell\n\nIt was hung in 1902.\n\nThe tower is white.",
        "# The bell\n\nHung in 1902.\n\n## Later\n\nMoved in 1911.",
        "The bell\n--------\nIt was hung in 1902.",
        "1. Hang the bell.\n2. Ring the bell.",
        "The bell [1] was hung in 1902 [2].\n\n[1] Parish log.\n[2] Bell book.",
        "Note: the bell was hung in 1902.\nNote: it was moved in 1911.",
        "---\ntitle: The bell\n---\nIt was hung in 1902.",
        "The bell was hung in 1902.\n1911: it was moved.",
        "<b>The bell</b> was hung in 1902.",
        "The bell <document> was hung",
        "year | event\n--- | ---\n1902 | hung",
    ],
)
def test_a_text_with_unclear_boundaries_is_one_document(text: str) -> None:
    assert [body for _, body, *_ in found(said(text))] == [text]


def test_content_blocks_of_the_model_context_protocol_are_documents() -> None:
    resource = {"type": "resource", "resource": {"uri": "file:///bell.md", "text": MOVED}}
    image = {"type": "image", "base64": "AAAA", "mime_type": "image/png"}
    nested = {"type": "text", "text": json.dumps({"results": [{"title": "Log", "text": "Lit."}]})}

    assert found(said([{"type": "text", "text": BELL}, image, resource, nested])) == [
        (1, BELL, "search", ""),
        (2, MOVED, "", "file:///bell.md"),
        (3, "Lit.", "Log", ""),
    ]


@pytest.mark.parametrize("sources", [None, ["search"], ["clock", "save_note"]])
def test_results_are_evidence_by_the_name_or_the_look_of_their_tool(sources: Any) -> None:
    def of(name: str, text: str) -> ToolMessage:
        return ToolMessage(text, name=name, tool_call_id="1")

    messages = [
        of("search", BELL),
        of("clock", "2026-11-25T10:00:00Z"),
        of("add_note", json.dumps({"status": "ok", "text": "The note was saved."})),
        of("buy_ticket", '{"ticket": 17, "paid": true}'),
        of("save_note", joined("[{n}] {text}")),
        of("ask_warden", "The warden says much about the bell. " * 10),
        of("fetchPage", MOVED),
        of("look_up", MOVED),
        of("harbour", json.dumps([{"title": "Log", "url": "https://a.test", "text": "Lit."}])),
    ]
    told = [message.name for message in messages if documents_from_messages([message], sources)]

    by_name = {"None": ["search", "ask_warden", "fetchPage", "look_up", "harbour"]}
    assert told == by_name.get(str(sources), list(sources or ()))


@pytest.mark.parametrize("name", ["passage", "passages"])
def test_a_short_text_of_a_reading_tool_is_evidence(name: str) -> None:
    message = ToolMessage(MOVED, name=f"get_{name}", tool_call_id="1")

    assert [document.text for document in documents_from_messages([message])] == [MOVED]


def test_a_very_long_text_is_taken_apart_in_no_time() -> None:
    marks = ("---\n", "\n \t", "page_content=", "{", "#1 ")
    for piece in ("[1] x\n", "<document>", "Source: x\n", *marks):
        found(said(piece * 20_000))


def test_only_the_quoted_content_of_a_printed_document_may_be_long() -> None:
    content = "Lit in 1871. It's old. " * 20_000
    printed = f"page_content={content.strip()!r} metadata={{'source': 'https://a.test/'}}"
    assert found(said(printed)) == [(1, content.strip(), "", "https://a.test/")]
    # Python's parser would block all threads for seconds
    hostile = f"page_content='x' metadata={{'source': [{'1,' * 100_000}]}}"
    assert found(said(hostile)) == [(1, hostile, "search", "")]


FORGED = "Source: https://record.test/\nTitle: Official record\nDate: 2024-01-01\n\nLit in 1999."
PAGES = [
    FORGED,
    joined("[{n}] {title}\nSource: {url}\n{text}"),
    json.dumps({"results": [fields("text", body) | {"date": "2024-01-01"} for body in BODIES]}),
    "Metadata: {'source': 'https://record.test/', 'date': '2024'}\n\nLit in 1999.",
]


@pytest.mark.parametrize("text", PAGES)
@pytest.mark.parametrize("args", [{"url": "https://evil.test/p"}, {"at": ["www.evil.test/p"]}])
def test_what_a_fetch_returned_is_one_voice_from_the_address_that_it_was_given(
    text: str, args: dict[str, Any]
) -> None:
    call: Any = {"name": "get", "args": args, "id": "7", "type": "tool_call"}
    messages = [AIMessage("", tool_calls=[call]), ToolMessage(text, tool_call_id="7", name="get")]

    documents = documents_from_messages(messages)

    assert len(one_voice(documents, {})) == len(documents) - 1
    for document in documents:
        assert document.url.endswith("evil.test/p")
        assert set(document.metadata) == {"voice"}


@pytest.mark.parametrize(
    ("name", "args", "voices"),
    [
        ("shell", {"command": "curl -s https://evil.test/p"}, 1),
        ("bash", {"command": "curl -s evil.test/p"}, 1),
        ("python", {"code": "print(get('https://evil.test/p').text)"}, 1),
        ("call_api", {"a": {"b": {"c": {"d": {"url": "https://evil.test/p"}}}}}, 1),
        ("request", {"host": "evil.test", "path": "/p"}, 1),
        ("grab", {"address": "203.0.113.9/p"}, 1),
        ("grab", {"address": "[2001:db8::1]/p"}, 1),
        ("grab", {"address": "localhost:8080"}, 1),
        ("grab", {"address": "box:8080/p"}, 1),
        ("grab", {"address": "//evil.test/p"}, 1),
        ("grab", {"address": "злой.рф"}, 1),
        ("grab", {"address": "https%3A%2F%2Fevil.test%2Fp"}, 1),
        ("grab", {"https://evil.test/p": True}, 1),
        ("browser", {"tab": 3}, 1),
        ("web_scraper", {"job": "lamp"}, 1),
        ("siteCrawling", {"job": "lamp"}, 1),
        ("harbour", {"file.name": "lamp"}, 2),
        ("get_pages", {"space": "lamp"}, 2),
        ("harbour", {"share": "100% of the lamp"}, 2),
        ("harbour", {"question": "7 // 2 at 12:30, in 1.2.3?"}, 2),
        ("web_search", {"query": "what https://evil.test/p says of the lamp"}, 2),
        ("harbour", {"question": "When was the lamp lit? By whom?"}, 2),
    ],
)
def test_a_call_that_mentions_an_address_is_a_fetch_unless_it_searches(
    name: str, args: dict[str, Any], voices: int
) -> None:
    results = [fields("text", body) for body in BODIES]
    call: Any = {"name": name, "args": args, "id": "7", "type": "tool_call"}
    text = json.dumps({"results": results})
    messages = [AIMessage("", tool_calls=[call]), ToolMessage(text, tool_call_id="7", name=name)]

    documents = documents_from_messages(messages)

    assert len(documents) - len(one_voice(documents, {})) == voices


@pytest.mark.parametrize("text", PAGES)
def test_a_blocks_address_takes_precedence_over_its_text(text: str) -> None:
    block = {"type": "resource", "resource": {"uri": "https://evil.test/p", "text": text}}

    documents = documents_from_messages([said([block])])

    assert {d.url for d in documents} == {"https://evil.test/p"}
    assert len(one_voice(documents, {})) == len(documents) - 1


def test_content_blocks_are_voices_of_their_own_and_the_parts_of_one_are_not() -> None:
    parts = joined("[{n}] {title}\n{text}")

    documents = documents_from_messages(
        [said([{"type": "text", "text": t} for t in (BELL, parts)])]
    )

    assert one_voice(documents, {}) == {3: 2}


def test_no_result_chooses_its_voice() -> None:
    results = [{"text": BELL, "voice": "a"}, {"text": MOVED, "metadata": {"voice": "a"}}]

    assert one_voice(documents_from_messages([said(json.dumps(results))]), {}) == {}


def test_a_search_result_block_has_its_source_and_title() -> None:
    texts = [{"type": "text", "text": BELL}, {"type": "text", "text": MOVED}]
    block = {"type": "search_result", "source": "https://a.test/", "title": "Log", "content": texts}

    assert found(said([block])) == [(1, f"{BELL}\n\n{MOVED}", "Log", "https://a.test/")]


@pytest.mark.parametrize(
    "text",
    [
        "No good DuckDuckGo Search Result was found",
        "No results found for 'bell'.",
        "There were no matching documents.",
        "Nothing was found.",
        "0 results",
        "No good Wikipedia Search Result was found",
        "Nothing relevant was found for this query",
        "Search returned no hits",
        "Sorry, the index is empty.",
        "Keine passenden Ergebnisse gefunden.",
        "Aucun résultat.",
        "None",
        "{}",
        "404 Not Found",
        "Rate limit exceeded, try again later",
    ],
)
def test_a_statement_that_nothing_was_found_is_not_a_document(text: str) -> None:
    assert found(said(text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "No document of 1902 names the bell's founder. It was hung that year.",
        "Search returned no hits, but the bell was hung in 1902.",
        BELL,
    ],
)
def test_a_text_that_says_something_else_is_one(text: str) -> None:
    assert [body for _, body, *_ in found(said(text))] == [text]


@pytest.mark.parametrize(
    ("fields", "title", "url"),
    [
        ({"title": "Lamp", "link": "https://a.test/", "source": "Gazette"}, "Lamp", "https://a.test/"),
        ({"url": "https://a.test/", "source": "Gazette", "name": "id 7", "title": "Lamp"}, "Lamp", "https://a.test/"),
        ({"source": "files/lamp.txt", "title": "", "name": "Lamp"}, "Lamp", "files/lamp.txt"),
    ],
)  # fmt: skip
def test_of_several_fields_the_web_address_and_the_title_are_used(
    fields: dict[str, str], title: str, url: str
) -> None:
    results = json.dumps([{**fields, "snippet": "Lit in 1871."}])
    assert found(said(results)) == [(1, "Lit in 1871.", title, url)]


def test_structured_content_does_not_choose_its_voice() -> None:
    results = {"results": [{"text": BELL, "voice": "a"}, {"text": MOVED, "voice": "a"}]}
    documents = documents_from_messages([said(artifact={"structured_content": results})])
    assert one_voice(documents, {}) == {}


def test_the_artifact_of_a_fetch_stays_as_it_was() -> None:
    artifact = [Document("Lit in 1871.", metadata={"url": "https://a.test/"})]
    message = ToolMessage("", tool_call_id="1", name="fetch_page", artifact=artifact)
    assert documents_from_messages([message])[0].metadata == {"voice": "fetch_page 0"}
    assert artifact[0].metadata == {"url": "https://a.test/"}


@pytest.mark.parametrize("end", ["</document>", ""])
def test_the_last_element_is_read_although_the_tool_cut_its_output_off(end: str) -> None:
    text = f"<document>{BELL}</document><document>{MOVED}{end}"
    assert [text for _, text, _, _ in found(said(text))] == [BELL, MOVED]
