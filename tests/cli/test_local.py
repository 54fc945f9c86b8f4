"""The whole loop on a real local model. SmolLM2 judges at chance: this is about the plumbing."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from conflictscore.cli import main
from conflictscore.records import Claim, Document

QUESTION = "In which year did the Vennick Point lighthouse first light its lamp?"
CLAIM = Claim(number=1, text="The lamp was first lit in 1871.")
DOCUMENT = Document(number=1, text="The log book says that the lamp was first lit in 1874.")


@pytest.mark.timeout(400)
def test_ask_runs_on_a_model_file_without_any_key_and_a_second_time_for_nothing(
    smollm2_path: Path, tmp_path: Path
) -> None:
    (tmp_path / "log.md").write_text(DOCUMENT.text)
    (tmp_path / "almanac.md").write_text("The almanac says that the lamp was first lit in 1871.")
    files = [str(tmp_path / "log.md"), str(tmp_path / "almanac.md")]
    options = ["--option", "It was first lit in 1871.", "--option", "It was first lit in 1874."]
    command = ["ask", QUESTION, "--docs", *files, *options, "--max-rounds", "0"]
    command += ["--model", f"local:{smollm2_path}", "--labeler", "choice", "--json"]

    first, again = (json.loads(CliRunner().invoke(main, command).stdout) for _ in range(2))

    assert first["answer"] in options
    assert first["usage"]["calls"] >= 3
    assert first["usage"]["input_tokens"] > 500
    assert len(first["documents"]) == 2
    pairs = [label for claim in first["report"]["claims"] for label in claim["labels"]]
    assert len(pairs) == 2
    assert all(label["label"] != "UNLABELLED" and 0 < label["score"] < 1 for label in pairs)
    assert again["usage"]["calls"] == 0
    assert again["answer"] == first["answer"]
