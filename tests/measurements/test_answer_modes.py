"""The ways to score an answer side by side: what is lost though no label is wrong."""

import json
from pathlib import Path

from click.testing import CliRunner

from measurements.answer_modes import main

_LABELS = {"S": "SUPPORTS", "C": "CONTRADICTS", "I": "IRRELEVANT"}
_ROWS = ("SCI", "SCI", "CSI", "III")
"""By claim, people's label of each of three documents."""


def test_a_whole_answer_hides_conflicts_that_single_claims_show(tmp_path: Path) -> None:
    texts = [f"Log {n} of the pier: lit in 187{n}." for n in range(3)]
    lines = [
        {
            "id": f"c{place}",
            "claim": f"Claim of log {place}: lit in 187{place}.",
            "docs": [
                {"text": text, "label": _LABELS[label]}
                for text, label in zip(texts, row, strict=True)
            ],
        }
        for place, row in enumerate(_ROWS)
    ]
    file = tmp_path / "piers_groups.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))

    done = CliRunner().invoke(main, ["--data", str(file), "--errs", "0", "0"])

    assert done.exit_code == 0, done.output
    shown = {line.split()[0]: line.split() for line in done.stdout.splitlines() if line}
    # three of four claims have both sides, and half of what speaks to them is against them
    assert shown["json"][1:6] == ["100.0", "0.750", "0.375", "0.000", "0.000"]
    # each of the two documents supports some claim, so nothing stands against the answer
    assert shown["whole-answer"][1:6] == ["100.0", "0.000", "0.000", "0.750", "0.375"]
    assert shown["salient"][2] in ("0.667", "1.000")
    assert [shown[mode][9] for mode in ("json", "whole-answer", "matrix")] == ["12.0", "3.0", "1.0"]
    for mode in ("per-claim", "matrix"):
        assert shown[mode][2:6] == shown["json"][2:6]


def test_a_file_without_such_answers_is_one_clear_line(tmp_path: Path) -> None:
    file = tmp_path / "one_groups.jsonl"
    document = {"text": "Lit.", "label": "SUPPORTS"}
    file.write_text(json.dumps({"id": "1", "claim": "Lit.", "docs": [document]}) + "\n")
    refused = CliRunner().invoke(main, ["--data", str(file)])
    assert refused.exit_code == 1
    assert "there is no answer with 4 claims and two documents" in refused.stderr
