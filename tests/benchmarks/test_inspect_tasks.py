"""The benchmarks as Inspect tasks: real evaluations by Inspect, with its own scripted model."""

import asyncio
import csv
import json
import math
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai")

import inspect_ai
from inspect_ai.log import EvalLog, EvalSample, EvalScore, read_eval_log
from inspect_ai.model import (
    ChatMessage,
    GenerateConfig,
    Model,
    ModelOutput,
    ModelUsage,
    get_model,
)

from conflictscore.benchmarks.harness.manifest import sha256_of_file
from conflictscore.benchmarks.harness.methods.registry import COMMON_METHODS, LOOP
from conflictscore.benchmarks.harness.records import QuestionResult
from conflictscore.benchmarks.inspect_scores import RESULT
from conflictscore.benchmarks.inspect_tasks import conflicts, natconfqa, ramdocs, truthfulqa
from conflictscore.errors import InputError
from conflictscore.retrieval.recording.file import adopt_recording
from conflictscore.retrieval.recording.recorder import record_questions
from tests.benchmarks.conflicts.test_run import NEW, OLD, Reader, opened
from tests.benchmarks.harness.quiz import RIGHT, WRONG, Quiz, told
from tests.benchmarks.natconfqa import test_benchmark as natconf
from tests.benchmarks.natconfqa.lamps import row
from tests.benchmarks.test_ramdocs import line
from tests.benchmarks.test_ramdocs_exact import LINE
from tests.benchmarks.truthfulqa.files import write_jsonl
from tests.benchmarks.wikicontradict import test_benchmark as wiki
from tests.benchmarks.wikicontradict.records import FLAT
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply
from tests.fakes.search_server import Received, SearchServer, html_reply, searxng
from tests.fakes.search_server import Reply as Found
from tests.talking import Shelf
from tests.world import World

EVERY = list(COMMON_METHODS)
AGAIN = "regenerated-rag"
COLUMNS = (
    "Type",
    "Category",
    "Question",
    "Best Answer",
    "Best Incorrect Answer",
    "Correct Answers",
    "Incorrect Answers",
    "Source",
)


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
        return get_model(f"mockllm/{name}", custom_outputs=self.say)

    def say(
        self, messages: list[ChatMessage], tools: Any, choice: Any, config: GenerateConfig
    ) -> ModelOutput:
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
    return get_model(
        "openai-api/lamps/scripted", base_url=server.base_url, api_key="key", memoize=False
    )


def questions_about_lamps(folder: Path, count: int) -> str:
    path = folder / "TruthfulQA.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(COLUMNS)
        for n in range(count):
            right, wrong = told(n, RIGHT), told(n, WRONG)
            asked = f"When was lamp {n} lit?"
            rows.writerow(["Adversarial", "Lamps", asked, right, wrong, right, wrong, ""])
    return str(path)


def keepers(folder: Path, count: int) -> str:
    """Three documents for each lamp, of which the first is wrong."""
    docs = folder / "docs"
    docs.mkdir()
    for n in range(count):
        for keeper, year in enumerate((WRONG, RIGHT, RIGHT)):
            text = f"Keeper {keeper} of lamp {n} says: {told(n, year)}"
            (docs / f"lamp-{n}-{keeper}.txt").write_text(text)
    return str(docs)


Evaluate = Callable[..., EvalLog]


@pytest.fixture
def evaluate(tmp_path: Path) -> Evaluate:
    """Evaluates so many questions about lamps, and reads the log as anyone would."""

    def run(
        lamps: Lamps | Model, count: int, *, settings: dict[str, Any] | None = None, **more: Any
    ) -> EvalLog:
        given = {"methods": "regenerated-rag", **(settings or {})}
        if not {"search", "docs"} & given.keys():
            given["docs"] = keepers(tmp_path, count)
        task = truthfulqa(questions_about_lamps(tmp_path, count), top_k=3, **given)
        model = lamps.model() if isinstance(lamps, Lamps) else lamps
        [log] = inspect_ai.eval(
            task, model=model, log_dir=str(tmp_path / "logs"), display="none", **more
        )
        return read_eval_log(log.location)

    return run


@pytest.fixture
def evaluate_task(tmp_path: Path) -> Callable[..., EvalLog]:
    """Evaluates any task over a world."""

    def run(task: Any, world: World, **more: Any) -> EvalLog:
        logs = str(tmp_path / "logs")
        [log] = inspect_ai.eval(
            task, model=Lamps(world).model(), log_dir=logs, display="none", **more
        )
        assert log.status == "success"
        return read_eval_log(log.location)

    return run


