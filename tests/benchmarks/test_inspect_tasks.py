"""The loop in Inspect: real evaluations, whose logs have both answers and the scores."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply
from tests.talking import Shelf
from tests.world import PAPER, World, scripted_model

pytestmark = pytest.mark.skipif(not find_spec("inspect_ai"), reason="needs inspect-ai")


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep Inspect's settings, and the files it writes, apart."""
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    for name in [name for name in os.environ if name.startswith("INSPECT_")]:
        monkeypatch.delenv(name)


def test_the_log_has_both_answers_and_the_scores_of_the_first(tmp_path: Path) -> None:
    import inspect_ai
    from inspect_ai.dataset import Sample

    from conflictscore.benchmarks.inspect_tasks import scores, self_correcting_rag

    asked = [Sample(input="When was the lamp lit?")]
    with OpenAIServer(World()) as server:
        solver = self_correcting_rag(Shelf(), scripted_model(server), cache=False, **PAPER)
        task = inspect_ai.Task(asked, solver=solver, scorer=scores())
        [log] = inspect_ai.eval(task, model="mockllm/any", log_dir=str(tmp_path), display="none")
    [sample] = log.samples or []
    run, [score] = sample.store["conflictscore"], (sample.scores or {}).values()
    assert (run["first_answer"], run["answer"]) == ("It was lit in 1871.", "It was lit in 1874.")
    assert sample.output.completion == run["answer"]
    assert score.value == {"cs_c": 1.0, "cs_r": 0.5, "flipped": 1.0}
    assert log.results is not None
    assert {one.name: one.metrics["mean"].value for one in log.results.scores} == score.value


def test_a_run_without_a_score_is_unscored_and_says_why(tmp_path: Path) -> None:
    import inspect_ai
    from inspect_ai.dataset import Sample

    from conflictscore.benchmarks.inspect_tasks import scores, self_correcting_rag

    class Silent(World):
        def __call__(self, request: ChatRequest) -> Reply | str | Fault:
            judging = '"document_snippet"' in request.prompt
            return Fault(402, message="no credit left") if judging else super().__call__(request)

    with OpenAIServer(Silent()) as server:
        solver = self_correcting_rag(Shelf(), scripted_model(server), cache=False, **PAPER)
        task = inspect_ai.Task([Sample(input="When?")], solver=solver, scorer=scores())
        [log] = inspect_ai.eval(task, model="mockllm/any", log_dir=str(tmp_path), display="none")
    [sample] = log.samples or []
    [score] = (sample.scores or {}).values()
    assert "no credit left" in str(score.explanation)
    assert score.reason == "scoring_failed"
    assert sample.output.completion == "It was lit in 1871."
