"""What an embedded model's claims are turned into when it repeats itself, invents, or fails."""

from typing import Any

import pytest

from conflictscore.answering.claim_asking import claims_of_answer, claims_of_passage
from conflictscore.errors import UnreadableReplyError
from conflictscore.loop.state import Reader
from conflictscore.models.usage import UsageMeter
from conflictscore.records import GapKind
from tests.nodes.steps import PROMPTS, Says, setting

QUESTION = "When was the Kell ferry launched?"
ANSWER = "The Kell ferry was launched on 3 May 1931. The ferry carries 40 cars."
LAUNCHED, CARRIES = "The Kell ferry was launched on 3 May 1931.", "The ferry carries 40 cars."
CUT_OFF = UnreadableReplyError("it was cut off after 248 tokens", provider="local")


class Local(Says):
    """A model that counts as embedded."""

    is_local = True


def judge(model: Any) -> Reader:
    return Reader(model, PROMPTS, UsageMeter())


async def claims(model: Any, answer: str = ANSWER) -> Any:
    state: Any = {"question": QUESTION}
    context = setting(decomposer=model, prompts=PROMPTS, regeneration="revise")
    return await claims_of_answer(answer, state, context, judge(model))


@pytest.mark.parametrize(
    ("reply", "texts"),
    [
        (f"Claims:\n- {LAUNCHED}\n- {CARRIES}", [LAUNCHED, CARRIES]),
        (f"Claims:\n- {LAUNCHED}\n- The ferry was launched on 3 May 1931.\n- {CARRIES}", None),
        (f"Claims:\n- {LAUNCHED}\n- The Kell ferry has carried 60 cars since 1944.", None),
        (f"Claims:\n- {LAUNCHED}", None),
    ],
    ids=["complete", "a repetition", "an invention", "a sentence left out"],
)
async def test_an_embedded_model_covers_each_sentence_once(
    reply: str, texts: list[str] | None
) -> None:
    split = await claims(Local(reply))

    assert [claim.text for claim in split.claims] == (texts or [LAUNCHED, CARRIES])
    assert split.gaps == ()


@pytest.mark.parametrize(
    "answer",
    [
        LAUNCHED,
        "The first bus on Sundays leaves Stavely station at 7:42.",
        "Der Brandauer Tunnel ist 2,8 Kilometer lang.",
    ],
)
async def test_an_embedded_model_is_not_asked_about_one_plain_sentence(answer: str) -> None:
    split = await claims(Local(CUT_OFF), f"{answer}\n")

    assert [(claim.text, claim.passage) for claim in split.claims] == [(answer, (0, len(answer)))]
    assert split.gaps == ()


@pytest.mark.parametrize(
    "answer",
    [
        "It was launched on 3 May 1931.",
        "The Kell ferry, a steamer, was launched in 1931.",
        "The Kell ferry was launched in 1931 and carries 40 cars.",
        "Die Fähre fuhr 1931 zum ersten Mal und trägt 40 Autos.",
        "The Kell ferry was launched because the bridge fell.",
        ANSWER,
    ],
)
async def test_an_embedded_model_splits_every_other_answer(answer: str) -> None:
    model = Local("Claims:\n- The Kell ferry was launched in 1931.")
    await claims(model, answer)

    assert "Take the answer below apart" in model.asked[0][0]


async def test_an_answer_that_an_embedded_model_cannot_split_is_checked_by_its_sentences() -> None:
    split = await claims(Local(CUT_OFF))

    assert [claim.text for claim in split.claims] == [LAUNCHED, CARRIES]
    assert [ANSWER[slice(*claim.passage)] for claim in split.claims] == [LAUNCHED, CARRIES]
    with pytest.raises(UnreadableReplyError):
        await claims(Says(CUT_OFF))


@pytest.mark.parametrize(
    "sentence",
    [
        "It carries 40 cars.",
        "Does the ferry carry 40 cars?",
        "## Carries 40 red cars",
        "Él lleva 40 coches rojos.",
    ],
)
async def test_a_text_that_says_nothing_alone_does_not_become_a_claim(sentence: str) -> None:
    split = await claims(Local(CUT_OFF), f"{LAUNCHED}\n\n{sentence}")

    assert [claim.text for claim in split.claims] == [LAUNCHED]
    if sentence.startswith("It"):
        assert {gap.kind for gap in split.gaps} == {GapKind.UNCLAIMED}


async def test_a_new_passage_that_cannot_be_split_is_its_own_claim() -> None:
    assert await claims_of_passage("", CARRIES, judge(Local(CUT_OFF))) == (CARRIES,)
    with pytest.raises(UnreadableReplyError):
        await claims_of_passage(LAUNCHED, "It carries 40 cars.", judge(Local(CUT_OFF)))
    with pytest.raises(UnreadableReplyError):
        await claims_of_passage("", CARRIES, judge(Says(CUT_OFF)))
