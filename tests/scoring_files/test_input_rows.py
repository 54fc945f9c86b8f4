"""Rows of JSON lines, CSV and Parquet, and the reasons why rows cannot be scored."""

import hashlib
import re
import sys
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from conflictscore.errors import ConfigurationError, InputError, install_hint
from conflictscore.loop.inputs import given_documents
from conflictscore.scoring_files.columns import Columns
from conflictscore.scoring_files.input_rows import Row, Source, task_of
from tests.scoring_files.files import answer_row, lines, outcomes, score, write_lines

GOOD: dict[str, Any] = {"answer": "It was lit in 1871.", "documents": ["It was."]}


def every(path: Path) -> list[Row]:
    return list(Source(path).rows())


def fault(fields: dict[str, Any]) -> str:
    with pytest.raises(InputError) as raised:
        task_of(Row(1, fields), Columns())
    return str(raised.value)


def test_rows_are_counted_and_numbered_without_empty_lines(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\n\n \t\r\n{"a": "\xe2\x80\xa8"}\r\n{"a": 3}')

    source = Source(path)

    assert source.total == 3
    assert source.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert every(path) == [Row(1, {"a": 1}), Row(2, {"a": "\u2028"}), Row(3, {"a": 3})]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"null\n", "is not an object"),
        (b'{"a": \n', "is not JSON (Expecting value)"),
        (b'{"a": NaN}\n', "is not JSON (NaN is not a JSON number)"),
        (b'{"a": 1e999}\n', "is not JSON (1e999 is not a JSON number)"),
        (b'{"a": "\xff"}\n', "is not UTF-8"),
        (b"[" * 100_000 + b"\n", "is not JSON"),
    ],
)
def test_a_row_that_is_no_object_has_a_fault_and_the_others_do_not(
    tmp_path: Path, line: bytes, reason: str
) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(b'{"a": 1}\n' + line)

    first, second = every(path)

    assert first == Row(1, {"a": 1})
    assert second.fields == {}
    assert second.fault is not None
    assert second.fault.startswith(reason)


def test_documents_are_texts_or_objects_of_which_text_title_and_url_are_taken() -> None:
    documents = [
        "One.",
        {"content": "Two.", "title": "Log", "url": "https://log.test", "score": 0.3, "id": None},
        {"text": "Three.", "title": None, "url": "", "metadata": None},
        None,
        {"text": None},
    ]

    task = task_of(Row(1, {**GOOD, "documents": documents, "id": 7}), Columns())

    assert task["answer"] == GOOD["answer"]
    one, two, three = given_documents(task)
    assert [one.text, two.text, three.text] == ["One.", "Two.", "Three."]
    assert (two.title, two.url, two.metadata) == ("Log", "https://log.test", {"score": 0.3})
    assert (three.title, three.url, three.metadata) == ("", "", {})


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"answer": None}, "has no field answer"),
        ({"answer": " "}, "field answer: it is not a string, or it is empty"),
        ({"documents": None}, "has no field documents"),
        ({"documents": []}, "field documents: it is not a list, or it is empty"),
        ({"documents": {"text": "One."}}, "field documents: it is not a list, or it is empty"),
        ({"documents": [[1]]}, "document 1: list, not a string, a mapping"),
        ({"documents": [{"title": "Log"}]}, "document 1, field text: it is missing"),
        ({"documents": [{"text": "One.", "url": True}]}, "document 1, field url: bool"),
        ({"documents": [None, {"text": None}]}, "document 1, field text: it is null"),
        ({"conflictscore": {}}, "already has a field conflictscore"),
    ],
)
def test_what_cannot_be_scored_is_named_by_its_field(fields: dict[str, Any], reason: str) -> None:
    assert fault(GOOD | fields).startswith(reason)


# CSV


def read(path: Path, text: str | bytes, columns: Columns | None = None) -> Source:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return Source(path, columns)


