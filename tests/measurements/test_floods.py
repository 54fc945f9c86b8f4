"""Floods: what a copy is, which questions are flooded, and what copies decide."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from conflictscore.records import Document, Label
from conflictscore.retrieval.duplicates import mark_duplicates
from measurements.flood_cases import CLEAN, changed_words, look_alikes, read_cases, read_questions
from measurements.flood_outcomes import outcome
from measurements.floods import main

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
    assert [d.duplicate_of for d in marked] == [None, None, None, None, 3]


def test_copies_win_no_vote_against_two_but_undo_a_correction_unless_they_count_once() -> None:
    rng = random.Random(0)
    copies = [changed_words(TEXT, [f"x{n}" for n in range(99)], rng) for _ in range(4)]
    documents, sides = mark_duplicates(flood(copies)), [FOR, FOR, *[AGAINST] * 5]

    alone = outcome(sides[:3], documents[:3], "vote")
    outcomes = {one: outcome(sides, documents, one) for one in ("vote", "once", "domain")}

    assert (alone.given_up, alone.corrected, alone.cs_r) == (False, True, 1 / 3)
    assert outcomes["vote"] == outcomes["once"] == (False, False, 5 / 7)
    assert outcomes["domain"] == alone


def test_a_question_is_flooded_from_its_smaller_side(tmp_path: Path) -> None:
    documents = [
        {"text": "a", "label": "CONTRADICTS"},
        {"text": "b", "label": "SUPPORTS"},
        {"text": "c", "label": "CONTRADICTS"},
        {"text": "d", "label": "MIXED"},
    ]
    path = tmp_path / "groups.jsonl"
    lines = [{"id": "q1", "claim": "It rained.", "docs": documents[:n]} for n in (1, 4)]
    path.write_text("\n".join(map(json.dumps, lines)))

    [case] = read_cases("natconfqa", path)

    assert (case.texts, case.sides) == (("a", "c", "b"), (FOR, FOR, AGAINST))
    assert [len(documents) for documents, _ in read_questions("natconfqa", path, 2)] == [1, 3]


@pytest.mark.parametrize("wrong", [[], [{"text": "w", "type": "misinfo", "answer": "1874"}]])
def test_ramdocs_questions_need_a_misinforming_document(
    tmp_path: Path, wrong: list[dict[str, str]]
) -> None:
    right = [{"text": "r", "type": "correct", "answer": "1871"}]
    path = tmp_path / "ramdocs.jsonl"
    path.write_text(json.dumps({"question": "When?", "documents": [*wrong, *right]}))

    assert [case.texts for case in read_cases("ramdocs", path)] == ([("r", "w")] if wrong else [])


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two questions of each set whose documents say different years, at some length."""

    def told(year: int, by: str) -> str:
        said = f"The lamp of the lighthouse was lit in {year}, as the {by} keeper's log has it"
        return f"{said}; the ships in the harbour saw it through the fog for the first time."

    folder = tmp_path / "data"
    for name in ("ramdocs", "labels", "conflicts"):
        (folder / name).mkdir(parents=True)
    for name, path in CLEAN.items():
        lines = []
        for number in (1, 2):
            documents = [
                {"text": told(1870 + number, name), "type": "correct", "answer": "1871"},
                {"text": told(1870 - number, name), "type": "misinfo", "answer": "1874"},
            ]
            labels = [{"label": side, "url": "https://a.org"} for side in (FOR, AGAINST)]
            docs = [one | other for one, other in zip(documents, labels, strict=True)]
            claim = f"The lamp was lit in {1870 + number}."
            record = {"id": f"q{number}", "question": "When?", "claim": claim, "docs": docs}
            lines.append(record | ({"documents": documents} if "ramdocs" in path else {}))
        (folder / path).write_text("\n".join(map(json.dumps, lines)))
    return folder


def flooded(data: Path, out: Path, *more: str) -> Result:
    command = ["--data", str(data), "--out", str(out), "--limit", "0", *more]
    return CliRunner().invoke(main, command)


def test_every_result_is_kept_and_the_same_command_goes_on_where_it_was_killed(
    data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "results.jsonl"
    first = flooded(data, out)
    whole = out.read_bytes().splitlines(keepends=True)
    assert first.exit_code == 0, first.output
    assert "the same: the vote gives the claim up" in first.stdout
    assert f"working out: {len(whole)} of {len(whole)} questions" in first.stderr

    out.write_bytes(b"".join(whole[:5]) + whole[5][:30])
    again = flooded(data, out)

    assert again.stdout == first.stdout
    assert out.read_bytes().splitlines(keepends=True) == whole


def test_ctrl_c_loses_nothing(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"
    command = [sys.executable, "-m", "measurements.floods", "--data", str(data)]
    command += ["--out", str(out)]
    with subprocess.Popen(command, text=True, stderr=subprocess.PIPE) as process:
        while process.poll() is None and not (out.exists() and out.stat().st_size):
            time.sleep(0.002)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)

    assert process.returncode == 1
    assert told.splitlines()[-1] == f"Error: stopped; the same command goes on from {out}"
    kept = out.read_bytes().splitlines(keepends=True)
    assert kept
    assert flooded(data, out).exit_code == 0
    after = out.read_bytes().splitlines(keepends=True)
    assert after[: len(kept)] == kept
    assert len(after) > len(kept)


def test_a_file_that_is_not_a_floods_is_left_alone(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    out.write_text('{"id": 1}\n')

    refused = flooded(data, out)

    assert refused.exit_code == 1
    assert refused.stderr.endswith("row 1: no flood's result; give another --out\n")
    assert out.read_text() == '{"id": 1}\n'