def scored(log: EvalLog, name: str) -> EvalScore:
    assert log.results
    [score] = [score for score in log.results.scores if score.name == name]
    return score


def metrics(log: EvalLog) -> dict[str, float]:
    return {name: metric.value for name, metric in scored(log, "conflictscore").metrics.items()}


def of_lamp(log: EvalLog, lamp: int) -> EvalSample:
    assert log.samples
    return next(s for s in log.samples if s.input == f"When was lamp {lamp} lit?")


def values(sample: EvalSample) -> dict[str, Any]:
    assert sample.scores
    return sample.scores["conflictscore"].as_dict()


def kept(sample: EvalSample) -> QuestionResult:
    return QuestionResult.model_validate(sample.store[RESULT]["result"])


def test_methods_are_scored_and_counted_against_rag_as_the_harness_does(evaluate: Evaluate) -> None:
    lamps = Lamps(Quiz(first={1: RIGHT}, second={1: WRONG, 2: WRONG}))
    log = evaluate(lamps, 3, settings={"methods": EVERY})
    assert log.status == "success"
    rag = scored(log, "rag")
    assert rag.metrics["accuracy"].value == pytest.approx(1 / 3)
    assert rag.metrics["stderr"].value == pytest.approx(1 / 3)
    found = metrics(log)
    assert found["regenerated-rag pairs"] == 3
    assert (found["regenerated-rag corrected"], found["regenerated-rag harmed"]) == (1, 1)
    assert found["regenerated-rag mcnemar_p"] == 1.0
    assert (found["regenerated-rag conflicts"], found["regenerated-rag revised"]) == (3, 2)
    assert (found["regenerated-rag corrections"], found["regenerated-rag harms"]) == (1, 1)
    # the guard refuses the flip to the side with less support
    assert (found["guarded-rag corrected"], found["guarded-rag harmed"]) == (1, 0)
    assert scored(log, "guarded-rag").metrics["accuracy"].value == pytest.approx(2 / 3)
    assert [values(of_lamp(log, n))["regenerated-rag"] for n in range(3)] == [1.0, 0.0, 0.0]
    assert found["rag failed"] == found["rag unjudged"] == 0


def test_a_flip_can_be_read_in_the_log(evaluate: Evaluate) -> None:
    log = evaluate(Lamps(Quiz()), 2, settings={"methods": EVERY})
    sample = of_lamp(log, 0)
    result = kept(sample)
    assert result.flipped(AGAIN)
    assert result.reconsidered is not None
    assert len(result.documents) == 3
    assert sample.choices == list(result.question.options)
    assert sample.target == "AB"[result.question.gold or 0]
    assert sample.metadata["category"] == "Lamps"
    assert sample.output.completion == told(0, RIGHT)
    assert sample.scores
    read = sample.scores["conflictscore"].explanation
    assert read is not None
    assert f"- **rag**: {told(0, WRONG)} (accuracy: no)" in read
    assert f"- **regenerated-rag**: {told(0, RIGHT)} (accuracy: yes)" in read
    assert read.count("supports it: ") == 1
    assert read.count("contradicts it: ") == 2
    assert "**Justification**: Most say so" in read


def test_what_documents_say_is_no_markup_in_the_log(evaluate: Evaluate, tmp_path: Path) -> None:
    docs = tmp_path / "pages"
    docs.mkdir()
    (docs / "a.txt").write_text(told(0, WRONG))
    (docs / "b.txt").write_text(f"{told(0, RIGHT)} ![x](https://a.test/p) <img src=x>")
    log = evaluate(Lamps(Quiz()), 1, settings={"docs": str(docs)})
    [sample] = log.samples or []
    assert sample.scores
    read = sample.scores["conflictscore"].explanation or ""
    assert r"\!\[x\](https://a.test/p) \<img src=x\>" in read


