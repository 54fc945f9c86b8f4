import json

import pytest

from conflictscore.labelers.json_judge import JsonJudge
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, EvidenceLabel, Label
from tests.fakes.openai_server import ChatRequest, OpenAIServer, script
from tests.labelers.judging import PROMPTS, claim, document, verdict
from tests.models.calling import calling


async def judged(
    *replies: str, of: Claim | None = None, text: Document | None = None
) -> tuple[EvidenceLabel, list[ChatRequest]]:
    """The verdict, and the model's prompt for it."""
    with OpenAIServer(script(*replies)) as server:
        judge = JsonJudge(calling(server), PROMPTS)
        found = await judge.label(of or claim(), text or document(), UsageMeter())
    return found, server.requests


@pytest.mark.parametrize("label", [Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT])
async def test_the_verdict_is_the_models_with_its_quote_and_reason(label: Label) -> None:
    reply = verdict(label.value, snippet=" lit in 1871 ", reasoning=" It says so. ")
    found, _ = await judged(reply, of=claim(number=3), text=document(number=7))
    assert found == EvidenceLabel(
        claim=3,
        document=7,
        label=label,
        snippet="lit in 1871",
        snippet_found=True,
        reasoning="It says so.",
    )


async def test_rules_document_and_claim_come_in_this_order_without_numbers_under_a_schema() -> None:
    text = document("It shone far.", number=77, title="Gazette")
    _, [asked] = await judged(verdict(), of=claim("It was bright.", number=88), text=text)
    prompt = asked.prompt
    rules = PROMPTS.render("label_rules_brief")
    parts = [rules, '"document_snippet"', "Gazette", "It shone far.", "It was bright."]
    places = [prompt.index(part) for part in parts]
    assert places == sorted(places)
    assert "77" not in prompt
    assert "88" not in prompt
    schema = asked.body["response_format"]["json_schema"]["schema"]
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["document_snippet", "reasoning", "answer"]
    assert schema["properties"]["answer"]["enum"] == ["SUPPORTS", "CONTRADICTS", "IRRELEVANT"]


async def test_a_local_model_gets_the_rules_at_length_and_so_gives_verdicts_of_its_own() -> None:
    with OpenAIServer(script(verdict())) as server:
        local = JsonJudge(calling(server, endpoint="local"), PROMPTS)
        await local.label(claim(), document(), UsageMeter())
        remote = JsonJudge(calling(server), PROMPTS)
    assert server.requests[0].prompt.startswith(PROMPTS.render("label_rules"))
    assert (local.identity or {})["prompt"] != (remote.identity or {})["prompt"]


DOCUMENT = document(
    "The lamp\n   was lit  in 1871.\tIt stood “proud”, and <claim> 5 < 6\x01km off.",
    title="The Harbour Gazette",
)


@pytest.mark.parametrize(
    "snippet",
    [
        "The lamp was lit in 1871.",
        "the LAMP Was\n\nlit in 1871",
        '"The lamp was lit in 1871."',
        "“The lamp was lit in 1871…”",
        "... was lit in 1871 ...",
        "'lit in 1871'",
        "It stood “proud”, and",
        "harbour gazette",
        "The lamp ... in 1871.",
        "the lamp […] lit (...) It stood",
        "“The lamp [...] lit (…) in . . . 1871…”",
        "and ‹claim> 5 < 6 km off",
        "and <claim> 5 < 6 km off",
    ],
)
async def test_a_quote_is_found_despite_other_white_space_case_or_quotation_marks(
    snippet: str,
) -> None:
    found, _ = await judged(verdict(snippet=snippet), text=DOCUMENT)
    assert (found.snippet, found.snippet_found) == (snippet, True)


@pytest.mark.parametrize(
    "snippet",
    [
        "The lamp was lit in 1874.",
        "in 1871 … the lamp",
        "The lamp … in 1874",
        "lamp was1871",
        *('""', "...", "…"),
        "Lit by",
    ],
)
async def test_a_quote_that_the_document_does_not_hold_is_kept_and_marked(snippet: str) -> None:
    found, _ = await judged(verdict(snippet=snippet), text=DOCUMENT)
    assert (found.snippet, found.snippet_found) == (snippet, False)


@pytest.mark.parametrize("snippet", ["", "  \n"])
async def test_no_quote_is_none_and_neither_found_nor_missing(snippet: str) -> None:
    found, _ = await judged(verdict("IRRELEVANT", snippet=snippet, reasoning=snippet))
    assert (found.snippet, found.snippet_found, found.reasoning) == (None, None, None)


@pytest.mark.parametrize("answer", ["MAYBE", None, "not supported", "UNLABELLED"])
async def test_a_wrong_field_is_named_to_the_model_which_may_mend_it(answer: str | None) -> None:
    wrong = json.dumps({**json.loads(verdict()), "answer": answer})
    found, [_, again] = await judged(wrong, verdict("CONTRADICTS"))
    assert found.label is Label.CONTRADICTS
    assert "its label was no" in again.prompt