def test_a_cell_of_documents_holds_a_list_or_the_text_of_one(tmp_path: Path) -> None:
    source = read(
        tmp_path / "in.csv",
        "\ufeffresponse,retrieved_contexts,n\r\n"
        'Lit.,"[""One."", {""text"": ""Two.""}]",1\r\n'
        "\r\n"
        "\"It was,\nlit.\",\"['One.', 'Two.']\",2\r\n"
        "Dark.,One.,3\r\n",
    )

    tasks = [task_of(row, Columns()) for row in source.rows()]

    assert source.total == 3
    assert [task["answer"] for task in tasks] == ["Lit.", "It was,\nlit.", "Dark."]
    assert [[document.text for document in given_documents(task)] for task in tasks] == [
        ["One.", "Two."],
        ["One.", "Two."],
        ["One."],
    ]


@pytest.mark.parametrize(
    ("cell", "documents"),
    [
        ("[1] One, says the log.", ["[1] One, says the log."]),
        ("{One}, it says", ["{One}, it says"]),
        ("['One.' \"It's.\"\n 'Two.']", ["One.", "It's.", "Two."]),
        ("array(['One.', 'Two.'], dtype=object)", ["One.", "Two."]),
        (r'{"One.","say \"Two\"",NULL,three}', ["One.", 'say "Two"', "three"]),
        ('{"text": "One.", "title": null}', ["One."]),
        ("[{'text': 'One.', 'url': None}]", ["One."]),
        ("arrays are one", ["arrays are one"]),
    ],
)
def test_lists_of_other_tools_are_told_from_texts(
    tmp_path: Path, cell: str, documents: list[str]
) -> None:
    quoted = cell.replace('"', '""')
    (row,) = read(tmp_path / "in.csv", f'answer,documents\nLit.,"{quoted}"\n').rows()
    assert [one.text for one in given_documents(task_of(row, Columns()))] == documents


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("Lit.,One.,2", r"the numbers of cells \(3\) and columns \(2\) differ"),
        ("Lit.", r"the numbers of cells \(1\) and columns \(2\) differ"),
        (",One.", "field answer: it is not a string, or it is empty"),
        ("Lit.,\"['One.', 'Two.\"", "field documents: it is not a list"),
        ("Lit.,\"array(['One.', 'Two.\"", "field documents: it is not a list"),
    ],
)
def test_a_row_that_cannot_be_scored_fails_alone(tmp_path: Path, row: str, reason: str) -> None:
    source = read(tmp_path / "in.csv", f"answer,documents\n{row}\nLit.,One.\n")

    first, second = source.rows()

    with pytest.raises(InputError, match=f"^{reason}"):
        task_of(first, Columns())
    assert task_of(second, Columns())["answer"] == "Lit."


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("reply,documents\n", "in.csv: has no field answer; it has reply, documents"),
        ("answer,documents,answer\n", "in.csv: has 2 fields answer"),
        ("answer,documents,id,id\n", "in.csv: the header contains a duplicate column"),
        ("", "in.csv: has no field answer"),
        ('answer,documents\nLit.,"One."x\n', "in.csv, line 2: not comma-separated values"),
        (b"answer,documents\nLit.,\xff\n", "in.csv: is not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(
    tmp_path: Path, text: str | bytes, reason: str
) -> None:
    with pytest.raises(InputError, match=reason):
        read(tmp_path / "in.csv", text)


def test_a_file_is_scored_by_the_columns_that_are_named(tmp_path: Path) -> None:
    source, out = tmp_path / "in.csv", tmp_path / "out.jsonl"
    read(source, "answer,reply,found\nno,Lit.,One.\n", Columns("reply", "found"))

    summary = score(source, out, columns=Columns("reply", "found"))

    assert (summary.rows, summary.failed) == (1, 0)
    assert lines(out)[0]["found"] == ["One."]
    assert outcomes(out)[0]["report"]["claims"][0]["text"] == "Lit."
    with pytest.raises(InputError, match="started with other input or settings"):
        score(source, out, columns=Columns("answer", "found"))


