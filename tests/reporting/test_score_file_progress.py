"""What a run shows of itself, by a clock that the test turns."""

import io

from rich.console import Console

from conflictscore.reporting.displays import ScoreFileProgress
from conflictscore.scoring_files.engine import Outcome, Result


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def result(row: int, error: str | None = None) -> Result:
    return Result(Outcome(row=row, error=error, report=None, notes=[]))


def display(clock: Clock, **settings: bool) -> tuple[ScoreFileProgress, io.StringIO]:
    out = io.StringIO()
    console = Console(file=out, width=200, force_terminal=settings.pop("terminal", False))
    return ScoreFileProgress(console, enabled=settings.pop("enabled", True), clock=clock), out


def test_the_rate_and_the_time_left_count_what_ended_in_this_session() -> None:
    clock = Clock()
    progress, _ = display(clock)
    progress.begun(total=1_000, ended=400)
    assert progress.line() == "400 of 1,000 rows, 400 from earlier, 0 failed"

    clock.now = 50
    for row in range(401, 501):
        progress.ended(result(row))

    assert progress.line() == (
        "500 of 1,000 rows, 400 from earlier, 2.0 a second, 4 min 10 s left, 0 failed"
    )


def test_a_log_gets_a_line_a_minute_and_one_at_the_end_and_each_reason_once() -> None:
    clock = Clock()
    progress, out = display(clock)
    with progress:
        progress.begun(total=4, ended=0)
        progress.ended(result(1, "no such luck\x1b[31m"))
        clock.now = 30
        progress.ended(result(2, "no such luck\x1b[31m"))
        clock.now = 61
        progress.ended(result(3))
        progress.ended(result(4))

    first, second, third = out.getvalue().splitlines()
    assert first.startswith("row 1 failed: no such luck")
    assert "\x1b" not in out.getvalue()
    assert second == "3 of 4 rows, 0.0 a second, 20 s left, 2 failed"
    assert third == "4 of 4 rows, 0.1 a second, 2 failed"


def test_at_a_terminal_the_bar_shows_the_line() -> None:
    progress, out = display(Clock(), terminal=True)
    with progress:
        progress.begun(total=3, ended=2)
        progress.ended(result(3))

    assert "3 of 3 rows, 2 from earlier" in out.getvalue()


def test_nothing_is_shown_where_that_is_not_wanted() -> None:
    progress, out = display(Clock(), enabled=False)
    with progress:
        progress.begun(total=1, ended=0)
        progress.ended(result(1, "no such luck"))

    assert out.getvalue() == ""