def test_documents_are_found_once_for_all_epochs_and_placebos(evaluate: Evaluate) -> None:
    def find(request: Received) -> Found:
        lamp = int(request.parameters["q"].split()[3])
        entries = [
            {"url": f"https://{n}.test/{lamp}", "title": "Keeper", "content": told(lamp, year)}
            for n, year in enumerate((WRONG, RIGHT, RIGHT))
        ]
        return searxng(entries)(request)

    lamps = Lamps(Quiz())
    with SearchServer(find) as server:
        settings = {"search": f"searxng:{server.endpoint}", "methods": "placebo"}
        log = evaluate(lamps, 3, settings=settings, epochs=2)
        asked = Counter(request.parameters["q"] for request in server.requests)
    assert len(log.samples or []) == 6
    assert set(asked.values()) == {1}
    assert len(asked) == 3
    donors = {kept(sample).donor for sample in log.samples or []}
    assert donors == {sample.id for sample in log.samples or []}
    # every epoch asks anew, and a question is one pair all the same
    assert lamps.quiz.asked["generate"] == 6
    assert metrics(log)["placebo pairs"] == 3


def test_an_unreadable_verdict_is_unscored_and_in_no_mean(evaluate: Evaluate) -> None:
    judge = Lamps(Quiz(failing={("truthful", 0): "I would rather not say."}))
    log = evaluate(
        Lamps(Quiz()),
        2,
        settings={"form": "free-form"},
        model_roles={"answer_judge": judge.model()},
    )
    unjudged, judged = values(of_lamp(log, 0)), values(of_lamp(log, 1))
    assert all(math.isnan(unjudged[f"{method} truthful"]) for method in ("rag", AGAIN))
    assert unjudged["rag informative"] == 1.0
    assert (judged["rag truthful"], judged["regenerated-rag truthful"]) == (0.0, 1.0)
    truthful = scored(log, "regenerated-rag truthful")
    assert (truthful.scored_samples, truthful.unscored_samples) == (1, 1)
    assert truthful.metrics["accuracy"].value == 1.0
    assert metrics(log)["regenerated-rag truthful unjudged"] == 1
    assert metrics(log)["regenerated-rag truthful corrected"] == 1
    assert of_lamp(log, 0).scores["conflictscore"].reason == "grader_failed"  # type: ignore[index]


def test_an_answer_that_cannot_be_read_fails_its_method_and_is_never_zero(
    evaluate: Evaluate,
) -> None:
    log = evaluate(Lamps(Quiz(failing={("regenerate", 0): "Both, perhaps."})), 2)
    sample = of_lamp(log, 0)
    assert sample.error is None
    assert values(sample)["rag"] == 0.0
    assert math.isnan(values(sample)["regenerated-rag"])
    assert sample.scores
    assert sample.scores["conflictscore"].reason == "no_response"
    assert scored(log, "regenerated-rag").metrics["accuracy"].value == 1.0
    found = metrics(log)
    assert (found["regenerated-rag failed"], found["regenerated-rag pairs"]) == (1, 1)


def test_a_failing_model_is_an_error_of_its_sample_for_inspect_to_deal_with(
    evaluate: Evaluate,
) -> None:
    broken = Lamps(Quiz(failing={("generate", 1): Fault(status=500, message="out of order")}))
    log = evaluate(broken, 3, fail_on_error=False)
    assert log.status == "success"
    failed = of_lamp(log, 1)
    assert failed.error is not None
    assert "out of order" in failed.error.message
    assert scored(log, "rag").scored_samples == 2
    stopped = evaluate_again(broken, log)
    assert stopped.status == "error"


def evaluate_again(lamps: Lamps, log: EvalLog) -> EvalLog:
    """The same with Inspect's own default, by which an error ends the evaluation."""
    task = truthfulqa(**log.eval.task_args)
    [again] = inspect_ai.eval(
        task, model=lamps.model(), log_dir=str(Path(log.location).parent), display="none"
    )
    return again


def test_a_search_that_fails_is_an_error_of_its_sample(evaluate: Evaluate) -> None:
    with SearchServer(lambda request: html_reply("<h1>Teapot</h1>", 418)) as server:
        settings = {"search": f"searxng:{server.endpoint}"}
        log = evaluate(Lamps(Quiz()), 1, settings=settings, fail_on_error=False)
    [sample] = log.samples or []
    assert sample.error is not None
    assert "418" in sample.error.message


@pytest.mark.parametrize("calls", [1, 2])
def test_a_token_limit_of_inspect_ends_the_sample_and_what_was_done_is_scored(
    evaluate: Evaluate, calls: int
) -> None:
    # a call has 9 tokens: the first answer is one too many, or all three labels at once
    methods = ["resample", "regenerated-rag"]
    log = evaluate(Lamps(Quiz()), 1, settings={"methods": methods}, token_limit=9 * calls + 3)
    [sample] = log.samples or []
    assert sample.limit is not None
    assert sample.limit.type == "token"
    assert sample.error is None
    assert values(sample)["resample"] == 0.0
    assert math.isnan(values(sample)["rag"])


