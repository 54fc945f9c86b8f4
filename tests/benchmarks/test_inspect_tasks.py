"""The loop in Inspect: real evaluations by Inspect, with its own scripted model."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample
    from inspect_ai.model import ChatMessage, GenerateConfig, Model, ModelOutput

from conflictscore.errors import InputError
from tests.benchmarks.harness.quiz import RIGHT, WRONG, Quiz, told
from tests.benchmarks.natconfqa import test_benchmark as natconf
from tests.benchmarks.natconfqa.lamps import row
from tests.benchmarks.test_ramdocs import LINE
from tests.benchmarks.truthfulqa.files import keepers, lamps_csv, write_jsonl
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply

pytestmark = pytest.mark.skipif(not find_spec("inspect_ai"), reason="needs inspect-ai")

FIRST, SECOND = "rag accuracy", "regenerated-rag accuracy"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home and a working directory of its own, where nothing is to appear."""
    folder = tmp_path / "home"
    (folder / "work").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.chdir(folder / "work")
    for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "xdg"))
    for name in [name for name in os.environ if name.startswith("INSPECT_")]:
        monkeypatch.delenv(name)
    return folder


@dataclass
class Lamps:
    """A quiz, or another world, behind Inspect's scripted model."""

    quiz: Any
    configs: list[GenerateConfig] = field(default_factory=list)

    def model(self, name: str = "lamps") -> Model:
        from inspect_ai.model import get_model

        return get_model(f"mockllm/{name}", custom_outputs=self.say)

    def say(
        self, messages: list[ChatMessage], tools: Any, choice: Any, config: GenerateConfig
    ) -> ModelOutput:
        from inspect_ai.model import ModelOutput, ModelUsage

        self.configs.append(config)
        body = {"messages": [{"role": m.role, "content": m.text} for m in messages]}
        said = self.quiz(ChatRequest(body=body, headers={}))
        if isinstance(said, Fault):
            raise ConnectionError(f"HTTP {said.status}: {said.message}")
        reply = said if isinstance(said, Reply) else Reply(said)
        output = ModelOutput.from_content("lamps", reply.text)
        output.usage = ModelUsage(
            input_tokens=4, input_tokens_cache_read=3, output_tokens=2, total_tokens=9
        )
        return output


def over_the_wire(server: OpenAIServer) -> Model:
    """A real provider of Inspect, for what a server scripts."""
    from inspect_ai.model import get_model

    return get_model(
        "openai-api/lamps/scripted", base_url=server.base_url, api_key="key", memoize=False
    )


Evaluate = Callable[..., "EvalLog"]


def evaluated(task: Any, model: Model, folder: Path, **more: Any) -> EvalLog:
    """Evaluate a task, and read the log as anyone would."""
    import inspect_ai
    from inspect_ai.log import read_eval_log

    logs = str(folder / "logs")
    [log] = inspect_ai.eval(task, model=model, log_dir=logs, display="none", **more)
    return read_eval_log(log.location)


@pytest.fixture
def evaluate(tmp_path: Path) -> Evaluate:
    """Evaluates so many questions about lamps."""
    from conflictscore.benchmarks.inspect_tasks import truthfulqa

    def run(
        lamps: Lamps | Model, count: int, *, settings: dict[str, Any] | None = None, **more: Any
    ) -> EvalLog:
        data, docs = lamps_csv(tmp_path / "TruthfulQA.csv", count), tmp_path / "docs"
        docs.mkdir()
        for place, text in enumerate(keepers(count)):
            (docs / f"{place}.txt").write_text(text)
        task = truthfulqa(str(data), docs=str(docs), top_k=3, **(settings or {}))
        model = lamps.model() if isinstance(lamps, Lamps) else lamps
        return evaluated(task, model, tmp_path, **more)

    return run


def of_lamp(log: EvalLog, lamp: int) -> EvalSample:
    assert log.samples
    return next(s for s in log.samples if s.input == f"When was lamp {lamp} lit?")


def values(sample: EvalSample) -> dict[str, Any]:
    assert sample.scores
    return sample.scores["verdicts"].as_dict()


def test_both_answers_are_scored_and_a_flip_can_be_read_in_the_log(
    evaluate: Evaluate, home: Path
) -> None:
    from conflictscore.benchmarks.inspect_tasks import RUN

    lamps = Lamps(Quiz(first={1: RIGHT}, second={1: WRONG, 2: WRONG}))
    log = evaluate(lamps, 3)
    assert log.status == "success"
    assert [path for path in home.rglob("*") if path.is_file()] == []  # nothing but the logs
    assert log.results
    means = {score.name: score.metrics["mean"].value for score in log.results.scores}
    assert means == {FIRST: pytest.approx(1 / 3), SECOND: pytest.approx(1 / 3)}
    assert [values(of_lamp(log, n))[SECOND] for n in range(3)] == [1.0, 0.0, 0.0]
    sample = of_lamp(log, 0)
    run = sample.store[RUN]
    assert (run["first_answer"], run["answer"]) == (told(0, WRONG), told(0, RIGHT))
    assert run["report"]["cs_c"] == 1.0
    assert sample.target == "B" if sample.choices == [told(0, WRONG), told(0, RIGHT)] else "A"
    assert sample.output.completion == told(0, RIGHT)
    assert sample.scores
    assert "**Justification**: Most say so" in (sample.scores["verdicts"].explanation or "")


