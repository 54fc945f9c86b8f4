"""From what a model says of every window to what it says of the document."""

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


def test_the_strongest_window_decides() -> None:
    windows = [says(0.1, 0.1), says(0.7, 0.1), says(0.05, 0.9), says(0.8, 0.1)]
    assert deciding_window(windows) == 2


def test_a_window_that_speaks_decides_before_one_that_nearly_does() -> None:
    hesitant, nearly = says(0.45, 0.44), says(0.48, 0.0)
    assert verdict_on(nearly) is IRRELEVANT
    assert deciding_window([nearly, hesitant]) == 1


def test_where_no_window_speaks_the_one_that_came_nearest_stands_for_all() -> None:
    assert deciding_window([says(0.1, 0.0), says(0.0, 0.4), says(0.2, 0.1)]) == 1


def test_of_two_equals_the_earlier_decides() -> None:
    assert deciding_window([says(0.1, 0.1), says(0.8, 0.1), says(0.1, 0.8)]) == 1


@given(windows=st.lists(_window, min_size=1, max_size=8))
def test_a_document_is_irrelevant_only_where_no_window_speaks(
    windows: list[dict[Label, float]],
) -> None:
    spoken = {verdict_on(window) for window in windows} - {IRRELEVANT}
    decided = verdict_on(windows[deciding_window(windows)])
    assert decided in (spoken or {IRRELEVANT})