def test_inspect_counts_every_call_by_role(evaluate: Evaluate) -> None:
    lamps, judge = Lamps(Quiz(second={1: WRONG})), Lamps(Quiz())
    log = evaluate(lamps, 2, model_roles={"judge": judge.model("judge")})
    assert lamps.quiz.asked.keys() == {"generate", "regenerate"}
    assert judge.quiz.asked.keys() == {"label"}
    # an answer that stays is not judged again
    assert judge.quiz.asked["label"] == 6 + 3
    usage = log.stats.role_usage
    assert usage["judge"].input_tokens == 4 * judge.quiz.asked["label"]
    form = judge.configs[0].response_schema
    assert form is not None
    assert form.strict
    assert "answer" in (form.json_schema.required or [])
    counted = kept(of_lamp(log, 0)).usage[LOOP]
    assert counted["mockllm/lamps"].calls + counted["mockllm/judge"].calls == 2 + 6
    judged = counted["mockllm/judge"]
    assert (judged.input_tokens, judged.cache_read_tokens) == (7 * judged.calls, 3 * judged.calls)


@pytest.mark.parametrize("labeler", ["json", "choice"])
def test_a_provider_of_inspect_gets_schema_and_log_probabilities_over_the_wire(
    evaluate: Evaluate, labeler: str
) -> None:
    with OpenAIServer(Quiz()) as server:
        log = evaluate(over_the_wire(server), 1, settings={"labeler": labeler})
        bodies = [request.body for request in server.requests]
    assert values(of_lamp(log, 0)) == {"rag": 0.0, "regenerated-rag": 1.0}
    forms = [body["response_format"] for body in bodies if "response_format" in body]
    letters = [body["max_tokens"] for body in bodies if body.get("top_logprobs") == 20]
    if labeler == "json":
        assert len(forms) == 6
        assert forms[0]["json_schema"]["strict"]
        assert forms[0]["json_schema"]["schema"]["additionalProperties"] is False
        assert not letters
    else:
        assert letters == [1] * 6
        assert not forms
    usage = log.stats.model_usage["openai-api/lamps/scripted"]
    counted = kept(of_lamp(log, 0)).usage[LOOP]["openai-api/lamps/scripted"]
    assert (usage.input_tokens, usage.output_tokens) == (
        counted.input_tokens,
        counted.output_tokens,
    )


def test_a_wrong_key_ends_the_evaluation(evaluate: Evaluate) -> None:
    with OpenAIServer(Quiz(), api_key="another") as server:
        log = evaluate(over_the_wire(server), 2)
    assert log.status == "error"
    assert log.error is not None
    assert "refused the key" in log.error.message


def test_sampling_is_inspects_and_only_the_second_sample_has_its_own(evaluate: Evaluate) -> None:
    lamps = Lamps(Quiz())
    evaluate(lamps, 1, settings={"methods": "resample"}, temperature=0.2)
    assert Counter((c.temperature, c.seed) for c in lamps.configs) == {(0.2, None): 4, (0.7, 1): 1}


def test_inspects_cache_answers_but_not_for_the_second_sample(evaluate: Evaluate) -> None:
    lamps = Lamps(Quiz())
    log = evaluate(lamps, 1, settings={"methods": "resample"}, cache=True)
    assert lamps.quiz.asked["generate"] == 2
    evaluate_cached = truthfulqa(**log.eval.task_args)
    before = lamps.quiz.asked.total()
    [again] = inspect_ai.eval(
        evaluate_cached,
        model=lamps.model(),
        log_dir=str(Path(log.location).parent),
        display="none",
        cache=True,
    )
    assert again.status == "success"
    assert lamps.quiz.asked.total() == before


def test_questions_that_a_recording_lacks_are_named_or_left_out(tmp_path: Path) -> None:
    recording = tmp_path / "recorded.jsonl"
    shelf = record_questions(
        ["When was lamp 0 lit?"], Shelf(), recording, search="shelf", parameters={"top_k": 3}
    )
    asyncio.run(shelf)
    data = questions_about_lamps(tmp_path, 2)
    with pytest.raises(InputError, match=r"1 of 2 questions are not recorded \('When was lamp 1"):
        truthfulqa(data, search=f"recorded:{recording}")
    task = truthfulqa(data, search=f"recorded:{recording}", missing="skip")
    assert [sample.input for sample in task.dataset] == ["When was lamp 0 lit?"]
    assert (task.metadata or {})["configuration"]["left_out_without_recording"] == 1


