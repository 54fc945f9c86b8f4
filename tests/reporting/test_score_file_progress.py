"""Progress of a file and of pairs, at a terminal and in a log."""

import io

from rich.console import Console

from conflictscore.reporting.displays import PairProgress, ScoreFileProgress
from conflictscore.scoring_files.engine import Outcome, Result


def result(row: int, error: str | None = None) -> Result:
    return Result(Outcome(row=row, error=error, report=None, notes=[]))


def console(*, terminal: bool = False) -> tuple[Console, io.StringIO]:
    out = io.StringIO()
    return Console(file=out, width=200, force_terminal=terminal), out


def test_a_log_has_a_line_at_each_tenth_and_each_reason_once() -> None:
    log, out = console()
    with ScoreFileProgress(log, enabled=True) as progress:
        progress.started(total=1_000, done=800)
        for row in range(801, 901):
            progress.row_done(result(row, "no such luck\x1b[31m" if row < 804 else None))

    assert "\x1b" not in out.getvalue()
    assert out.getvalue().splitlines() == [
        "scoring: 800 of 1,000 rows, resumed",
        "row 801 failed: no such luck [31m",
        "scoring: 900 of 1,000 rows, 3 failed",
    ]


def test_pairs_that_an_earlier_run_judged_count_and_one_reason_is_printed() -> None:
    log, out = console()
    with PairProgress(log, enabled=True, total=4, done=2) as progress:
        progress.pair("broken")
        progress.pair("broken otherwise")

    assert out.getvalue().splitlines() == [
        "judging: 2 of 4 pairs, resumed",
        "a pair failed: broken",
        "judging: 3 of 4 pairs, 1 failed",
        "judging: 4 of 4 pairs, 2 failed",
    ]


def test_a_terminal_shows_a_bar() -> None:
    terminal, out = console(terminal=True)
    with ScoreFileProgress(terminal, enabled=True) as progress:
        progress.started(total=3, done=2)
        progress.row_done(result(3))

    assert "3/3" in out.getvalue()


def test_nothing_is_shown_if_that_is_not_wanted() -> None:
    log, out = console()
    with ScoreFileProgress(log, enabled=False) as progress:
        progress.started(total=1, done=0)
        progress.row_done(result(1, "no such luck"))

    assert out.getvalue() == ""
