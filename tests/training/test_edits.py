"""Edits change the meaning of a sentence in a known way, or leave it alone."""

import re
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from training.edits import comparisons, names, numbers, polarity, rewording
from training.edits.edit import Edit

FEW = settings(max_examples=40)
POOL = names.collect_names(
    [
        "He was born in Vienna in 1900.",
        "She was born in Lyon.",
        "The bridge was designed by Anna Holt.",
        "The tower was designed by Peter Grant.",
        "Mercury is a planet.",
        "Norway is a country.",
    ]
)


def tries(edit: Edit, sentence: str) -> set[str | None]:
    """What an edit makes of a sentence, by chance after chance."""
    return {edit(sentence, Random(seed)) for seed in range(40)}


def changed_name(sentence: str, rng: Random) -> str | None:
    return names.change_name(sentence, rng, POOL)


def changed_subject(sentence: str, rng: Random) -> str | None:
    return names.change_subject(sentence, rng, POOL)


ALL: list[Edit] = [
    numbers.change_date,
    numbers.change_number,
    numbers.break_bound,
    numbers.keep_bound,
    comparisons.turn_comparison,
    polarity.change_polarity,
    changed_name,
    changed_subject,
    rewording.strip_report,
    rewording.drop_aside,
    rewording.drop_adjunct,
    rewording.move_adjunct,
    rewording.swap_words,
]


@pytest.mark.parametrize(
    ("edit", "before", "after"),
    [
        (
            comparisons.turn_comparison,
            "The drug increased the risk of bleeding.",
            "The drug decreased the risk of bleeding.",
        ),
        (
            comparisons.turn_comparison,
            "Mortality was higher in the treated group.",
            "Mortality was lower in the treated group.",
        ),
        (
            comparisons.turn_comparison,
            "The old mill is larger than the new one.",
            "The old mill is smaller than the new one.",
        ),
        (polarity.change_polarity, "The lamp was lit in 1871.", "The lamp was not lit in 1871."),
        (polarity.change_polarity, "Bats are not blind.", "Bats are blind."),
        (polarity.change_polarity, "Dogs can see colours.", "Dogs cannot see colours."),
        (
            polarity.change_polarity,
            "There was no association with age.",
            "There was a clear association with age.",
        ),
        (
            polarity.change_polarity,
            "The treaty reduced the number of warheads.",
            "The treaty did not reduce the number of warheads.",
        ),
    ],
)
def test_an_edit_says_the_opposite(edit: Edit, before: str, after: str | None) -> None:
    assert edit(before, Random(0)) == after


@pytest.mark.parametrize(
    "sentence",
    [
        "The drug may increase the risk of bleeding.",  # only supposed
        "The study asked whether the drug increased the risk.",  # only asked
        "The drug did not increase the risk of bleeding.",  # denied: the opposite may be, too
        "The drug increased the risk and decreased the dose.",  # both turned say something new
        "Falls are frequent in older adults in care homes.",  # only picks whom it speaks of
        "North Korea tested a rocket over the sea.",  # a name
        "More than 40 ships were lost there.",  # a bound, not a comparison
        "The causes of the fire are many, as they say.",  # a noun
        "Before the war, the mill stood empty.",  # and after it, perhaps, too
    ],
)
def test_a_comparison_is_left_alone_where_its_opposite_could_be_true_too(sentence: str) -> None:
    assert comparisons.turn_comparison(sentence, Random(0)) is None


@pytest.mark.parametrize(
    "sentence",
    [
        "Some ships were lost in the storm.",
        "Ships were often lost in the storm.",
        "The ship was lost and the crew was saved.",
        "The ship, which was old, was lost.",
        "The ship was lost because the lamp was dark.",
        "Is the ship lost in the storm.",
        "Ships that are not lit are in danger and are not seen.",
    ],
)
def test_a_statement_is_not_denied_where_both_could_be_true(sentence: str) -> None:
    assert polarity.change_polarity(sentence, Random(0)) is None


