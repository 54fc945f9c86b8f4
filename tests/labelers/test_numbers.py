"""Another number in the place of a claim's: found, and stronger than a judge that overlooks it."""

import pytest

from conflictscore.labelers.cascade import Cascade
from conflictscore.labelers.numbers import number_replaced
from conflictscore.labelers.table import label_table
from conflictscore.models.usage import UsageMeter
from conflictscore.records import EvidenceLabel, Label
from tests.labelers.judging import claim, document


@pytest.mark.parametrize(
    ("of", "text", "number"),
    [
        ("It was lit in 1871.", "The keeper lit it in 1874, after a year.", "1871"),
        ("Born on 12 May 1932.", "Born on 14 May 1932.", "12"),
        ("Geboren am 12. Mai 1932.", "Geboren am 14. Mai 1932.", "12"),
        ("The town has 5,200 people.", "A town of 4,900 people.", "5200"),
        ("It costs 45 euros.", "It costs 1.200,50 euros.", "45"),
        ("It was lit in 1871.", "It was lit in 1871 and rebuilt in 1874.", None),
        ("It was lit in 1871.", "It was lit long ago.", None),
        ("It has twelve rooms and 12 doors.", "It has a dozen doors and 14 rooms.", None),
        ("The tower is 100 metres tall.", "The tower is 0.1 kilometres tall.", None),
        ("About 100 people came.", "97 people came.", None),
        ("It was built in the 1930s.", "It was built in 1934.", None),
        ("The town has 5 200 people.", "It has 5,200 people; in 1900 it had 4,100 people.", None),
    ],
)
def test_a_number_is_replaced_where_the_document_has_another_in_its_place(
    of: str, text: str, number: str | None
) -> None:
    assert number_replaced(of, text) == number


class Says:
    """A labeler that always gives the same label."""

    identity = None

    def __init__(self, name: str, label: Label, score: float) -> None:
        self.name, self.said = name, (label, score)

    async def label(self, claim: object, document: object, meter: UsageMeter) -> EvidenceLabel:
        label, score = self.said
        return EvidenceLabel(claim=1, document=1, label=label, score=score)


@pytest.mark.parametrize(
    ("judged", "of", "text", "stage"),
    [
        (Label.SUPPORTS, "It was lit in 1871.", "It was lit in 1874.", "nli"),
        (Label.SUPPORTS, "Born on 12 May 1932.", "Born on 14 May 1932.", "nli"),
        (Label.SUPPORTS, "The town has 5,200 people.", "A town of 4,900 people.", "nli"),
        (Label.SUPPORTS, "It was lit in 1871.", "It was lit in 1871.", "judge"),
        (Label.SUPPORTS, "It was lit in 1871.", "It was lit.", "judge"),
        (Label.IRRELEVANT, "It was lit in 1871.", "It was lit in 1874.", "judge"),
    ],
)
async def test_a_judge_is_not_believed_to_find_support_in_another_year_day_or_number(
    judged: Label, of: str, text: str, stage: str
) -> None:
    cascade = Cascade(Says("nli", Label.CONTRADICTS, 0.5), Says("judge", judged, 1.0))
    pair = (claim(of), document(text))
    alone = await cascade.label(*pair, UsageMeter())
    [row] = await label_table(cascade, [pair[0]], [pair[1]], meter=UsageMeter())
    assert alone.stage == row.labels[0].stage == stage
