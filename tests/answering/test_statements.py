"""Short statements: equal answers, replies without content, opposites."""

import pytest

from conflictscore.answering.question_terms import asks_for_current
from conflictscore.answering.statements import (
    affirms,
    answers_nothing,
    invented_numbers,
    is_about,
    opposite,
    same_answer,
)

LAMP = "In which year did the lighthouse first light its lamp?"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("The lamp was lit in 1874.", "It was on 14 October 1874 that the lamp was lit.", True),
        ("The lamp was lit in 1874.", "The lamp was lit in 1871.", False),
        ("The lamp was lit on 14 October.", "The lamp was lit on 15 October.", False),
        ("The lamp was lit.", "The lamp was not lit.", False),
        ("Josiah Trask lit the lamp.", "Trask lit the lamp.", True),
        ("Josiah Trask lit the lamp.", "R. Aldous lit the lamp.", False),
        ("It cost 2,140 pounds.", "It cost 2140 pounds.", True),
    ],
)
def test_two_statements_are_one_answer_where_their_telling_words_do_not_clash(
    one: str, other: str, same: bool
) -> None:
    assert same_answer(one, other, LAMP) is same
    assert same_answer(other, one, LAMP) is same


@pytest.mark.parametrize(
    "reply",
    [
        "The document does not say when the lamp was lit.",
        "The passage doesn't explicitly mention a year.",
        "This is not specified in the document.",
        "There is no information about the lamp.",
        "I cannot answer that.",
        "In which year the lighthouse did first light its lamp.",
    ],
)
def test_a_reply_that_tells_nothing_is_none(reply: str) -> None:
    assert answers_nothing(reply, LAMP)


@pytest.mark.parametrize(
    "reply", ["No.", "The lamp was lit in 1874.", "The drink does not contain alcohol."]
)
def test_a_denial_is_an_answer(reply: str) -> None:
    assert answers_nothing(reply, "Does the drink contain alcohol?") is None


def test_a_number_that_no_source_has_is_invented() -> None:
    page = "The lens has 364 prisms and weighs 2,140 kilograms."

    assert invented_numbers("The lamp was lit in 1816.", [page]) == {"1816"}
    assert not invented_numbers("It has 364 prisms, weighs 2140 kg, in ten years 10.", [page])


@pytest.mark.parametrize(
    ("answer", "other"),
    [
        ("Yes, bats are blind.", "No."),
        ("no, bats are not blind", "yes."),
        ("No, neither of the bats is blind.", "Yes."),
        ("Yes, bats are not blind.", None),
        ("Yes, bats are blind birds.", None),
        ("No, most see well.", None),
        ("Bats are blind.", None),
        ("The statement that bats are blind is false.", "True."),
        ('The claim "Bats are blind" is true', "False."),
        ("The statement that most bats see is true.", None),
        ("Yes.", "No."),
        ("**TRUE**", "**FALSE**"),
        ("It is false.", "It is true."),
        ("The statement is correct", "The statement is incorrect"),
        ("Yes, since 1871.", None),
        ("Norway.", None),
        ("", None),
    ],
)
def test_only_a_bare_yes_or_one_in_the_words_of_the_question_has_an_opposite(
    answer: str, other: str | None
) -> None:
    assert opposite(answer, "Are bats blind?") == other


def test_what_a_question_asks_for() -> None:
    assert asks_for_current("Who is the current keeper?")
    assert not asks_for_current(LAMP)


@pytest.mark.parametrize(
    ("question", "is_current"),
    [
        ("How many members are there as of today?", True),
        ("How many people live in Norr, as of now?", True),
        ("Is the mill still open?", True),
        ("Is the mill still open to the public on Sundays?", True),
        ("How many people lived in Norr as of 2010?", False),
        ("How many members were there as of 3 May 2019?", False),
        ("How many members were there as of May 2019?", False),
        ("Was the mill still open in 1931?", False),
        ("Was the ferry still running on 4 July 1988?", False),
    ],
)
def test_a_question_about_a_date_does_not_ask_for_the_present(
    question: str, is_current: bool
) -> None:
    assert asks_for_current(question) is is_current


def test_a_question_is_about_its_subject() -> None:
    assert is_about("The lighthouse first lit its lamp in 1871.", LAMP)
    assert not is_about("The tower is 31 metres high.", LAMP)


@pytest.mark.parametrize(
    ("reply", "question", "affirmed"),
    [
        ("Yes.", "Are bats blind?", True),
        ("No, they see.", "Are bats blind?", False),
        ("Bats are blind.", "Is this true or false: bats are blind", True),
        ("Bats are not blind.", "Is this true or false: bats are blind", False),
        ("It is false that bats are blind.", "Are bats blind?", False),
        ("Bats are not blind.", "Is it true that bats are not blind?", True),
        ("It is not true that bats do not see.", "Is it true that bats do not see?", False),
        ("There has been warming.", "Is this true or false: there has been no warming", False),
        ("Bats are mammals.", "Aren't bats mammals?", True),
        ("Bats aren't mammals.", "Aren't bats mammals?", False),
    ],
)
def test_a_reply_affirms_what_was_asked_or_denies_it(
    reply: str, question: str, affirmed: bool
) -> None:
    assert affirms(reply, question) is affirmed
