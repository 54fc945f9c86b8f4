"""The ids of texts in a prompt."""

import pytest

from conflictscore.labelers.prompting import content_ids


@pytest.mark.parametrize("count", [2, 450, 451, 5000])
def test_every_text_has_an_id_of_its_own_however_many_there_are(count: int) -> None:
    ids = content_ids((number, f"text {number % 7}") for number in range(count))

    assert len(set(ids.values())) == count
    assert all(int(each) >= 100 for each in ids.values())
    assert count > 450 or {len(each) for each in ids.values()} == {3}
