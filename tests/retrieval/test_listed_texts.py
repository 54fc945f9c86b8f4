"""Results that a search tool wrote as objects, rows, lines or under headings, or none."""

import json
from dataclasses import dataclass

import pytest
from langchain_core.documents import Document as Retrieved
from langchain_core.messages import AIMessage, ToolMessage
from pydantic import BaseModel

from conflictscore.records import Document
from conflictscore.retrieval.tool_results import documents_from_messages

FOUND = [
    ("gazette", "The lamp was first lit in 1871, says the mayor."),
    ("log", 'The log has "1874", in the keeper\'s own hand.'),
    ("walks", "Walkers like the path along the cliff, on Sundays."),
]


@dataclass
class Hit:
    title: str
    text: str


class Result(BaseModel):
    title: str
    text: str


class Results(BaseModel):
    hits: list[Result]


def read(content: object, name: str = "search") -> tuple[Document, ...]:
    call = {"name": name, "args": {"query": "lamp"}, "id": "1"}
    text = content if isinstance(content, str) else str(content)
    message = ToolMessage(text, tool_call_id="1", name=name)
    return documents_from_messages([AIMessage("", tool_calls=[call]), message])


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


@pytest.mark.parametrize(
    "content",
    [
        [Hit(*each) for each in FOUND],
        [Result(title=name, text=text) for name, text in FOUND],
        Results(hits=[Result(title=name, text=text) for name, text in FOUND]),
        [(Retrieved(text, metadata={"source": name}), 0.5) for name, text in FOUND],
        "\n".join(f"{n}. {name}: {text}" for n, (name, text) in enumerate(FOUND, 1)),
        "\n\n".join(f"### {name}\n\n{text}" for name, text in FOUND),
        "| source | text |\n|---|---|\n" + "\n".join(f"| {n} | {t} |" for n, t in FOUND),
        "source,text\n" + "\n".join(f"{n},{quoted(t)}" for n, t in FOUND),
        "source\ttext\n" + "\n".join(f"{n}\t{quoted(t)}" for n, t in FOUND),
        json.dumps({"total": 3, "entries": [{"heading": n, "paragraph": t} for n, t in FOUND]}),
    ],
    ids=[
        *("dataclasses", "models", "model of models", "with scores", "lines", "headings"),
        *("table", "commas", "tabs", "other fields"),
    ],
)
def test_each_result_is_a_document(content: object) -> None:
    documents = read(content)

    assert len(documents) == len(FOUND)
    for document, (_, text) in zip(documents, FOUND, strict=True):
        assert text in document.text


@pytest.mark.parametrize(
    "sentence",
    [
        "No good DuckDuckGo Search Result was found",
        "No results found for your query.",
        "I couldn't find anything relevant in the knowledge base for 'lamp'.",
        "Search completed. 0 results.",
        "Sorry, there were no matching documents for lamp.",
    ],
)
def test_a_statement_that_nothing_was_found_is_not_a_document(sentence: str) -> None:
    assert read(sentence) == ()


@pytest.mark.parametrize(
    "content",
    [
        "There are no documents in English that date the lamp, but the log has 1874.",
        "source,text\nonly one row,of this table with some words",
        "1. Mix the flour.\n2. Bake it.",
        "Intro.\n\n## One\n\nThe lamp was lit.\n\n## Two\n\nThe tower is white.",
    ],
)
def test_a_text_of_another_form_stays_whole(content: str) -> None:
    assert len(read(content)) == 1


def test_parts_of_one_text_are_one_witness() -> None:
    documents = read("\n\n".join(f"### {name}\n\n{text}" for name, text in FOUND))

    assert len({document.metadata["voice"] for document in documents}) == 1


def test_the_names_of_columns_may_be_quoted() -> None:
    rows = "\n".join(f'"{title}","{text.replace(chr(34), chr(34) * 2)}"' for title, text in FOUND)
    documents = read(f'"title","content"\n{rows}')
    assert [document.text for document in documents] == [
        f"{title}\n{text}" for title, text in FOUND
    ]


def test_a_table_with_tabs_may_have_commas_in_the_names_of_its_columns() -> None:
    head, *rows = [("title", "source, year", "text")] + [(t, "Log, 1874", x) for t, x in FOUND]
    table = "\n".join("\t".join(row) for row in (head, *rows))
    texts = [document.text for document in read(table)]
    assert len(texts) == len(FOUND)
    assert all(found in text for (_, found), text in zip(FOUND, texts, strict=True))
