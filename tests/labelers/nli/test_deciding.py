"""From what a model says of every window to what it says of the document."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conflictscore.labelers.calibration import UNCALIBRATED
from conflictscore.labelers.nli.labeler import deciding_window, verdict_on
from conflictscore.records import Label

SUPPORTS, CONTRADICTS, IRRELEVANT = Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT

_window = st.fixed_dictionaries(
    dict.fromkeys((SUPPORTS, CONTRADICTS, IRRELEVANT), st.floats(-20, 20))
).map(UNCALIBRATED.probabilities)


def says(supports: float, contradicts: float) -> dict[Label, float]:
    return {
        SUPPORTS: supports,
        CONTRADICTS: contradicts,
        IRRELEVANT: round(1 - supports - contradicts, 9),
    }


@given(window=_window)
def test_a_window_has_the_label_that_is_most_likely(window: dict[Label, float]) -> None:
    assert window[verdict_on(window)] == max(window.values())


def test_a_side_that_is_as_likely_as_no_word_on_the_claim_is_none() -> None:
    assert verdict_on({SUPPORTS: 0.5, CONTRADICTS: 0.0, IRRELEVANT: 0.5}) is IRRELEVANT
    assert verdict_on(says(0.48, 0.0)) is IRRELEVANT


@pytest.mark.parametrize(
    ("windows", "decides"),
    [
        ([says(0.1, 0.1), says(0.7, 0.1), says(0.05, 0.9), says(0.8, 0.1)], 2),
        ([says(0.48, 0.0), says(0.45, 0.44)], 1),
        ([says(0.1, 0.0), says(0.0, 0.4), says(0.2, 0.1)], 1),
        ([says(0.1, 0.1), says(0.8, 0.1), says(0.1, 0.8)], 1),
    ],
    ids=["the strongest", "speaks, not nearly", "came nearest", "the earlier of equals"],
)
def test_one_window_decides(windows: list[dict[Label, float]], decides: int) -> None:
    assert deciding_window(windows) == decides


@given(windows=st.lists(_window, min_size=1, max_size=8))
def test_a_document_is_irrelevant_only_where_no_window_speaks(
    windows: list[dict[Label, float]],
) -> None:
    spoken = {verdict_on(window) for window in windows} - {IRRELEVANT}
    decided = verdict_on(windows[deciding_window(windows)])
    assert decided in (spoken or {IRRELEVANT})
