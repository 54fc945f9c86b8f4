"""The parts of a long text that are shown to a reader who cannot read all of it."""

import pytest

from conflictscore.retrieval.near_windows import near_parts
from conflictscore.tokens import count_tokens

FILLER = "In the winter of that year the council met twice and spoke of roads and of grain. "
DECISIVE = "The harbour bridge was opened in 1940, as the mayor wrote in her diary."


@pytest.mark.parametrize("place", [0, 300, 600])
def test_the_decisive_line_is_shown_wherever_it_is(place: int) -> None:
    text = FILLER * place + DECISIVE + " " + FILLER * (600 - place)

    parts = near_parts(text, ["The harbour bridge was opened in 1932."], 600)

    assert parts is not None
    assert DECISIVE in parts.text
    assert parts.is_complete
    assert count_tokens(parts.text) <= 600


def test_every_query_has_its_share_of_the_room() -> None:
    other = "The keeper of the lamp was called Ida Reeve."
    text = FILLER * 200 + DECISIVE + " " + FILLER * 200 + other + " " + FILLER * 200

    parts = near_parts(text, ["The harbour bridge was opened in 1932.", "Ida Reeve kept it."], 400)

    assert parts is not None
    assert DECISIVE in parts.text
    assert other in parts.text
    assert parts.text.index(DECISIVE) < parts.text.index(other)


def test_it_is_not_complete_where_a_query_shares_no_word_with_the_text() -> None:
    foreign = "Мост открыт в сороковом году."

    parts = near_parts(FILLER * 300, [foreign, "The council met twice."], 300)

    assert parts is not None
    assert not parts.is_complete
    assert near_parts(FILLER * 300, [foreign], 300) is None


def test_without_room_there_is_no_part() -> None:
    assert near_parts(FILLER * 30, ["bridge"], 8) is None
