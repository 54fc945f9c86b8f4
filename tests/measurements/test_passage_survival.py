"""Whether gold answers survive the cut to passages."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from langchain_core.documents import Document

from measurements import passage_survival
from measurements.passage_survival import (
    Case,
    has_loosely,
    has_strictly,
    measure,
    read_cases,
)
from tests.embedding_model import minilm_path as minilm_path

FILLER = " ".join(f"The committee met on day {n} and adjourned." for n in range(20))


def _record(query: str, answer: str | None, kind: str, *texts: str) -> str:
    docs = [{"text": text} for text in texts]
    record = {"query": query, "gold_answer": answer, "conflict_type": kind, "docs": docs}
    return json.dumps(record) + "\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "conflicts.jsonl"
    path.write_text(
        _record(
            "Who lit the lighthouse lamp?",
            "Ada Moor",
            "No conflict",
            f"{FILLER} The lighthouse lamp was lit by Ada Moor. {FILLER}",
            f"Ada Moor of the lighthouse. {FILLER}",
            "Nothing here.",
        )
        + _record("Who sang?", "Bo Lind", "No conflict", "It was Bo Lind.")
        + _record("Where?", "Atlantis", "No conflict", "In the sea.")
        + _record("Is it safe?", "Yes.", "No conflict", "Yes, it is.")
        + _record("Who?", None, "No conflict", "Nobody.")
        + _record("When?", "1871", "Conflicting opinions or research outcomes", "1871, or 1874.")
    )
    return path


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(passage_survival.main, list(arguments))


@pytest.mark.parametrize(
    ("text", "answer", "strictly", "loosely"),
    [
        ("It was  ÉMILE\nZola!", "Emile Zola", True, True),
        ("Zola, whose name was Émile", "Emile Zola", False, True),
        ("Émile Zolas", "Emile Zola", False, False),
        ("It cost $2,000,000.", "2,000,000", True, True),
        ("It cost 2000000", "2,000,000", False, False),
        ("the Ruia family", "The Ruia family", True, True),
        ("Ruia and his family", "The Ruia family", False, True),
        ("It was 7 of 12", "7", True, True),
        ("It was 17", "7", False, False),
        ("Who is The Who?", "the who", True, True),
        ("who is it", "The The", False, False),
    ],
)
def test_what_counts_as_having_the_answer(
    text: str, answer: str, strictly: bool, loosely: bool
) -> None:
    assert has_strictly(text, answer) is strictly
    assert has_loosely(text, answer) is loosely


def test_only_questions_without_conflict_and_with_a_telling_answer_count(file: Path) -> None:
    cases = read_cases(file)
    assert [case.answer for case in cases] == ["Ada Moor", "Bo Lind", "Atlantis"]
    assert [len(case.documents) for case in cases] == [3, 1, 1]


def test_survival_is_counted_where_the_answer_was_there_before() -> None:
    with_answer, without = Document("It was Ada."), Document("It was.")
    cases = [
        Case("?", "Ada", [with_answer, with_answer, without]),
        Case("?", "Ada", [with_answer]),
        Case("?", "Ada", [without]),
    ]
    cut = [[without, with_answer, without], [without], [with_answer]]
    assert measure(cases, cut, has_strictly) == ([1.0, 0.0], [0.0, 1.0, 0.0])


@pytest.mark.usefixtures("minilm_path")
def test_the_command_compares_the_rankings_with_the_first_window_and_chance(file: Path) -> None:
    shown = _run(str(file), "--tokens", "64")
    assert shown.exit_code == 0, shown.output
    assert "3 questions with 5 documents, 2 of them longer than 64 tokens" in shown.stdout
    assert "before the cut 2 questions have a document with the answer strictly" in shown.stdout
    rows = [[cell.strip() for cell in line.split("|")] for line in shown.stdout.splitlines()[-5:]]
    assert [row[0] for row in rows] == ["bm25", "dense", "both", "first window", "random window"]
    assert [row[1].partition(":")[0] for row in rows[:4]] == ["2.0"] * 4
    assert [float(row[2]) for row in rows[:4]] == pytest.approx([1, 1, 1, 2 / 3], abs=1e-3)
    assert 1 / 3 < float(rows[4][2]) < 2 / 3 - 0.01
    assert 0.1 < float(rows[0][5]) < 0.4


@pytest.mark.usefixtures("minilm_path")
def test_joined_documents_are_cut_as_one(file: Path) -> None:
    shown = _run(str(file), "--tokens", "64", "--joined", "--windows", "2")
    assert "3 questions with 3 documents, 1 of them longer than 64 tokens" in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "text", "said"),
    [
        ([], "{", "row 1: not JSON"),
        ([], '{"query": "q"}', "row 1: not a query with conflict_type, gold_answer and docs"),
        ([], _record("Is it?", "No", "No conflict", "t"), "no question without a conflict"),
        (["--tokens", "8"], _record("Who?", "Ada", "No conflict", "t"), "at least 16 tokens"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    tmp_path: Path, arguments: list[str], text: str, said: str
) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text(text)
    shown = _run(str(path), *arguments)
    assert shown.exit_code == 1
    assert said in shown.stderr
