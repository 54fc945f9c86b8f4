from pathlib import Path

import pytest

from conflictscore.errors import InputError
from conflictscore.retrieval.questions import question_key, read_questions


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(name: str, content: str | bytes) -> str:
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


def test_text_holds_one_question_a_line_and_a_hash_begins_no_comment() -> None:
    name = write("q.txt", "\ufeffWho is it?\r\n\n  #1 in the charts in 1999?  \r\n \r\nWhy?")
    assert read_questions(name) == ("Who is it?", "#1 in the charts in 1999?", "Why?")
    assert read_questions(write("q.txt", "A?\nB?\nA?")) == ("A?", "B?", "A?"), "repeated ones stay"


def test_csv_has_a_column_called_question_in_any_case() -> None:
    name = write(
        "q.CSV",
        "\ufeffType, QUESTION ,Answer\r\n"
        'a,"What, ""exactly""?",x\r\n'
        "\r\n,,\r\n"
        'b,"On\r\ntwo lines?",\r\n',
    )
    assert read_questions(name) == ('What, "exactly"?', "On\ntwo lines?")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_any_line_end_will_do(end: str) -> None:
    assert read_questions(write("q.csv", f"id,question{end}1,A?{end}2,B?{end}")) == ("A?", "B?")
    assert read_questions(write("q.txt", f"A?{end}B?{end}")) == ("A?", "B?")


def test_jsonl_has_a_field_question_or_query() -> None:
    name = write("q.jsonl", '{"question": "A?", "query": "no"}\r\n\n{"query": "B?", "id": 7}\n')
    assert read_questions(Path(name)) == ("A?", "B?")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("q.txt", "\n \n", "q.txt: contains no questions"),
        ("q.txt", b"A?\nCaf\xe9?", "q.txt: not UTF-8; save the file as UTF-8"),
        ("q.csv", "Question\nA?".encode("utf-16"), "q.csv: not UTF-8"),
        ("q.csv", "", "q.csv: contains no questions"),
        ("q.csv", "Question\n", "q.csv: contains no questions"),
        ("q.csv", "id,text\n1,A?", "line 1: .* .question.; the columns are .'id', 'text'"),
        ("q.csv", "question,Question\nA?,B?", 'line 1: one column must be named "question"'),
        ("q.csv", "id;question\n1;A?", "the columns are .'id;question'"),
        ("q.csv", 'id,question\n1,"A\n?"\n\n2, \n', "q.csv, line 5, field question: there is no"),
        ("q.csv", "id,question\n1,A?\n2\n", "q.csv, line 3, field question: there is no"),
        (
            "q.csv",
            'question\nA?\n"B?',
            r"q\.csv, line 3: not comma-separated values \(unexpected end of data\)",
        ),
        ("q.jsonl", '{"question": "A?"}\n{"question"', "q.jsonl, line 2: not JSON"),
        ("q.jsonl", "[" * 100_000, "q.jsonl, line 1: not JSON"),
        ("q.jsonl", '["A?"]', "q.jsonl, line 1: not a JSON object"),
        ("q.jsonl", '{"text": "A?"}', "q.jsonl, line 1, field question: it must be"),
        ("q.jsonl", '{"query": 7}', "q.jsonl, line 1, field query: it must be"),
        ("q.jsonl", '{"question": " "}', "q.jsonl, line 1, field question: it must be"),
        ("q.xlsx", "A?", "q.xlsx: its extension is not supported; give .txt, .csv, .jsonl"),
    ],
)
def test_a_fault_is_one_line_that_names_file_row_and_field(
    name: str, content: str | bytes, message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_questions(write(name, content))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match=r"gone\.txt: cannot be read \(No such file"):
        read_questions("gone.txt")


def test_white_space_and_unicode_forms_make_no_other_question_but_case_does() -> None:
    assert question_key("  Is\tthe\n café open? ") == question_key("Is the cafe\u0301 open?")
    assert question_key("Was it Reading?") != question_key("Was it reading?")
