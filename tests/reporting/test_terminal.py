"""An answer at a terminal, and in a file."""

from io import StringIO

from rich.console import Console

from conflictscore.records import Run
from conflictscore.reporting.terminal import print_run, printable

LINE = "It was **1874**, <b>not</b> <!-- hidden --> \x1b[2J1871."
ANSWER = f"{LINE}\n\n| a | b |\n|---|---|\n| 1 | 2 |"


def test_nothing_of_an_answer_is_hidden_or_steers_the_terminal() -> None:
    out = StringIO()
    print_run(
        Run(question="When?", answer=ANSWER, first_answer=ANSWER),
        Console(file=out, force_terminal=True, width=200, color_system=None),
    )
    shown = out.getvalue()
    assert "It was **1874**, <b>not</b> <!-- hidden -->" in shown
    assert "|---|" in shown
    assert "\x1b[2J" not in shown


def test_no_direction_mark_reaches_a_terminal() -> None:
    assert printable("a\u200eb\u200fc\u061cd\u202ee\u2066f") == "a b c d e f"
