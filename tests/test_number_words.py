"""Numbers in words, with units and magnitudes, as values."""

import pytest

from conflictscore.number_words import NUMBER_WORDS, number_of
from conflictscore.values import values_in


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("sixty-one crates", [61]),
        ("thirty one days", [31 * 86400]),
        ("fourteen hundred people", [1400]),
        ("two hundred and fifty euros", [250]),
        ("a hundred and twenty seats", [120]),
        ("six million euros", [6e6]),
        ("between two hundred and three hundred goats", [200, 300]),
        ("one hundred and two thousand goats", [102_000]),
        ("zweiundvierzig Ziegen", [42]),
        ("fünf Gramm", [0.005]),
        ("tweeëntwintig schapen", [22]),
        ("quatre fenêtres", [4]),
        ("six feet two inches", [6 * 0.3048, 2 * 0.0254]),
        ("minus four degrees Fahrenheit", [-20]),
        # other numbers, or none
        ("the sixty-first street", []),
        ("trente-deux et treinta y dos", []),
        ("once upon a time, one of them", []),
    ],
)
def test_numbers_in_words_are_values(text: str, numbers: list[float]) -> None:
    stated = [number for each in values_in(text) for number in each.readings]

    assert stated == pytest.approx(numbers)


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("£5.1m", "5.1 million pounds", True),
        ("1.1 m books", "1.1 million books", True),
        ("85 degrees Celsius", "185 °F", True),
        ("-4 °F", "-20 °C", True),
        ("45 m.p.h.", "45 m", True),
        ("fünf", "neun", False),
    ],
)
def test_values_in_short_forms_agree(one: str, other: str, alike: bool) -> None:
    [first], [second] = values_in(one), values_in(other)

    assert first.agrees(second) is alike


def test_may_is_a_month_where_it_is_no_verb() -> None:
    [age, _] = values_in("Everyone over 18 may drive for 2 hours.")
    [day] = values_in("on 18 may 2024")

    assert age.date is None
    assert day.date == (2024, 5, 18)


def test_every_number_word_states_a_number() -> None:
    assert all(1 < number_of(word) <= 100 for word in NUMBER_WORDS)