# Parquet

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def write_parquet(path: Path, rows: list[dict[str, Any]]) -> Path:
    arrow, parquet = map(pytest.importorskip, ("pyarrow", "pyarrow.parquet"))
    parquet.write_table(arrow.Table.from_pylist(rows), path, row_group_size=5)
    return path


def test_parquet_and_json_lines_come_to_the_same(tmp_path: Path) -> None:
    rows = [answer_row(n) for n in range(12)]
    rows = [{**row, "documents": [{"text": "Two."}, row["documents"][0]]} for row in rows]
    padded = write_parquet(tmp_path / "b.parquet", rows)  # Arrow fills absent fields with null
    score(write_lines(tmp_path / "a.jsonl", rows), tmp_path / "a_out.jsonl")

    summary = score(padded, tmp_path / "b_out.jsonl")

    assert (summary.rows, summary.failed) == (12, 0)
    assert outcomes(tmp_path / "a_out.jsonl") == outcomes(tmp_path / "b_out.jsonl")


def test_what_json_does_not_have_is_carried_in_its_place_and_bytes_are_text_or_refused(
    tmp_path: Path,
) -> None:
    typed = {"at": NOON, "cost": Decimal("1.20"), "raw": b"\x00\xff"}
    rows = [{**answer_row(n, 1), **typed, "x": n / 2, "answer": b"Lit."} for n in range(2)]
    rows[1] |= {"x": float("nan"), "answer": b"\xff"}

    score(write_parquet(tmp_path / "in.parquet", rows), tmp_path / "out.jsonl")

    first, second = lines(tmp_path / "out.jsonl")
    carried = {"at": "2026-01-02T12:00:00+00:00", "cost": "1.20", "raw": {"hex": "00ff"}}
    assert first.items() >= carried.items()
    assert (first["x"], second["x"]) == (0.0, None)
    assert first["conflictscore"]["report"]["claims"][0]["text"] == "Lit."
    assert second["conflictscore"]["error"] == "field answer: it is not a string, or it is empty"


def test_a_parquet_file_that_cannot_be_scored_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_parquet(tmp_path / "in.parquet", [{"answer": "x"}])
    with pytest.raises(InputError, match=r"in\.parquet: has no field documents; it has answer"):
        Source(path)
    path.write_text("not at all")
    with pytest.raises(InputError, match=r"in\.parquet: cannot be read as Parquet") as raised:
        Source(path)
    assert "\n" not in str(raised.value)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigurationError, match=re.escape(install_hint("bench"))):
        Source(path)


# Rows written by other tools


def serialised(text: str) -> dict[str, Any]:
    return {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "document", "Document"],
        "kwargs": {"page_content": text, "metadata": {"source": "https://log.test"}},
    }


TOOL_ROWS: dict[str, dict[str, Any]] = {
    "ragas": {"response": "Lit.", "retrieved_contexts": ["One.", "Two."], "reference": "Dark."},
    "deepeval": {
        "actual_output": "Lit.",
        "retrieval_context": ["One.", "Two."],
        "context": ["What ought to be retrieved."],
    },
    "deepeval test case": {"actualOutput": "Lit.", "retrievalContext": ["One.", "Two."]},
    "deepeval joined": {
        "actual_output": "Lit.",
        "retrieval_context": "One.|deepeval_source=log,deepeval_context=Two.",
    },
    "trulens frame": {"prompt": "When?", "response": "Lit.", "context": ["One.", "Two."]},
    "trulens spans": {
        "ai.observability.record_root.output": "Lit.",
        "ai.observability.retrieval.retrieved_contexts": ["One.", "Two."],
    },
    "langsmith": {
        "inputs": {"question": "When?"},
        "outputs": {"answer": "Lit.", "documents": [serialised("One."), serialised("Two.")]},
    },
    "langsmith frame": {"outputs.answer": "Lit.", "outputs.contexts": ["One.", "Two."]},
    "langsmith csv": {
        "inputs": "{}",
        "outputs": '{"output": "Lit.", "contexts": ["One.", "Two."]}',
    },
    "langchain chain": {
        "answer": {"lc": 1, "type": "constructor", "kwargs": {"content": "Lit.", "type": "ai"}},
        "context": [
            {"id": None, "metadata": {}, "page_content": "One.", "type": "Document"},
            serialised("Two."),
        ],
    },
    "phoenix frame": {
        "attributes.output.value": "Lit.",
        "attributes.retrieval.documents": [
            {"document.content": "One.", "document.score": 0.5},
            {"document.content": "Two.", "document.metadata": '{"source": "https://log.test"}'},
        ],
    },
    "phoenix spans": {
        "attributes": {
            "output": {"value": "Lit."},
            "retrieval": {
                "documents": [
                    {"document": {"content": "One."}},
                    {"document": {"content": "Two."}},
                ]
            },
        }
    },
}


