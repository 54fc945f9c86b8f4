"""What the caller's call parameters do to text that is put into an answer."""

from typing import Any

import pytest

from conflictscore.nodes.answerer import before_stop


@pytest.mark.parametrize(
    ("parameters", "left"),
    [
        ({"stop": "\n\n"}, "It was lit in 1874. END Or not."),
        ({"stop": ["END", "1874"]}, "It was lit in "),
        ({"extra_body": {"stop": ["never said", "", "END"]}}, "It was lit in 1874. "),
        ({"stop": [], "extra_body": None}, "It was lit in 1874. END Or not.\n\nIt was."),
    ],
)
def test_a_text_ends_before_the_first_stop_word(parameters: dict[str, Any], left: str) -> None:
    assert before_stop("It was lit in 1874. END Or not.\n\nIt was.", parameters) == left
