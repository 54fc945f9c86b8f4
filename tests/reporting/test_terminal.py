"""An answer at a terminal, and in a file."""

from io import StringIO

import pytest
from rich.console import Console

from conflictscore.records import Run
from conflictscore.reporting.terminal import print_run, printable

LINE = "It was **1874**, <b>not</b> <!-- hidden --> \x1b[2J1871."
ANSWER = f"{LINE}\n\n| a | b |\n|---|---|\n| 1 | 2 |"


@pytest.mark.parametrize("terminal", [True, False])
def test_markdown_is_laid_out_at_a_terminal_and_nothing_of_it_is_hidden(terminal: bool) -> None:
    out = StringIO()

    print_run(
        Run(question="When?", answer=ANSWER, first_answer=ANSWER),
        Console(file=out, force_terminal=terminal, width=200, color_system=None),
    )

    shown = out.getvalue()
    assert "<b>not</b> <!-- hidden -->" in shown
    assert "\x1b[2J" not in shown
    assert ("**1874**" in shown) is not terminal
    assert ("|---|" in shown) is not terminal


def test_no_direction_mark_reaches_a_terminal() -> None:
    assert printable("a\u200eb\u200fc\u061cd\u202ee\u2066f") == "a b c d e f"
