"""Recall of the right documents in the corpus search."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from measurements import retrieval_recall
from measurements.retrieval_recall import measure, read_corpus
from tests.embedding_model import minilm_path as minilm_path


def _record(question: str, *documents: tuple[str, str]) -> str:
    return json.dumps(
        {"question": question, "documents": [{"text": t, "type": k} for t, k in documents]}
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Three questions about lamp, bread and sky; the last has no right document."""
    lines = [
        _record(
            "When was the lamp lit?",
            ("The lamp was lit in 1871.", "correct"),
            ("It shone first in 1871.", "correct"),
            ("The lamp was lit in 1990.", "misinfo"),
            ("Bread needs flour.", "noise"),
        ),
        _record("What does bread need?", ("Bread needs flour.", "correct"), ("Sea.", "noise")),
        _record("Why is the sky blue?", ("The sky is green.", "misinfo")),
    ]
    path = tmp_path / "ramdocs.jsonl"
    path.write_text("\n".join(lines), "utf-8")
    return path


def test_the_documents_of_all_questions_are_one_corpus(file: Path) -> None:
    corpus = read_corpus(file)
    assert [document.number for document in corpus.documents] == [1, 2, 3, 4, 5, 6]
    assert len({document.text for document in corpus.documents}) == 6
    assert corpus.questions == (
        ("When was the lamp lit?", frozenset({1, 2})),
        ("What does bread need?", frozenset({4})),
    )


def test_recall_is_the_share_of_the_right_documents_among_the_first(file: Path) -> None:
    corpus = read_corpus(file)
    assert measure(corpus, "bm25", 1).shares in ([0.5, 1.0], [0.0, 1.0])
    assert measure(corpus, "bm25", 2).shares == [0.5, 1.0]
    assert measure(corpus, "bm25", 6).shares == [1.0, 1.0]


@pytest.mark.usefixtures("minilm_path")
def test_the_command_prints_a_line_for_each_ranking(file: Path) -> None:
    shown = CliRunner().invoke(retrieval_recall.main, [str(file), "--k", "2"])
    assert shown.exit_code == 0, shown.output
    assert "2 questions, 6 documents, the first 2 found" in shown.stdout
    bm25, dense, both = shown.stdout.splitlines()[-3:]
    assert bm25.split("|")[1].strip() == "0.750 [0.500, 1.000]"
    assert bm25.split("|")[3].strip() == "0.000 [0.000, 0.000]"
    assert dense.split("|")[0].strip() == "dense"
    assert both.split("|")[2].strip() == "1.000 [1.000, 1.000]"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "row 1: not JSON"),
        ('{"question": "q"}', "row 1: not a question with documents"),
        ('{"question": "q", "documents": [{"text": "t"}]}', "KeyError('type')"),
        ("[]", "row 1: not a question with documents"),
        (_record("q", ("t", "noise")), "no question has a document of the type correct"),
        ("", "no question has a document of the type correct"),
    ],
)
def test_a_file_of_another_form_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text(text)
    shown = CliRunner().invoke(retrieval_recall.main, [str(path)])
    assert shown.exit_code == 1
    assert said in shown.stderr
    assert "other.jsonl" in shown.stderr


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    shown = CliRunner().invoke(retrieval_recall.main, [str(tmp_path / "none.jsonl")])
    assert "none.jsonl: cannot be read" in shown.stderr
