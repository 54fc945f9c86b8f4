"""Floods: what counts as a copy, which questions are flooded, and what copies change."""

import random
from pathlib import Path

import pytest
from click.testing import CliRunner

from conflictscore.records import Document, Label
from conflictscore.retrieval.duplicates import mark_duplicates
from measurements.floods import (
    CLEAN,
    changed_words,
    look_alikes,
    main,
    outcome,
    read_cases,
    read_questions,
)
from tests.scoring_files.files import write_lines

TEXT = " ".join(f"word{n}" for n in range(60))
FOR, AGAINST = Label.SUPPORTS, Label.CONTRADICTS


def flood(copies: list[str]) -> list[Document]:
    texts = ["The lamp was lit in 1871.", "In 1871 it was lit.", TEXT, *copies]
    return [
        Document(number=n, text=text, url=f"https://{'flood' if n > 2 else f'source{n}'}.com")
        for n, text in enumerate(texts, start=1)
    ]


def test_one_word_in_six_is_changed_and_look_alikes_are_read_as_the_same_text() -> None:
    changed = changed_words(TEXT, ["other"], random.Random(0))
    alike = look_alikes(TEXT, random.Random(0))

    assert changed.split().count("other") == 10
    assert alike != TEXT
    marked = mark_duplicates(flood([changed, alike]))
    assert [d.duplicate_of for d in marked] == [None, None, None, 3, 3]


def test_changed_copies_undo_a_correction_only_where_each_counts() -> None:
    rng = random.Random(0)
    copies = [changed_words(TEXT, [f"x{n}" for n in range(99)], rng) for _ in range(4)]
    documents, sides = mark_duplicates(flood(copies)), [FOR, FOR, *[AGAINST] * 5]

    alone = outcome(sides[:3], documents[:3], "vote")
    outcomes = {one: outcome(sides, documents, one) for one in ("vote", "once", "domain")}

    assert (alone.given_up, alone.corrected, alone.cs_r) == (False, True, 1 / 3)
    assert outcomes["vote"] == (False, False, 5 / 7)
    assert outcomes["once"] == outcomes["domain"] == alone


def test_a_question_is_flooded_from_its_smaller_side(tmp_path: Path) -> None:
    documents = [
        {"text": "a", "label": "CONTRADICTS"},
        {"text": "b", "label": "SUPPORTS"},
        {"text": "c", "label": "CONTRADICTS"},
        {"text": "d", "label": "MIXED"},
    ]
    lines = [{"id": "q1", "claim": "It rained.", "docs": documents[:n]} for n in (1, 4)]
    path = write_lines(tmp_path / "groups.jsonl", lines)

    [case] = read_cases("natconfqa", path)

    assert (case.texts, case.sides) == (("a", "c", "b"), (FOR, FOR, AGAINST))
    assert [len(documents) for documents, _ in read_questions("natconfqa", path, 2)] == [1, 3]


@pytest.mark.parametrize("wrong", [[], [{"text": "w", "type": "misinfo", "answer": "1874"}]])
def test_ramdocs_questions_need_a_misinforming_document(
    tmp_path: Path, wrong: list[dict[str, str]]
) -> None:
    right = [{"text": "r", "type": "correct", "answer": "1871"}]
    question = {"question": "When?", "documents": [*wrong, *right]}
    path = write_lines(tmp_path / "ramdocs.jsonl", [question])

    assert [case.texts for case in read_cases("ramdocs", path)] == ([("r", "w")] if wrong else [])


def test_the_tables_count_every_question_and_kind_of_copy(tmp_path: Path) -> None:
    for name, path in CLEAN.items():
        said = "The lamp of the lighthouse was lit in {}, as the log has it; ships saw it far out."
        documents = [
            {"text": said.format(1871), "type": "correct", "answer": "1871"},
            {"text": f"No, it was in 1874. {name}", "type": "misinfo", "answer": "1874"},
        ]
        docs = [
            one | {"label": side, "url": ""}
            for one, side in zip(documents, (FOR, AGAINST), strict=True)
        ]
        record = {"id": "q", "question": "When?", "claim": "It was lit in 1871.", "docs": docs}
        record |= {"documents": documents} if name == "ramdocs" else {}
        (tmp_path / path).parent.mkdir(exist_ok=True)
        write_lines(tmp_path / path, [record])

    ran = CliRunner().invoke(main, ["--data", str(tmp_path), "--limit", "0"])

    assert ran.exit_code == 0, ran.output
    told = ran.stdout.partition("the same: the vote gives the claim up")[2].splitlines()
    assert told[4].startswith("| 2 copies | 100 (3/3)")
    assert told[4].count("| 0 (0/3)") == 3