def test_roles_judge_and_an_unreadable_verdict_is_in_no_mean(evaluate: Evaluate) -> None:
    lamps, judge = Lamps(Quiz()), Lamps(Quiz())
    grader = Lamps(Quiz(failing={("truthful", 0): "I would rather not say."}))
    roles = {"judge": judge.model("judge"), "answer_judge": grader.model("grader")}
    log = evaluate(lamps, 2, settings={"form": "free-form"}, model_roles=roles)
    assert lamps.quiz.asked.keys() == {"generate", "regenerate", "justify"}
    assert judge.quiz.asked.keys() == {"decompose", "label"}
    form = next(c.response_schema for c in judge.configs if c.response_schema)
    assert form.strict
    unjudged, judged = values(of_lamp(log, 0)), values(of_lamp(log, 1))
    assert math.isnan(unjudged["rag truthful"])
    assert unjudged["rag informative"] == 1.0
    assert (judged["rag truthful"], judged["regenerated-rag truthful"]) == (0.0, 1.0)
    assert log.stats.role_usage["judge"].input_tokens == 4 * judge.quiz.asked.total()


def test_a_failing_model_is_an_error_of_its_sample_for_inspect_to_deal_with(
    evaluate: Evaluate,
) -> None:
    broken = Lamps(Quiz(failing={("generate", 1): Fault(status=500, message="out of order")}))
    log = evaluate(broken, 3, fail_on_error=False)
    assert log.status == "success"
    failed = of_lamp(log, 1)
    assert failed.error is not None
    assert "out of order" in failed.error.message
    assert values(of_lamp(log, 0))[SECOND] == 1.0


def test_a_token_limit_of_inspect_ends_the_sample(evaluate: Evaluate) -> None:
    log = evaluate(Lamps(Quiz()), 1, token_limit=12)
    [sample] = log.samples or []
    assert sample.limit is not None
    assert sample.limit.type == "token"
    assert sample.error is None


@pytest.mark.parametrize("labeler", ["json", "choice"])
def test_a_provider_of_inspect_gets_schema_and_log_probabilities_over_the_wire(
    evaluate: Evaluate, labeler: str
) -> None:
    with OpenAIServer(Quiz()) as server:
        log = evaluate(over_the_wire(server), 1, settings={"labeler": labeler})
        bodies = [request.body for request in server.requests]
    assert values(of_lamp(log, 0)) == {FIRST: 0.0, SECOND: 1.0}
    forms = [body["response_format"] for body in bodies if "response_format" in body]
    letters = [body["max_tokens"] for body in bodies if body.get("top_logprobs") == 20]
    if labeler == "json":
        assert len(forms) == 6
        assert forms[0]["json_schema"]["strict"]
        assert not letters
    else:
        assert letters == [1] * 6
        assert not forms


def test_a_wrong_key_ends_the_evaluation(evaluate: Evaluate) -> None:
    with OpenAIServer(Quiz(), api_key="another") as server:
        log = evaluate(over_the_wire(server), 2)
    assert log.status == "error"


def test_a_task_is_found_by_its_name_and_answers_from_the_questions_own_documents(
    tmp_path: Path,
) -> None:
    documents = [{"text": told(0, RIGHT), "type": "correct"}]
    asked = LINE | {"question": "When was lamp 0 lit?", "documents": documents}
    data = write_jsonl(tmp_path / "r.jsonl", [asked])
    task_args = {"data": str(data)}
    log = evaluated("conflictscore/ramdocs", Lamps(Quiz()).model(), tmp_path, task_args=task_args)
    assert log.status == "success"
    [sample] = log.samples or []
    assert {"rag exact match", "regenerated-rag exact match"} < values(sample).keys()


def test_graded_measures_are_numbers_in_the_words_of_the_benchmark(tmp_path: Path) -> None:
    from conflictscore.benchmarks.inspect_tasks import natconfqa

    data = write_jsonl(tmp_path / "q.jsonl", [row()])
    log = evaluated(natconfqa(str(data)), Lamps(natconf.Lamp()).model(), tmp_path)
    assert log.status == "success"
    [sample] = log.samples or []
    found = values(sample)
    assert found["rag conflicts recall"] == 0.0
    assert math.isnan(found["rag conflicts precision"]), "it names no two answers at odds"
    assert found["rag answers f1"] > 0


def test_a_form_that_a_benchmark_does_not_offer_is_refused(tmp_path: Path) -> None:
    from conflictscore.benchmarks.inspect_tasks import natconfqa

    with pytest.raises(InputError, match="natconfqa has no multiple-choice form"):
        natconfqa(str(write_jsonl(tmp_path / "q.jsonl", [row()])), form="multiple-choice")
