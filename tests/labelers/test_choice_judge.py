from math import exp

import pytest

from conflictscore.errors import ConfigurationError
from conflictscore.labelers.choice_judge import ChoiceJudge
from conflictscore.labelers.table import label_table
from conflictscore.models.usage import UsageMeter
from conflictscore.records import EvidenceLabel, Label
from tests.fakes.openai_server import Fault, OpenAIServer, Reply, script, then
from tests.labelers.judging import PROMPTS, claim, document, letter
from tests.models.calling import calling


async def judged(reply: Reply) -> EvidenceLabel:
    with OpenAIServer(script(reply)) as server:
        judge = ChoiceJudge(calling(server), PROMPTS)
        return await judge.label(claim(number=3), document(number=7), UsageMeter())


@pytest.mark.parametrize(
    ("chosen", "label"), [("A", Label.SUPPORTS), ("B", Label.CONTRADICTS), ("C", Label.IRRELEVANT)]
)
async def test_each_letter_is_its_label_with_its_probability(chosen: str, label: Label) -> None:
    found = await judged(letter(chosen, logprob=-0.1, others=-3.0))
    assert (found.claim, found.document, found.label) == (3, 7, label)
    assert found.score == pytest.approx(exp(-0.1) / (exp(-0.1) + 2 * exp(-3.0)))
    assert (found.snippet, found.snippet_found, found.reasoning) == (None, None, None)


async def test_the_letters_mean_what_the_prompt_says() -> None:
    with OpenAIServer(script(letter())) as server:
        await ChoiceJudge(calling(server), PROMPTS).label(claim(), document(), UsageMeter())
    prompt = server.requests[0].prompt
    for chosen, label in (("A", "SUPPORTS"), ("B", "CONTRADICTS"), ("C", "IRRELEVANT")):
        assert f"\n{chosen}: {label}" in prompt


@pytest.mark.parametrize("status", [400, 403])
async def test_a_model_that_refuses_logprobs_is_for_the_user_to_change(status: int) -> None:
    refused = Fault(status, message="You are not allowed to request logprobs from this model")
    with (
        OpenAIServer(then(refused)) as server,
        pytest.raises(ConfigurationError, match=r"no log-probabilities.*labeler 'json'"),
    ):
        await ChoiceJudge(calling(server), PROMPTS).label(claim(), document(), UsageMeter())


@pytest.mark.parametrize(
    "logprobs",
    [
        '"x"',
        '{"content": "x"}',
        '{"content": {"a": 1}}',
        '{"content": [{}]}',
        '{"content": [{"token": "A", "logprob": "x"}]}',
        '{"content": [{"token": "A", "logprob": NaN}]}',
        '{"content": [{"token": "A", "logprob": true}]}',
        '{"content": [{"token": "A", "logprob": 900.0}]}',
        '{"content": [{"token": "A", "logprob": -Infinity}]}',
        '{"content": [{"token": 7, "logprob": -1.0}]}',
        '{"content": [{"token": "A", "top_logprobs": [{"token": "A", "logprob": null}]}]}',
    ],
)
async def test_odd_log_probabilities_cost_the_pair_its_label_and_nothing_more(
    logprobs: str,
) -> None:
    said = '"index": 0, "message": {"role": "assistant", "content": "A"}'
    body = f'{{"choices": [{{{said}, "logprobs": {logprobs}}}]}}'
    with OpenAIServer(then(Fault.raw(body.encode()))) as server:
        judge = ChoiceJudge(calling(server), PROMPTS)
        [evidence] = await label_table(judge, [claim()], [document()], meter=UsageMeter())

    [pair] = evidence.labels
    assert pair.label is Label.UNLABELLED
    assert "unreadable reply" in (pair.error or "")
    assert len(server.requests) == 2, "it was asked once more"


async def test_a_log_probability_that_rounding_made_more_than_0_is_0() -> None:
    found = await judged(letter("B", logprob=1e-6, others=-9.0))
    assert found.label is Label.CONTRADICTS
    assert found.score == pytest.approx(1 / (1 + 2 * exp(-9.0)))
