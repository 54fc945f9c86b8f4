"""Answers, and the progress of files and recordings, at a terminal and in a log."""

from dataclasses import replace
from io import StringIO
from typing import Any

from rich.console import Console

from conflictscore.errors import ProviderError
from conflictscore.records import Change, RevisionAction, Run, SecondLook
from conflictscore.reporting.displays import ItemProgress, RecordingProgress
from conflictscore.reporting.terminal import print_run, printable
from conflictscore.retrieval.recording import FailedQuestion, RecordingReport

START = RecordingReport(wanted=20, before=3)
FAILURE = FailedQuestion("Why\n not?", ProviderError("it \x1b[31mbroke", provider="serper"))


def console(*, terminal: bool = False) -> tuple[Console, StringIO]:
    out = StringIO()
    return Console(file=out, width=200, force_terminal=terminal, color_system=None), out


def counted(total: int, done: int, *errors: str | None, **options: Any) -> list[str]:
    log, out = console()
    with ItemProgress(log, "scoring", "rows", **options) as progress:
        progress.begin(total, done)
        for number, error in enumerate(errors, start=done + 1):
            progress.count(error, f"row {number}")
    return out.getvalue().splitlines()


def test_a_log_has_a_line_at_each_tenth_and_each_reason_once() -> None:
    assert counted(1_000, 800, *["no such luck\x1b[31m"] * 3, *[None] * 97) == [
        "scoring: 800 of 1,000 rows, resumed",
        "row 801 failed: no such luck [31m",
        "scoring: 900 of 1,000 rows, 3 failed",
    ]
    assert counted(4, 2, "broken", "broken otherwise", reasons=1) == [
        "scoring: 2 of 4 rows, resumed",
        "row 3 failed: broken",
        "scoring: 3 of 4 rows, 1 failed",
        "scoring: 4 of 4 rows, 2 failed",
    ]
    assert counted(1, 0, "no such luck", visible=False) == []


def test_a_terminal_shows_no_total_before_there_is_a_count() -> None:
    terminal, out = console(terminal=True)
    with RecordingProgress(terminal):
        pass
    assert "recording" in out.getvalue()
    assert "0/100" not in out.getvalue()


def test_a_terminal_has_a_bar_that_goes_when_it_is_done_and_failures_stay() -> None:
    terminal, out = console(terminal=True)
    with RecordingProgress(terminal) as bar:
        bar(START)
        for number in (1, 2):
            bar(replace(START, recorded=number, failures=(FAILURE,)))
    text = out.getvalue()
    assert "recording, 1 failed" in text
    assert "5/20" in text
    assert text.count("failed: Why not?: it [31mbroke\n") == 1
    assert "recording: " not in text
    assert text.endswith("\x1b[2K")  # the bar's line is cleared


def test_nothing_of_an_answer_is_hidden_or_steers_the_terminal() -> None:
    line = "It was **1874**, <b>not</b> <!-- hidden --> \x1b[2J1871."
    answer = f"{line}\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    terminal, out = console(terminal=True)
    print_run(Run(question="When?", answer=answer, first_answer=answer), terminal)
    shown = out.getvalue()
    assert "It was **1874**, <b>not</b> <!-- hidden -->" in shown
    assert "|---|" in shown
    assert "\x1b[2J" not in shown
    terminal, out = console()
    print_run(Run(question="When?", first_answer="In 1871.", run_id="7"), terminal)
    assert "after (nothing)" in " ".join(out.getvalue().split())
    assert "None" not in out.getvalue()
    assert printable("a\u200eb\u200fc\u061cd\u202ee\u2066f") == "a b c d e f"


def test_a_refused_change_shows_why_its_claim_was_to_change() -> None:
    look = SecondLook.model_construct(
        candidates=(), weighing=None, dropped=(), related=(), why="The log was written at night."
    )
    change = Change.kept("It was lit.", 0, (), round=1).model_copy(
        update={
            "action": RevisionAction.REPLACE,
            "after": "It was not lit.",
            "accepted": False,
            "note": "too short",
            "looks": (look,),
        }
    )
    terminal, out = console()
    print_run(Run(question="When?", answer="It was lit.", changes=(change,)), terminal)
    assert "The log was written at night." in out.getvalue()
    assert "refused: too short" in out.getvalue()
