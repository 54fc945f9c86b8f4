"""Figures as words: a figure that is not 0 never reads as 0."""

import pytest

from conflictscore.reporting.figure_text import (
    in_brackets,
    money,
    one_line,
    p_value,
    points,
    seconds,
    span,
)


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (money(0.0), "$0.00"),
        (money(0.00001), "<$0.0001"),
        (money(0.0001), "$0.0001"),
        (money(0.05), "$0.0500"),
        (money(0.1234), "$0.12"),
        (money(1234.5), "$1,234.50"),
        (money(None), "unknown"),
        (p_value(0.0009), "<0.001"),
        (p_value(0.0496), "0.050"),
        (p_value(None), "none"),
        (points(0.0103), "+1.0"),
        (points(-0.5), "-50.0"),
        (points(-0.0001), "+0.0"),
        (points(None), "none"),
        (seconds(0.4), "0 s"),
        (seconds(59.6), "1 min 00 s"),
        (seconds(185), "3 min 05 s"),
        (seconds(3599.7), "1 h 00 min"),
        (seconds(90_000), "25 h 00 min"),
        (span("none", "none"), "none"),
        (span("1.0", "2.0"), "1.0 to 2.0"),
        (in_brackets("1.0", "2.0"), " (1.0 to 2.0)"),
        (in_brackets("none", "2.0"), ""),
        (one_line("a" * 30, limit=10), "a" * 9 + "…"),
        (one_line(" a\n\tb "), "a b"),
    ],
)
def test_a_figure_reads_as_it_should(shown: str, text: str) -> None:
    assert shown == text
