"""The key of stored verdicts: if any name in it changes, all that was paid for is lost."""

from dataclasses import replace
from typing import Any

import pytest

from conflictscore.labelers.batch_judge import BatchJudge
from conflictscore.labelers.calibration import UNCALIBRATED
from conflictscore.labelers.cascade import Cascade, Thresholds
from conflictscore.labelers.choice_judge import ChoiceJudge
from conflictscore.labelers.json_judge import JsonJudge
from conflictscore.labelers.nli.labeler import NliLabeler
from conflictscore.labelers.nli.model import NliModel
from conflictscore.models import LOCAL_ENDPOINT
from conflictscore.models.language_model import LanguageModel
from conflictscore.prompts import PromptSet
from tests.fakes.openai_server import OpenAIServer, script
from tests.labelers.judging import PROMPTS
from tests.models.calling import calling
from tests.nli_model import make_nli_model


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    with OpenAIServer(script()) as server:
        return calling(server)


@pytest.mark.parametrize(
    ("judge", "labeler", "templates", "more"),
    [
        (JsonJudge, "json", ("label_rules_brief", "label_json"), {}),
        (
            ChoiceJudge,
            "choice",
            ("label_rules", "label_choice"),
            {"calibration": {"temperature": 1.0, "fitted_on": "nothing"}},
        ),
        (BatchJudge, "per-document", ("label_per_document_brief",), {"at_once": 25}),
    ],
)
def test_verdicts_of_a_judge_depend_on_its_model_its_prompt_and_how_it_asks(
    judge: Any, labeler: str, templates: tuple[str, ...], more: Any, model: LanguageModel
) -> None:
    judging = judge(model, PROMPTS)

    assert judging.name == f"{labeler}(test-model)"
    assert judging.identity == {
        "labeler": labeler,
        "prompt": PROMPTS.sha256_of(*templates, "cut", "retry"),
        "context_window": 8192,
        "model": "test-model",
        "endpoint": model.endpoint,
        "parameters": {"temperature": 0},
        **more,
    }


@pytest.mark.parametrize(
    "kept",
    ["embedded", "paper", "label_per_document", "label_rules_brief", "label_one_claim"],
)
def test_the_form_with_a_verdict_on_each_claim_is_kept_where_it_was_measured(
    kept: str, model: LanguageModel, tmp_path: Any
) -> None:
    prompts = PromptSet.load("paper") if kept == "paper" else PROMPTS
    if kept.startswith("label"):
        (tmp_path / f"{kept}.txt").write_text(f"{PROMPTS.texts[kept]}\nBe brief.", "utf-8")
        prompts = PromptSet.load(folder=tmp_path)
    judge = replace(model, endpoint=LOCAL_ENDPOINT) if kept == "embedded" else model
    identity = BatchJudge(judge, prompts).identity or {}
    templates = ("label_rules_brief", "label_one_claim", "label_per_document", "cut", "retry")
    assert identity["prompt"] == prompts.sha256_of(*templates)


def test_verdicts_of_two_stages_depend_on_both_and_on_what_divides_them(
    model: LanguageModel,
) -> None:
    first, second = ChoiceJudge(model, PROMPTS), JsonJudge(model, PROMPTS)
    both = {"cheap": first.identity, "judge": second.identity}

    cascade = Cascade(first, second, Thresholds(0.8, 0.7, 0.6))

    assert cascade.identity == {
        "labeler": "cascade",
        **both,
        "certain": {"supports": 0.8, "contradicts": 0.7, "irrelevant": 0.6},
    }
    assert cascade.name == "cascade(choice(test-model), json(test-model))"
    assert Cascade(first).name == "cascade(choice(test-model), the judge of the run)"


def test_verdicts_of_an_nli_model_depend_on_its_files(tmp_path: Any) -> None:
    model = NliModel(make_nli_model(tmp_path / "small-nli"))
    labeler = NliLabeler(model)

    assert labeler.identity == {
        "labeler": "nli",
        "model": model.sha256,
        "pair_tokens": 128,
        "calibration": UNCALIBRATED.model_dump(mode="json"),
        "reading": 11,
    }
    assert (labeler.name, labeler.scripts) == ("nli(small-nli)", None)