def test_a_year_becomes_another_year_that_the_sentence_does_not_have() -> None:
    found = tries(numbers.change_date, "The lamp was lit in 1871 and the bell rang in 1902.")
    assert None not in found
    for sentence in found:
        assert sentence is not None
        years = re.findall(r"\d{4}", sentence)
        assert len({*years, "1871", "1902"}) == 3


def test_a_month_becomes_another_month() -> None:
    found = tries(numbers.change_date, "It opened on 3 March of that year, on 5 March 1900.")
    assert all(one is not None and "1900" not in one for one in found), "which month, is open"
    months = tries(numbers.change_date, "It opened on 3 March 1900.")
    assert any(one is not None and "1900" in one and "March" not in one for one in months)


@pytest.mark.parametrize(
    "sentence",
    [
        "Coronavirus disease 2019 spreads through the air.",
        "The office was held from 1871 to 1902.",
        "The lamp was lit before 1871.",
        "The lamp has been lit since 1871.",
        "The 1980s were cold in Norway.",
        "The mill was closed before March 1900.",
        "The mill was closed since 3 March 1900.",
        "The mill was closed by March 3, 1900.",
        "The mill was closed from 3 March to 5 April 1900.",
    ],
)
def test_a_year_of_a_name_a_range_or_a_bound_is_left_alone(sentence: str) -> None:
    assert tries(numbers.change_date, sentence) == {None}


@pytest.mark.parametrize(
    "sentence",
    [
        "More than 40 ships were lost there.",
        "At least 40 ships were lost there.",
        "Between 40 and 60 ships were lost there.",
        "People aged 60 years or older were asked.",
        "The ships are shown in Table 4 below.",
        "The dose was low (40 patients) in the trial.",
        "COVID-19 is caused by a virus.",
        "Fever was common at 4 hours in the trial.",
    ],
)
def test_a_number_of_a_bound_a_range_or_a_name_is_left_alone(sentence: str) -> None:
    assert tries(numbers.change_number, sentence) == {None}


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (numbers.change_date, "The lamp was not lit in 1871."),
        (numbers.change_date, "The lamp was never lit in 1871."),
        (numbers.change_number, "The fleet did not lose 40 sailors in the storm."),
        (numbers.break_bound, "No school was founded in 1871."),
        (numbers.keep_bound, "Neither school was founded in 1871."),
        (changed_name, "He wasn't born in Vienna in 1900."),
    ],
)
def test_a_detail_of_what_is_denied_is_left_alone(edit: Edit, sentence: str) -> None:
    assert tries(edit, sentence) == {None}


@FEW
@given(st.integers(2, 10**7), st.integers(0, 10**6))
def test_a_changed_number_is_never_the_same_number(value: int, seed: int) -> None:
    sentence = f"The fleet lost {value} sailors in the storm."
    changed = numbers.change_number(sentence, Random(seed))
    if changed is not None:
        found = re.search(r"lost ([\d,]+) sailors", changed)
        assert found is not None
        assert int(found[1].replace(",", "")) != value


@FEW
@given(st.integers(2, 100), st.integers(0, 10**6))
def test_a_changed_percentage_stays_one(value: int, seed: int) -> None:
    changed = numbers.change_number(f"In the trial {value}% of patients recovered.", Random(seed))
    if changed is not None:
        found = re.search(r"(\d+)%", changed)
        assert found is not None
        assert 0 < int(found[1]) <= 100
        assert int(found[1]) != value


@pytest.mark.parametrize(
    ("edit", "kept"), [(numbers.keep_bound, True), (numbers.break_bound, False)]
)
@FEW
@given(value=st.integers(10, 10**6), seed=st.integers(0, 10**6))
def test_a_number_keeps_or_breaks_the_bound_that_is_said(
    edit: Edit, kept: bool, value: int, seed: int
) -> None:
    said = edit(f"The fleet lost {value} sailors in the storm.", Random(seed))
    if said is None:
        return
    found = re.search(r"(more|less|fewer) than ([\d,]+) sailors", said)
    assert found is not None, said
    bound = int(found[2].replace(",", ""))
    assert (value > bound if found[1] == "more" else value < bound) is kept


