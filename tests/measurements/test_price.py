"""A check does not become more expensive: calls and tokens, counted without a clock."""

import pytest

from measurements.call_steps import call_steps, file_call_steps
from measurements.price import price_of
from measurements.row_steps import row_steps


@pytest.mark.parametrize(
    ("claims", "each", "dissenting", "calls", "read", "written"),
    [
        (6, None, 0, 12, 5_080, 1_290),
        (25, None, 0, 12, 15_150, 5_150),
        (25, 5, 0, 12, 10_160, 2_050),
        (6, None, 1, 16, 6_800, 1_360),
        (6, None, 6, 19, 9_660, 1_490),
    ],
)
def test_an_answer_costs_no_more_than_it_did(
    claims: int, each: int | None, dissenting: int, calls: int, read: int, written: int
) -> None:
    disputed = dissenting > 0
    price = price_of(claims, 10, disputed=disputed, each=each, alone=dissenting == 1)
    assert price.calls <= calls
    assert price.read <= read
    assert price.written <= written
    assert price.outcome == ("fully, changed" if dissenting > 1 else "fully, kept")


def test_a_row_of_a_file_takes_no_more_steps_than_it_did() -> None:
    steps = row_steps()
    assert steps.calls <= 3_700
    assert steps.records <= 39


def test_a_call_to_a_judge_takes_no_more_steps_than_it_did() -> None:
    assert call_steps() <= 1_990
    assert file_call_steps() <= 2_660
