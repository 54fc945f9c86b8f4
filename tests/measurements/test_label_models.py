"""A comparison of labelers draws the same claims whenever it is asked with the same seed."""

from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup, GroupDocument
from conflictscore.records import Label
from measurements.label_models import drawn

_DOCUMENT = GroupDocument(text="The lamp is lit.", label=Label.SUPPORTS)
_GROUPS = [
    ClaimGroup(set="lamps", id=str(number), claim="A.", documents=(_DOCUMENT,), has_conflict=False)
    for number in range(40)
]


def test_a_sample_depends_on_its_seed_alone() -> None:
    assert drawn(_GROUPS, 10, 7) == drawn(_GROUPS, 10, 7) != drawn(_GROUPS, 10, 8)
    assert len({group.id for group in drawn(_GROUPS, 10, 7)}) == 10


def test_a_smaller_sample_is_within_a_larger_one() -> None:
    assert drawn(_GROUPS, 20, 7)[:10] == drawn(_GROUPS, 10, 7)


def test_all_claims_come_in_their_order_unless_a_sample_is_asked_for() -> None:
    assert drawn(_GROUPS, 0, 7) == _GROUPS
    assert sorted(drawn(_GROUPS, 99, 7), key=lambda group: int(group.id)) == _GROUPS
