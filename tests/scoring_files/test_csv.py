"""What is read of comma-separated values, and which columns are scored."""

from pathlib import Path

import pytest

from conflictscore.errors import InputError
from conflictscore.nodes.retrieve import given_documents
from conflictscore.scoring_files.rows import Columns, CsvRows, task_of
from tests.scoring_files.files import lines, outcomes, score


def read(path: Path, text: str | bytes, columns: Columns | None = None) -> CsvRows:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return CsvRows(path, columns or Columns())


def test_a_cell_of_documents_holds_a_list_or_the_text_of_one(tmp_path: Path) -> None:
    source = read(
        tmp_path / "in.csv",
        "\ufeffresponse,retrieved_contexts,n\r\n"
        'Lit.,"[""One."", {""text"": ""Two.""}]",1\r\n'
        "\r\n"
        "\"It was,\nlit.\",\"['One.', 'Two.']\",2\r\n"
        "Dark.,One.,3\r\n",
    )

    tasks = [task_of(row) for row in source.rows(lambda number: True)]

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
    (row,) = read(tmp_path / "in.csv", f'answer,documents\nLit.,"{quoted}"\n').rows(bool)
    assert [one.text for one in given_documents(task_of(row))] == documents


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("Lit.,One.,2", "has 3 cells, and the header 2"),
        ("Lit.", "has 1 cell, and the header 2"),
        ("Lit.,", "field documents: empty"),
        (",One.", "field answer: empty"),
        ("Lit.,\"['One.', 'Two.\"", "field documents: a text, and not a list"),
        ("Lit.,[3]", "document 1: int, not a text"),
    ],
)
def test_a_row_that_cannot_be_scored_fails_alone(tmp_path: Path, row: str, reason: str) -> None:
    source = read(tmp_path / "in.csv", f"answer,documents\n{row}\nLit.,One.\n")

    first, second = source.rows(lambda number: True)

    with pytest.raises(InputError, match=f"^{reason}"):
        task_of(first)
    assert task_of(second)["answer"] == "Lit."


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("reply,documents\n", "in.csv: has no field answer; it has reply, documents"),
        ("answer;documents\n", "in.csv: has no field answer; its values must be .* not by ';'"),
        ("answer,documents,answer\n", "in.csv: the header has the column 'answer' more than once"),
        ("", "in.csv: is empty"),
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
