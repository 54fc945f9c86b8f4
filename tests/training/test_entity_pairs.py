"""If a claim names its entity, documents about another entity decide nothing."""

import json
from pathlib import Path

from training.entity_pairs import entity_pairs, halves, learned
from training.pairs import Pair
from training.questions import Question

_PAGES = [
    ("The Moor (novel) came out in 1951 and sold well.", "correct", "1951"),
    ("The Moor (album) came out in 1977, on vinyl.", "correct", "1977"),
    ("The Moor (novel) came out in 1951; the album followed in 1977.", "correct", "1977"),
    ("The Moor came out in 1988, says a page.", "misinfo", "1988"),
    ("The moor behind the village is wet.", "noise", "unknown"),
]


def questions(folder: Path, *, entities: int = 2) -> tuple[list[Question], list[Question]]:
    row = {
        "documents": [
            {"text": text, "type": kind, "answer": answer} for text, kind, answer in _PAGES
        ],
        "disambig_entity": ["The Moor (novel)", "The Moor (album)"][:entities],
        "gold_answers": ["1951", "1977"][:entities],
        "wrong_answers": ["1988"],
    }
    asked = [f"When was The Moor {word}?" for word in ("published", "written")]
    lines = [json.dumps({"question": text} | row) + "\n" for text in asked]
    path = folder / "ramdocs.jsonl"
    path.write_text("".join(lines), "utf-8")
    return halves([path])


def by_text(pairs: list[Pair], answer: str) -> dict[str, str]:
    return {pair.document: pair.label for pair in pairs if f" {answer}." in pair.claim}


def test_another_entity_and_noise_are_irrelevant_to_a_claim_that_names_its_own(
    tmp_path: Path,
) -> None:
    first, second = questions(tmp_path)
    assert len(first) == len(second) == 1
    pairs = list(entity_pairs(first, seed=0))
    assert all("novel" in pair.claim or "album" in pair.claim for pair in pairs)
    novel = by_text(pairs, "1951")
    assert novel[_PAGES[0][0]] == "SUPPORTS"
    assert novel[_PAGES[1][0]] == novel[_PAGES[4][0]] == "IRRELEVANT"
    assert _PAGES[2][0] not in novel, "it tells both"
    assert _PAGES[3][0] not in novel, "nobody knows of which entity it speaks"


def test_with_one_entity_a_misinforming_document_contradicts(tmp_path: Path) -> None:
    first, _ = questions(tmp_path, entities=1)
    assert by_text(list(entity_pairs(first, seed=0)), "1951")[_PAGES[3][0]] == "CONTRADICTS"


def test_the_same_pairs_are_made_each_time_and_measured_questions_are_left_out(
    tmp_path: Path,
) -> None:
    first, second = questions(tmp_path)
    everything = [*first, *second]
    assert list(entity_pairs(everything, seed=1)) == list(entity_pairs(everything, seed=1))
    assert set(learned(everything, seed=1)) <= set(entity_pairs(everything, seed=1))
