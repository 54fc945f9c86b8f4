"""What is read of comma-separated values, and which columns are scored."""

from pathlib import Path

import pytest

from conflictscore.errors import InputError
from conflictscore.nodes.retrieve import given_documents
from conflictscore.scoring_files.rows import Columns, Source, task_of
from tests.scoring_files.files import lines, outcomes, score


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
        ("Lit.,One.,2", "cells: 3, but columns: 2"),
        ("Lit.", "cells: 1, but columns: 2"),
        ("Lit.,", "field documents: it is not a list, or empty"),
        (",One.", "field answer: it is not a text, or empty"),
        ("Lit.,\"['One.', 'Two.\"", "field documents: it is not a list"),
        ("Lit.,\"array(['One.', 'Two.\"", "field documents: it is not a list"),
        ("Lit.,[3]", "document 1: int, not a text"),
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
        ("answer,documents,id,id\n", "in.csv: the header has a column more than once"),
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
    with pytest.raises(InputError, match="started with something else"):
        score(source, out, columns=Columns("answer", "found"))
