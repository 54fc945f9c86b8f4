"""The study of when a claim counts as refuted, on a tiny table."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from conflictscore.records import Claim, ClaimEvidence, EvidenceLabel, Label
from measurements.refuting_rules import RULES, main

LABELS = {"+": Label.SUPPORTS, "-": Label.CONTRADICTS, "0": Label.IRRELEVANT}


def claim(text: str, row: str) -> ClaimEvidence:
    labels = tuple(
        EvidenceLabel(claim=1, document=number, label=LABELS[letter])
        for number, letter in enumerate(row, start=1)
    )
    return ClaimEvidence(claim=Claim(number=1, text=text), labels=labels)


@pytest.mark.parametrize(
    ("row", "refuted"),
    [
        ("0-0", ["one document"]),
        ("-0", ["one document", "half of all"]),
        ("--000", ["one document", "two", "two, uncontested", "two, no one alone"]),
    ],
)
def test_rules_differ_in_what_it_takes_to_refute_a_claim(row: str, refuted: list[str]) -> None:
    assert [name for name, rule in RULES.items() if rule.refuted(claim("it", row))] == refuted


@pytest.mark.parametrize(
    ("before", "after", "stands"),
    [
        ("+--", "++-", {"one document", "two, uncontested"}),  # with two documents it is a tie
        ("0--", "0++", {"one document", "two, uncontested", "two, no one alone"}),
        ("0--", "+--", {"one document"}),
        ("0--", "000", set()),
    ],
)
def test_rules_differ_in_which_change_stands(before: str, after: str, stands: set[str]) -> None:
    compared = ("one document", "two, uncontested", "two, no one alone")
    held = {n for n in compared if RULES[n].stands([claim("1871", before)], [claim("1874", after)])}
    assert held == stands


def test_the_table_has_a_row_a_rule(tmp_path: Path) -> None:
    kinds = (("correct", "1874"), ("correct", "1874"), ("misinfo", "1871"))
    row = {
        "question": "When was the lamp lit?",
        "documents": [
            {"text": f"Log {n}: {year}.", "type": kind, "answer": year}
            for n, (kind, year) in enumerate(kinds)
        ],
        "disambig_entity": ["the lamp"],
        "gold_answers": ["1874"],
        "wrong_answers": ["1871"],
    }
    file = tmp_path / "ramdocs.jsonl"
    file.write_text(json.dumps(row), "utf-8")
    args = ["--data", f"ramdocs={file}", "--draws", "1"]
    told = CliRunner().invoke(main, args).output
    assert "ramdocs: 1 questions" in told
    rows = [line for line in told.splitlines() if line.startswith("  ")][1:]
    assert [row[2:20].strip() for row in rows] == [*RULES, *RULES], "of the set, and of all"
    assert rows[0][20:].split()[:2] == ["+1.0", "-0.0"]
    assert "NAME=FILE" in CliRunner().invoke(main, ["--data", "lamps=x"]).output
