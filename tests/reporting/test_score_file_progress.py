"""Progress of a file and of pairs, at a terminal and in a log."""

import io

from rich.console import Console

from conflictscore.reporting.displays import ItemProgress


def console(*, terminal: bool = False) -> tuple[Console, io.StringIO]:
    out = io.StringIO()
    return Console(file=out, width=200, force_terminal=terminal), out


def test_a_log_has_a_line_at_each_tenth_and_each_reason_once() -> None:
    log, out = console()
    with ItemProgress(log, "scoring", "rows", enabled=True) as progress:
        progress.begin(1_000, 800)
        for row in range(801, 901):
            progress.count("no such luck\x1b[31m" if row < 804 else None, f"row {row}")

    assert "\x1b" not in out.getvalue()
    assert out.getvalue().splitlines() == [
        "scoring: 800 of 1,000 rows, resumed",
        "row 801 failed: no such luck [31m",
        "scoring: 900 of 1,000 rows, 3 failed",
    ]


def test_pairs_that_an_earlier_run_judged_count_and_one_reason_is_printed() -> None:
    log, out = console()
    with ItemProgress(log, "judging", "pairs", reasons=1) as progress:
        progress.begin(4, 2)
        progress.count("broken", "a pair")
        progress.count("broken otherwise", "a pair")

    assert out.getvalue().splitlines() == [
        "judging: 2 of 4 pairs, resumed",
        "a pair failed: broken",
        "judging: 3 of 4 pairs, 1 failed",
        "judging: 4 of 4 pairs, 2 failed",
    ]


def test_a_terminal_shows_a_bar() -> None:
    terminal, out = console(terminal=True)
    with ItemProgress(terminal, "scoring", "rows", enabled=True) as progress:
        progress.begin(3, 2)
        progress.count(None, "row 3")

    assert "3/3" in out.getvalue()


def test_nothing_is_shown_if_that_is_not_wanted() -> None:
    log, out = console()
    with ItemProgress(log, "scoring", "rows", enabled=False) as progress:
        progress.begin(1)
        progress.count("no such luck", "row 1")

    assert out.getvalue() == ""