@pytest.mark.parametrize("tool", TOOL_ROWS)
def test_rows_of_evaluation_tools_are_scored_as_they_are(tool: str) -> None:
    task = task_of(Row(1, TOOL_ROWS[tool]), Columns())

    assert task["answer"] == "Lit."
    assert [document.text for document in given_documents(task)] == ["One.", "Two."]


def test_what_a_tool_knows_of_a_document_is_kept() -> None:
    langsmith, phoenix, deepeval = (
        given_documents(task_of(Row(1, TOOL_ROWS[tool]), Columns()))
        for tool in ("langsmith", "phoenix frame", "deepeval joined")
    )

    assert {document.url for document in langsmith} == {"https://log.test"}
    assert phoenix[0].metadata == {"score": 0.5}
    assert phoenix[1].url == "https://log.test"
    assert deepeval[1].title == "log"


def test_a_path_of_names_leads_to_a_field(tmp_path: Path) -> None:
    columns = Columns("run.reply.text", "run.found")
    row = {"run": {"reply": {"text": "Lit."}, "found": ["One."]}}
    cell = '{""reply"": {""text"": ""Lit.""}, ""found"": [""One.""]}'

    from_csv = read(tmp_path / "in.csv", f'id,run\n1,"{cell}"\n', columns)
    (csv_row,) = from_csv.rows()

    for task in (task_of(Row(1, row), columns), task_of(csv_row, columns)):
        assert task["answer"] == "Lit."
        assert [document.text for document in given_documents(task)] == ["One."]


def test_what_ought_to_be_retrieved_is_never_scored_in_place_of_what_was() -> None:
    row = {**TOOL_ROWS["deepeval"], "retrieval_context": None}

    assert fault(row).startswith("has no field documents")


def test_a_json_list_is_read_row_by_row(tmp_path: Path) -> None:
    path = tmp_path / "in.json"
    path.write_text('\ufeff [{"a": 1},\n null , {"a": NaN},\n{"a": "]"}\n]\n', "utf-8")

    source = Source(path)
    first, second, third, fourth = source.rows()

    assert source.total == 4
    assert first == Row(1, {"a": 1})
    assert second.fault == "is not an object"
    assert third.fault is not None
    assert third.fault.startswith("is not JSON")
    assert fourth == Row(4, {"a": "]"})


def test_json_lines_may_be_called_json(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "in.json", [{"a": 1}, {"a": 2}])

    assert every(path) == [Row(1, {"a": 1}), Row(2, {"a": 2})]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('[{"a": 1}', 1),
        ('[{"a": 1}\n{"a": 2}]', 2),
        ('[{"a": 1}] []', 1),
        ("[\n\n{]", 3),
        ("[" * 100_000, 1),
        ("[{", 1),
        ("[" + "9" * 5_000 + "]", 1),
    ],
)
def test_a_torn_json_list_is_refused_with_its_line(tmp_path: Path, text: str, line: int) -> None:
    path = tmp_path / "in.json"
    path.write_text(text, "utf-8")

    with pytest.raises(InputError) as raised:
        Source(path)
    assert str(raised.value).startswith(f"{path}, line {line}: ")