def test_the_log_says_that_a_recording_was_changed_by_hand(tmp_path: Path) -> None:
    whole, cut, adopted = (tmp_path / f"{name}.jsonl" for name in ("whole", "cut", "adopted"))
    data = questions_about_lamps(tmp_path, 1)
    asked, parameters = ["When was lamp 0 lit?"], {"top_k": 3}
    asyncio.run(record_questions(asked, Shelf(), whole, search="shelf", parameters=parameters))
    found = json.loads(whole.read_text())
    cut.write_text(json.dumps(found | {"results": found["results"][:1]}))
    adopt_recording(cut, adopted)

    as_found, trimmed = (
        (truthfulqa(data, search=f"recorded:{path}").metadata or {}) for path in (whole, adopted)
    )

    assert trimmed["configuration"]["retrieval"] == {"adopted": "questions changed by hand: 1"}
    assert "retrieval" not in as_found["configuration"]
    assert trimmed["hashes"]["recording"] == sha256_of_file(adopted)
    assert as_found["hashes"]["recording"] == sha256_of_file(whole)


def test_ramdocs_is_asked_over_its_own_documents(tmp_path: Path) -> None:
    asked = "When was lamp 0 lit?"
    given = line("m:1871", "c:1874", gold=["1874"], wrong=["1871"], question=asked)
    data = write_jsonl(tmp_path / "r.jsonl", [given])
    [log] = inspect_ai.eval(
        ramdocs(str(data), methods="control-rag"),
        model=Lamps(Quiz()).model(),
        log_dir=str(tmp_path / "logs"),
        display="none",
    )
    assert log.status == "success"
    [sample] = log.samples or []
    assert values(sample) == {"rag": 0.0, "control-rag": 0.0}
    assert [document.text for document in kept(sample).documents] == [
        "Text 1: 1871",
        "Text 2: 1874",
    ]


def test_graded_measures_are_numbers_and_what_is_not_defined_is_told_apart_from_unjudged(
    evaluate_task: Evaluate, tmp_path: Path
) -> None:
    world = Reader(cited=OLD, regenerated=NEW)
    data = str(opened(tmp_path / "c.jsonl"))

    log = evaluate_task(conflicts(data, methods=["regenerated-rag", "oracle"]), world)

    recalled, opinions = log.samples or []
    assert values(recalled) == {
        "rag expected behaviour": 0.0,
        "rag answer recall": 0.0,
        "rag grounding": 0.5,
        **{
            f"{method} {measure}": 1.0
            for method in ("regenerated-rag", "oracle")
            for measure in ("expected behaviour", "answer recall", "grounding")
        },
    }
    assert math.isnan(values(opinions)["rag answer recall"])
    assert opinions.scores
    score = opinions.scores["conflictscore"]
    assert score.reason is None
    assert "expected behaviour: no; answer recall: not defined; grounding: 0.50" in str(
        score.explanation
    )
    assert scored(log, "rag grounding").metrics.keys() == {"mean", "stderr"}
    assert scored(log, "rag grounding").metrics["mean"].value == 0.5
    assert scored(log, "rag answer recall").metrics["accuracy"].value == 0.0
    assert scored(log, "rag answer recall").unscored_samples == 1
    found = metrics(log)
    assert (found["rag answer recall undefined"], found["rag answer recall unjudged"]) == (1, 0)
    assert "rag grounding undefined" not in found
    assert (found["oracle grounding higher"], found["oracle grounding lower"]) == (2, 0)
    assert (found["oracle grounding difference"], found["oracle grounding pairs"]) == (0.5, 2)
    assert found["oracle grounding wilcoxon_p"] == 0.5
    assert found["oracle expected behaviour corrected"] == 2


def test_answers_are_asked_for_in_the_words_of_the_benchmark(
    evaluate_task: Evaluate, tmp_path: Path
) -> None:
    world = Reader(cited=OLD, regenerated=NEW)

    evaluate_task(conflicts(str(opened(tmp_path / "c.jsonl"))), world)

    assert "generate" not in world.asked, "nothing is asked for in the plain wording"
    for step in ("cite", "regenerate"):
        assert all("such as [2] or [1][4]." in prompt for prompt in world.prompts[step])


