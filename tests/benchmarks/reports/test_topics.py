import json
from pathlib import Path
from typing import Any

import pytest

from conflictscore.benchmarks.reports.benchmark import Topic, read_topics, reports
from conflictscore.errors import InputError
from tests.benchmarks.truthfulqa.files import REAL, needs_real_data, write_jsonl

DOCS = [{"text": "Lit in 1871.", "title": "Log"}, {"text": "Lit in 1874.", "label": "SUPPORTS"}]
GROUP: dict[str, Any] = {
    "id": "a",
    "claim": "It was lit in 1871.",
    "docs": DOCS,
    "has_conflict": True,
}
QUERY: dict[str, Any] = {
    "id": 7,
    "query": "When was it lit?",
    "conflict_type": "Conflicting opinions or research outcomes",
    "docs": [{"doc_id": "d1", "url": "https://a.test", "text": "In 1871.", "date": "2004-11-23"}],
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "lamp_groups.jsonl"


def read(file: Path, *rows: object) -> tuple[Topic, ...]:
    return read_topics(str(write_jsonl(file, rows)))


def test_a_claim_is_a_topic_with_its_documents_and_no_label(file: Path) -> None:
    [topic] = read(file, GROUP)
    asked = topic.question
    assert (asked.category, asked.id) == ("lamp_groups", "lamp_groups a")
    assert (asked.question, topic.conflict) == ("It was lit in 1871.", True)
    assert asked.documents == (
        {"text": "Lit in 1871.", "title": "Log", "url": ""},
        {"text": "Lit in 1874.", "title": "", "url": ""},
    )


def test_a_question_is_the_topic_where_there_is_one_and_its_two_claims_are_one(file: Path) -> None:
    both = GROUP | {"question": "When was it lit?"}
    other = both | {"id": "b", "claim": "It was lit in 1874.", "docs": DOCS[::-1]}
    [topic] = read(file, both, other)
    assert (topic.id, topic.question.question) == ("lamp_groups a", "When was it lit?")


def test_conflicts_by_type_are_topics_with_address_and_date(file: Path) -> None:
    complementary = QUERY | {"id": 8, "conflict_type": "Complementary information"}
    [topic, other] = read(file, QUERY, complementary)
    assert (topic.id, topic.conflict) == ("lamp_groups 7", True)
    assert topic.question.question == "When was it lit?"
    [document] = topic.question.documents
    assert document["url"] == "https://a.test"
    assert document["metadata"] == {"date": "2004-11-23"}
    assert not other.conflict


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (GROUP | {"docs": []}, "row 2, field docs"),
        (GROUP | {"docs": [{"text": ""}]}, r"row 2, field docs\.0\.text"),
        (GROUP | {"claim": None}, "row 2, field claim"),
        (GROUP | {"has_conflict": None}, "row 2, field has_conflict"),
        (GROUP, "row 2, field id: the same as in row 1"),
    ],
)
def test_a_row_that_cannot_be_used_is_named(file: Path, row: object, told: str) -> None:
    with pytest.raises(InputError, match=told):
        read(file, GROUP, row)


@needs_real_data
@pytest.mark.parametrize(
    ("name", "conflicts"),
    [
        ("labels/perspectrum_groups", 480),
        ("labels/healthver_groups", 88),
        ("labels/climatefever_groups", 69),
        ("labels/natconfqa_groups", 44),
        ("labels/wikicontradict_groups", 100),
        ("labels/factcheckgpt_groups", 5),
        ("labels/scifact_groups", 0),
        ("conflicts/conflicts", 42),
    ],
)
def test_the_real_sets_read_with_so_many_conflicts(name: str, conflicts: int) -> None:
    topics = read_topics(str(REAL / f"{name}.jsonl"))
    assert sum(topic.conflict for topic in topics) == conflicts


def test_the_topic_of_a_source_of_conflictbench_is_its_question(tmp_path: Path) -> None:
    page = {
        "search_query": "is coffee healthy",
        "search_type": "yes_statement",
        "search_engine_input": "coffee is healthy",
        "title": "A page",
    }
    rows = [{**page, "text_window": f"Of {side}.", "stance": side} for side in ("yes", "no")]
    path = write_jsonl(tmp_path / "pages.jsonl", rows)
    [topic] = read_topics(f"conflictingqa:{path}")
    assert (topic.question.question, topic.conflict) == ("is coffee healthy", True)


def test_the_official_file_of_conflicts_is_read_as_the_shortened_one_is(file: Path) -> None:
    official = {
        "question": "When was it lit?",
        "conflict_type": "conflicting opinions  and research outcomes",
        "correct_answer": "",
        "search_results": [
            {"title": "Log", "url": "https://a.test", "snippet": "Lit.", "date": "NA"},
            {"title": "Empty", "url": "https://b.test", "snippet": "", "short_text": ""},
        ],
    }
    [topic] = read(file, official)
    assert (topic.question.question, topic.conflict) == ("When was it lit?", True)
    [document] = topic.question.documents
    assert (document["text"], document["title"], document["metadata"]) == ("Lit.", "Log", {})
    [undated] = read(file, QUERY | {"docs": [{"text": "In 1871.", "date": "NA"}]})
    assert "metadata" not in undated.question.documents[0]


def test_a_conflict_type_of_no_kind_is_refused_and_not_taken_for_agreement(file: Path) -> None:
    with pytest.raises(InputError, match="row 1, field conflict_type: 'Quarrel' is not one of"):
        read(file, QUERY | {"conflict_type": "Quarrel"})


def test_a_source_without_a_topic_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pages.jsonl"
    path.write_text("")
    with pytest.raises(InputError, match="contains no claims"):
        read_topics(f"conflictingqa:{path}")


def test_the_folder_of_contraqa_makes_a_benchmark_with_a_hash_of_its_files(tmp_path: Path) -> None:
    texts = [("tower", "red", "blue"), ("lamp", "lit", "dark"), ("bridge", "long", "short")]
    write_jsonl(
        tmp_path / "corpus.json",
        [
            {"id": f"{name}{mark}", "contents": f"The {name} is {word}."}
            for name, *words in texts
            for mark, word in zip(("", "-FAKE"), words, strict=True)
        ],
    )
    queries = [
        {
            "id": f"{name}{number}",
            "question": f"Is the {name} so, {number}?",
            "context": f"The {name} is {right}.",
            "answers": {"text": [right]},
        }
        for name, right, _ in texts
        for number in range(8)
    ]
    (tmp_path / "queries.json").write_text(json.dumps(queries))
    first = reports([f"contraqa:{tmp_path}"], "free-form", 0)
    (tmp_path / "queries.json").write_text(json.dumps(queries[::-1]))
    second = reports([f"contraqa:{tmp_path}"], "free-form", 0)

    assert first.questions
    assert first.hashes.keys() == {"data contraqa"}
    assert first.hashes != second.hashes