@pytest.mark.parametrize(
    ("edit", "kept"), [(numbers.keep_bound, True), (numbers.break_bound, False)]
)
@FEW
@given(year=st.integers(1500, 2025), seed=st.integers(0, 10**6))
def test_a_year_keeps_or_breaks_the_bound_that_is_said(
    edit: Edit, kept: bool, year: int, seed: int
) -> None:
    said = edit(f"The school was founded in {year}.", Random(seed))
    assert said is not None
    found = re.search(r"(before|after|in the) (\d{4})(s?)", said)
    assert found is not None, said
    bound = int(found[2])
    holds = {"before": year < bound, "after": year > bound}
    assert holds.get(found[1], bound <= year < bound + 10) is kept


def test_only_a_place_where_there_can_be_but_one_gets_another_name() -> None:
    assert tries(changed_name, "He was born in Vienna in 1900.") == {"He was born in Lyon in 1900."}
    assert tries(changed_name, "The bridge was designed by Anna Holt.") == {
        "The bridge was designed by Peter Grant."
    }
    assert tries(changed_name, "He has a house in Vienna.") == {None}
    assert tries(changed_name, "It was designed by Anna Holt and Peter Grant.") == {None}


def test_a_month_is_no_place() -> None:
    months = ["The mill was built in March 1900.", "The mill was built in May."]
    assert names.collect_names(months).places == []
    assert tries(changed_name, months[1]) == {None}


def test_another_subject_is_not_named_where_only_one_can_be() -> None:
    assert tries(changed_subject, "Mercury is a cold and stony place.") - {None} == {
        "Norway is a cold and stony place."
    }
    assert tries(changed_subject, "Mercury is the smallest planet of them.") == {None}
    assert tries(changed_subject, "Mercury was the first to be seen.") == {None}


@pytest.mark.parametrize(
    ("edit", "before", "after"),
    [
        (
            rewording.strip_report,
            "We found that the drug lowers the risk.",
            "The drug lowers the risk.",
        ),
        (
            rewording.drop_aside,
            "The lamp (lit in 1871) guides ships to the harbour.",
            "The lamp guides ships to the harbour.",
        ),
        (
            rewording.drop_aside,
            "The tower stands on a rock, which the sea covers at night.",
            "The tower stands on a rock.",
        ),
        (
            rewording.drop_adjunct,
            "In 1871, the lamp was lit by the keeper.",
            "The lamp was lit by the keeper.",
        ),
        (
            rewording.move_adjunct,
            "In 1871, the lamp was lit by the keeper.",
            "The lamp was lit by the keeper in 1871.",
        ),
        (
            rewording.swap_words,
            "Individuals were tested.",
            "People were tested.",
        ),
    ],
)
def test_rewording_says_less_or_the_same(edit: Edit, before: str, after: str) -> None:
    assert edit(before, Random(0)) == after


@pytest.mark.parametrize(
    "edit", [rewording.drop_aside, rewording.drop_adjunct], ids=["aside", "adjunct"]
)
def test_nothing_is_left_out_where_less_would_say_more(edit: Edit) -> None:
    assert edit("In 1871, no lamp (of the old kind) was lit by the keeper.", Random(0)) is None


def test_two_sentences_become_one_that_says_both() -> None:
    assert rewording.merge("The lamp was lit.", "The bell rang.") == (
        "The lamp was lit, and the bell rang."
    )
    assert rewording.merge("The lamp was lit.", "Was it?") is None


@pytest.mark.parametrize("edit", ALL)
@FEW
@given(sentence=st.text(max_size=120), seed=st.integers(0, 100))
def test_an_edit_takes_any_text_and_never_gives_it_back_unchanged(
    edit: Callable[[str, Random], str | None], sentence: str, seed: int
) -> None:
    assert edit(sentence, Random(seed)) != sentence


@pytest.mark.parametrize("edit", ALL)
def test_the_same_chances_give_the_same_edit(edit: Edit) -> None:
    sentence = (
        "In 1871, Mercury was larger than 40 ships (in all) and it was designed by Anna Holt."
    )
    assert edit(sentence, Random(7)) == edit(sentence, Random(7))
