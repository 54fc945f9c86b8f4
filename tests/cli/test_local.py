"""The whole loop on a real local model. SmolLM2 judges at chance: this is about the plumbing."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from conflictscore.cli import main
from conflictscore.labelers.choice_judge import ChoiceJudge
from conflictscore.labelers.json_judge import JsonJudge
from conflictscore.models.spec import open_model
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import Claim, Document, Label
from conflictscore.storage.cache import ContentCache

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


async def test_both_labelers_get_real_verdicts_from_the_server(
    smollm2_path: Path, tmp_path: Path
) -> None:
    model = open_model(f"local:{smollm2_path}", cache=ContentCache(tmp_path / "cache.sqlite"))
    prompts, meter = PromptSet.load(), UsageMeter()

    chosen = await ChoiceJudge(model, prompts).label(CLAIM, DOCUMENT, meter)
    written = await JsonJudge(model, prompts).label(CLAIM, DOCUMENT, meter)

    assert chosen.label in {Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT}
    assert chosen.score is not None
    assert 1 / 3 <= chosen.score < 1
    assert written.label in {Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT}
    assert written.snippet is None or written.snippet_found is not None
    assert meter.usage.calls == 2
    assert meter.usage.output_tokens > 10