def test_the_types_that_a_method_told_are_held_against_peoples(
    evaluate_task: Evaluate, tmp_path: Path
) -> None:
    world = Reader(cited=OLD, regenerated=NEW)

    log = evaluate_task(conflicts(str(opened(tmp_path / "c.jsonl")), methods="pipeline"), world)

    found = metrics(log)
    assert (found["pipeline types"], found["pipeline type_accuracy"]) == (2, 0.5)
    assert "rag types" not in found


def test_natconfqa_is_scored_by_recall_and_by_the_precision_of_what_is_named(
    evaluate_task: Evaluate, tmp_path: Path
) -> None:
    data = write_jsonl(tmp_path / "q.jsonl", [row()])

    log = evaluate_task(natconfqa(str(data), methods="control-rag"), natconf.Lamp())

    [sample] = log.samples or []
    found = values(sample)
    assert found["rag conflicts recall"] == 0.0
    assert math.isnan(found["rag conflicts precision"]), "it names no two answers at odds"
    assert metrics(log)["rag conflicts precision undefined"] == 1
    assert found["control-rag conflicts precision"] == 1.0
    assert found["control-rag conflicts recall"] == 0.5
    answer = kept(sample).methods["control-rag"].answer
    assert answer is not None
    assert answer.text == natconf.BOTH


def test_wikicontradict_is_found_by_its_name_with_the_methods_that_it_alone_offers(
    evaluate_task: Evaluate, tmp_path: Path
) -> None:
    data = write_jsonl(tmp_path / "w.jsonl", [FLAT])
    methods = list(wiki.TEMPLATES)

    log = evaluate_task(
        "conflictscore/wikicontradict",
        wiki.Lamp(broken={"judge": Fault(400, message="no")}),
        task_args={"data": str(data), "methods": methods},
    )

    [sample] = log.samples or []
    found = values(sample)
    assert (found["control-rag correct"], found["rag correct"]) == (1.0, 0.0)
    assert found["first-document at least partially correct"] == 1.0
    assert math.isnan(found["no-documents correct"])
    assert metrics(log)["no-documents correct unjudged"] == 1
    assert sample.scores
    assert sample.scores["conflictscore"].reason == "grader_failed"


def test_ramdocs_in_free_form_is_scored_by_exact_match_over_its_best_passages(
    evaluate_task: Evaluate, tmp_path: Path
) -> None:
    long = {"type": "noise", "answer": "unknown", "text": "Nothing of the sort stands here. " * 30}
    data = write_jsonl(tmp_path / "r.jsonl", [{**LINE, "documents": [*LINE["documents"], long]}])
    world = World(answer="Ada is a poet, and a town.")

    task = ramdocs(str(data), form="free-form", methods="rag", passage_tokens=32)
    [sample] = evaluate_task(task, world).samples or []

    assert values(sample) == {
        "rag exact match": 1.0,
        "rag all right answers": 1.0,
        "rag no wrong answer": 1.0,
    }
    texts = [document.text for document in kept(sample).documents]
    assert texts[0] == LINE["documents"][0]["text"]
    assert len(texts[-1]) < len(long["text"]) / 2


def test_all_is_every_method_that_a_benchmark_offers(tmp_path: Path) -> None:
    task = conflicts(str(opened(tmp_path / "c.jsonl")), methods="all")

    [each, _] = task.metrics or []
    assert isinstance(each, dict)
    run = {name.removesuffix(" grounding") for name in each if name.endswith(" grounding")}
    assert run == {*EVERY, "pipeline", "taxonomy-aware", "oracle"}


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"methods": "no-documents"}, "conflicts is not run with no-documents"),
        ({"form": "multiple-choice"}, "conflicts has no multiple-choice form"),
    ],
)
def test_what_a_benchmark_does_not_offer_is_refused(
    tmp_path: Path, settings: dict[str, str], complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        conflicts(str(opened(tmp_path / "c.jsonl")), **settings)


def test_nothing_is_written_but_the_logs(evaluate: Evaluate, home: Path, tmp_path: Path) -> None:
    log = evaluate(Lamps(Quiz()), 1)
    assert log.status == "success"
    assert [path for path in home.rglob("*") if path.is_file()] == []
    own = {"TruthfulQA.csv", "docs", "home", "logs", "xdg"}
    assert {path.name for path in tmp_path.iterdir()} == own
