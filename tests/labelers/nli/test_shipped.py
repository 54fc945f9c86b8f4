"""The model that comes with the package: it loads, and knows what nobody doubts."""

import re

import pytest

from conflictscore.labelers.nli.labeler import NliLabeler
from conflictscore.labelers.nli.model import resolve, shared_model
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, Label

PASSAGE = (
    "The lighthouse at Vennick Point was built between 1868 and 1871 by the harbour trust. Its lamp"
    " was first lit on 3 May 1871, and the keeper's log of that night is kept in the town hall."
)


@pytest.mark.parametrize(
    ("claim", "label"),
    [
        ("The lamp was first lit on 3 May 1871.", Label.SUPPORTS),
        ("The keeper's log is kept in the town hall.", Label.SUPPORTS),
        ("The lamp was first lit on 3 May 1874.", Label.CONTRADICTS),
        ("The lamp was not lit in 1871.", Label.CONTRADICTS),
        ("Norwegian painters liked to use blue.", Label.IRRELEVANT),
        ('The answer to the question "When was the lamp first lit?" is 1871.', Label.SUPPORTS),
        ('The answer to the question "When was the lamp first lit?" is 1874.', Label.CONTRADICTS),
        ('The answer to the question "Who designed the lens?" is Anna Holt.', Label.IRRELEVANT),
    ],
)
async def test_what_a_passage_says_denies_or_leaves_open(claim: str, label: Label) -> None:
    labeler = NliLabeler.open()
    said = await labeler.label(
        Claim(number=1, text=claim), Document(number=1, text=PASSAGE), UsageMeter()
    )
    assert said.label is label


def test_its_scores_are_calibrated_for_it_and_no_other_model() -> None:
    assert NliLabeler.open().calibration.fitted_on != "nothing"


def test_its_card_says_what_it_is() -> None:
    card = (resolve(None) / "MODEL_CARD.md").read_text("utf-8")
    assert shared_model(None).sha256 in card
    for heading in ("Start", "Data", "Figures", "Limits"):
        assert re.search(f"^## {heading}$", card, re.MULTILINE)
