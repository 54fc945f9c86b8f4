"""How embedded models check what the value of a rival is the value of, before a hedge tells it."""

import pytest

from conflictscore.correcting.look import look_again_at
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, EvidenceLabel, Label, LookOutcome, SecondLook
from tests.correcting.helpers import looking_embedded
from tests.nodes.steps import claim_with

QUESTION = "How high is the Corrie Dam?"
CLAIM, RIVAL = "The Corrie Dam is 64 metres high.", "The Corrie Dam is 71 metres high."
OWN, OTHER = "Corrie Dam: 64 metres high.", "Inspection of Corrie Dam: 71 metres high in all."
OF_THE_RIVAL = "71 metres is the height of Corrie Dam."
OF_ANOTHER = "71 metres is the width of the spillway."


class ByWords:
    """An embedded labeler: a text supports what has its number, but not if it is about a width."""

    name, identity, embedded = "by words", None, True

    def __init__(self, *, probabilities: bool = True) -> None:
        self.probabilities = probabilities

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        same = ("71" in claim.text) == ("71" in document.text)
        label = Label.SUPPORTS if same else Label.CONTRADICTS
        if "width" in document.text:
            label = Label.IRRELEVANT
        likely = {each: 0.9 if each is label else 0.05 for each in (Label.SUPPORTS, *_OTHERS)}
        return EvidenceLabel(
            claim=claim.number,
            document=document.number,
            label=label,
            probabilities=likely if self.probabilities else None,
        )


_OTHERS = (Label.CONTRADICTS, Label.IRRELEVANT)


async def looked(
    meaning: str,
    *texts: str,
    probabilities: bool = True,
) -> tuple[SecondLook, list[str]]:
    """Return the look, and the questions about the value that the model was asked."""

    def reply(prompt: str) -> str:
        return meaning if '71 metres"' in prompt else RIVAL

    looking, model = looking_embedded(
        QUESTION,
        *texts,
        labeler=ByWords(probabilities=probabilities),
        reply=reply,
        only_claim=True,
        answer=CLAIM,
    )
    sides = "+" + "-" * (len(texts) - 1)
    look = await look_again_at(claim_with(sides, CLAIM), CLAIM, looking)
    return look, [prompt for prompt in model.asked if '71 metres"' in prompt]


@pytest.mark.parametrize("probabilities", [True, False])
@pytest.mark.parametrize(
    ("meaning", "outcome"),
    [
        (OF_THE_RIVAL, LookOutcome.TOLD),
        (OF_ANOTHER, LookOutcome.ANOTHER_THING),
        ("The document does not say.", LookOutcome.ANOTHER_THING),
    ],
)
async def test_a_hedge_tells_the_value_of_one_document_only_if_that_document_means_the_same(
    meaning: str, outcome: LookOutcome, probabilities: bool
) -> None:
    look, questions = await looked(meaning, OWN, OTHER, probabilities=probabilities)

    assert look.outcome is outcome
    assert look.decision == ("hedge" if outcome is LookOutcome.TOLD else "keep")
    assert len(questions) == 1


async def test_two_documents_with_the_same_value_are_not_asked() -> None:
    look, questions = await looked(
        OF_ANOTHER, OWN, OTHER, "The dam at Corrie is 71 metres high, says the guide."
    )

    assert not questions
    assert look.outcome is not LookOutcome.ANOTHER_THING


class ByHeights(ByWords):
    """The same with all the heights of the test below."""

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        heights = [
            [height for height in ("64", "71", "80") if height in text]
            for text in (claim.text, document.text)
        ]
        label = Label.SUPPORTS if heights[0] == heights[1] else Label.CONTRADICTS
        if "width" in document.text:
            label = Label.IRRELEVANT
        likely = {each: 0.9 if each is label else 0.05 for each in (Label.SUPPORTS, *_OTHERS)}
        return EvidenceLabel(
            claim=claim.number, document=document.number, label=label, probabilities=likely
        )


@pytest.mark.parametrize(
    ("misread", "told"), [({"71"}, "80"), ({"80"}, "71"), ({"71", "80"}, None)]
)
async def test_after_a_misread_value_the_next_rival_is_told(
    misread: set[str], told: str | None
) -> None:
    def reply(prompt: str) -> str:
        height = next(each for each in ("64", "71", "80") if f"{each} metres high" in prompt)
        if "What exactly is" not in prompt:
            return f"The Corrie Dam is {height} metres high."
        kind = "width of the spillway" if height in misread else "height of Corrie Dam"
        return f"{height} metres is the {kind}."

    looking, _ = looking_embedded(
        QUESTION,
        "Corrie Dam: 64 metres high.",
        "Inspection of Corrie Dam: 71 metres high in all.",
        "Survey of Corrie Dam: 80 metres high in all.",
        labeler=ByHeights(),
        reply=reply,
        only_claim=True,
        answer=CLAIM,
    )
    look = await look_again_at(claim_with("+--", CLAIM), CLAIM, looking)

    assert look.decision == ("keep" if told is None else "hedge")
    if told:
        assert look.rival is not None
        assert told in look.candidates[look.rival].statement
    else:
        assert look.outcome is LookOutcome.ANOTHER_THING
