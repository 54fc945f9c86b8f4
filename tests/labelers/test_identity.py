"""What a kept verdict depends on: another name for any of it, and all that was paid for is lost."""

from typing import Any

import pytest

from conflictscore.labelers.batch_judge import BatchJudge
from conflictscore.labelers.calibration import UNCALIBRATED
from conflictscore.labelers.cascade import Cascade, Thresholds
from conflictscore.labelers.choice_judge import ChoiceJudge
from conflictscore.labelers.json_judge import JsonJudge
from conflictscore.labelers.nli.labeler import NliLabeler
from conflictscore.labelers.nli.model import NliModel
from conflictscore.models.language_model import LanguageModel
from tests.fakes.openai_server import OpenAIServer, script
from tests.labelers.judging import PROMPTS
from tests.models.calling import calling
from tests.nli_model import make_nli_model


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    with OpenAIServer(script()) as server:
        return calling(server)


def its(model: LanguageModel, labeler: str, *templates: str, **more: Any) -> dict[str, Any]:
    """What the verdicts of a judge on this model depend on."""
    return {
        "labeler": labeler,
        "prompt": PROMPTS.sha256_of(*templates, "cut", "retry"),
        "context_window": 8192,
        "model": "test-model",
        "endpoint": model.endpoint,
        "parameters": {"temperature": 0},
        **more,
    }


def test_verdicts_of_the_papers_judge_depend_on_its_rules(model: LanguageModel) -> None:
    known = its(model, "json", "label_rules_brief", "label_json")
    assert JsonJudge(model, PROMPTS).identity == known


def test_verdicts_of_one_letter_depend_on_the_calibration(model: LanguageModel) -> None:
    calibration = {"temperature": 1.0, "fitted_on": "nothing"}

    assert ChoiceJudge(model, PROMPTS).identity == its(
        model, "choice", "label_rules", "label_choice", calibration=calibration
    )


def test_verdicts_of_many_pairs_depend_on_how_many_are_asked_at_once(model: LanguageModel) -> None:
    templates = ("label_rules_brief", "label_one_claim", "label_per_document")
    judge = BatchJudge(model, PROMPTS)

    assert judge.identity == its(model, "per-document", *templates, at_once=8)
    assert judge.name == "per-document(test-model)"


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
        "reading": 5,
    }
    assert (labeler.name, labeler.scripts) == ("nli(small-nli)", None)
