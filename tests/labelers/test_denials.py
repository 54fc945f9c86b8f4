"""Denials of whole statements are recognised, and nothing else is."""

import pytest

from conflictscore.labelers.denials import denial_of, denied_in


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("It is not true that the lamp was lit.", "the lamp was lit"),
        ("It is false that “the lamp was lit.”", "the lamp was lit"),
        ("The claim “The lamp was lit, but late” is false.", "The lamp was lit, but late"),
        ("It is not true that “Holm” is called “Old Holm”.", "“Holm” is called “Old Holm”"),
    ],
)
def test_the_denied_statement_is_returned(text: str, statement: str) -> None:
    assert denied_in(text) == statement


@pytest.mark.parametrize(
    "text",
    [
        "The lamp was lit.",
        "It is false that the lamp was lit, but the tower is white.",
        'The claim "The lamp was lit" is true and the claim "It is white" is false.',
        "It is false that ..",
    ],
)
def test_a_text_that_denies_only_in_part_is_no_denial(text: str) -> None:
    assert denied_in(text) is None


@pytest.mark.parametrize(
    "statement", ["It is lit.", "He said “yes” to it.", 'He said "yes".', "It is Holm's, but old."]
)
def test_the_denial_of_a_denial_is_the_statement(statement: str) -> None:
    assert denial_of(denial_of(statement)) == statement
