"""The whole loop on a real local model. SmolLM2 judges at chance: this is about the plumbing."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from conflictscore.cli import main
from conflictscore.labelers.choice_judge import ChoiceJudge
from conflictscore.labelers.json_judge import JsonJudge
from conflictscore.models.spec import open_model
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import Claim, Document, Label
from conflictscore.storage.cache import ContentCache

DOCS = Path(__file__).parents[2] / "examples" / "lighthouse"
QUESTION = "In which year did the Vennick Point lighthouse first light its lamp?"
CLAIM = Claim(number=1, text="The lamp was first lit in 1871.")
DOCUMENT = Document(number=1, text="The log book says that the lamp was first lit in 1874.")


def _ask(model: Path, *more: str) -> Result:
    arguments = ["ask", QUESTION, "--docs", str(DOCS), "--top-k", "3", *more]
    return CliRunner().invoke(main, [*arguments, "--model", f"local:{model}", "--json"])


@pytest.mark.timeout(400)
def test_ask_runs_on_a_model_file_without_any_key_and_a_second_time_for_nothing(
    smollm2_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path))

    first = json.loads(_ask(smollm2_path).stdout)
    again = json.loads(_ask(smollm2_path).stdout)

    assert first["answer"]
    assert first["usage"]["input_tokens"] > 500
    assert len(first["documents"]) == 3
    scored = first["report"]["cs_c"] is not None
    assert scored or "claims" in first["report"]["error"] or not first["report"]["claims"]
    pairs = [label for claim in first["report"]["claims"] for label in claim["labels"]]
    assert all(label["label"] != "UNLABELLED" and 0 < label["score"] < 1 for label in pairs)
    if scored:
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
