"""How far a run is: rate, time left, cost, flips, failures, and what is in flight."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
from io import StringIO

import pytest
from rich.console import Console

from conflictscore.benchmarks.harness.listening import Listener
from conflictscore.benchmarks.harness.methods.registry import DOCUMENTS, LOOP
from conflictscore.benchmarks.harness.records import StepRecord
from conflictscore.benchmarks.harness.report.bench_progress import BenchProgress
from conflictscore.records import Usage
from tests.benchmarks.harness.report.bench_world import changed
from tests.benchmarks.harness.report.lamps import graded


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Watched:
    """A display in a log or at a terminal, with what it wrote."""

    def __init__(
        self,
        total: int = 20,
        *,
        terminal: bool = False,
        enabled: bool = True,
        width: int = 100,
        measure: str = "accuracy",
    ) -> None:
        self.out, self.clock = StringIO(), Clock()
        console = Console(
            file=self.out,
            width=width,
            force_terminal=terminal,
            color_system="standard" if terminal else None,
        )
        self.console = console
        self.progress = BenchProgress(
            console,
            enabled=enabled,
            total=total,
            measure=measure,
            graded=measure != "accuracy",
            clock=self.clock,
        )

    @property
    def lines(self) -> list[str]:
        return self.out.getvalue().splitlines()

    @property
    def panel(self) -> str:
        """What the live display would draw now."""
        with self.console.capture() as drawn:
            self.console.print(self.progress.panel())
        return re.sub(r"\x1b\[[0-9;]*m", "", drawn.get())


def work(progress: BenchProgress, question: str, *, error: str | None = None) -> None:
    progress.started(question, LOOP)
    value = None if error else {"reason": ""}
    progress.ended(StepRecord(question=question, step=LOOP, value=value, error=error))
    progress.question(changed(False, True, question=question, error=error))


def test_a_log_has_a_line_every_ten_questions_and_one_at_the_end() -> None:
    watched = Watched(total=25)
    with watched.progress as progress:
        for number in range(25):
            work(progress, f"q-{number}")
    assert [re.split("[,;]", line)[0] for line in watched.lines] == [
        "10 of 25 questions",
        "20 of 25 questions",
        "25 of 25 questions",
    ]


def test_a_slow_run_has_a_line_a_minute() -> None:
    watched = Watched()
    with watched.progress as progress:
        work(progress, "q-1")
        assert watched.lines == []
        watched.clock.now += 61
        work(progress, "q-2")
        assert len(watched.lines) == 1
        work(progress, "q-3")
        assert len(watched.lines) == 1


def test_the_rate_and_the_time_left_are_of_the_questions_done() -> None:
    watched = Watched(total=20)
    with watched.progress as progress:
        for number in range(5):
            work(progress, f"q-{number}")
        watched.clock.now += 150
    assert "5 of 20 questions, 2.0 a minute, 7 min 30 s left" in watched.lines[-1]


def test_questions_of_an_earlier_session_are_done_and_in_no_rate() -> None:
    watched = Watched(total=20)
    with watched.progress as progress:
        for number in range(8):
            progress.question(changed(False, True, question=f"q-{number}"))
        for number in range(8, 10):
            work(progress, f"q-{number}")
        watched.clock.now += 60
    expected = "10 of 20 questions, 8 from earlier, 2.0 a minute, 5 min 00 s left"
    assert expected in watched.lines[-1]
    assert "10 corrected" in watched.lines[-1]


def test_before_a_question_ended_there_is_no_rate() -> None:
    watched = Watched()
    watched.clock.now += 60
    assert "a minute" not in watched.panel


def test_flips_are_counted_by_what_they_came_to() -> None:
    watched = Watched()
    with watched.progress as progress:
        for before, after in ((False, True), (False, True), (True, False), (True, None)):
            progress.question(changed(before, after))
    assert "regenerated-rag: 2 corrected, 1 harmed, 1 other" in watched.lines[-1]


def test_by_a_graded_measure_answers_are_higher_or_lower() -> None:
    watched = Watched(total=3, measure="recall")
    with watched.progress:
        for name, after in (("a", 0.75), ("b", 0.25), ("c", 0.5)):
            watched.progress.question(graded(name, 0.5, after))
    assert "regenerated-rag: 1 higher, 1 lower, 1 other" in watched.lines[-1]


def test_what_was_spent_is_shown_and_an_unknown_price_is_not_0() -> None:
    watched = Watched()
    assert "no call yet" in watched.panel
    one = Usage(calls=3, cached_calls=1, input_tokens=1200, output_tokens=30)
    watched.progress.spent({"a": one, "b": one}, 0.05)
    assert "6 calls, 2 from the cache, 2,400 tokens in, 60 out, $0.0500" in watched.panel
    watched.progress.spent({"a": one}, None)
    assert "cost unknown" in watched.panel
    assert "$" not in watched.panel


def test_a_failure_is_said_once_by_its_reason_and_counted() -> None:
    watched = Watched()
    with watched.progress as progress:
        for number in range(3):
            work(progress, f"q-{number}", error="no connection")
    assert watched.lines[0] == "q-0, loop failed: no connection"
    assert sum("no connection" in line for line in watched.lines) == 1
    assert watched.lines[-1].endswith("3 failed")


def test_many_different_failures_do_not_flood_a_log() -> None:
    watched = Watched(total=50)
    with watched.progress as progress:
        for number in range(50):
            work(progress, f"q-{number}", error=f"reason {number}")
    assert sum("loop failed" in line for line in watched.lines) == 5


def test_what_is_in_flight_is_named_until_it_ends() -> None:
    watched = Watched()
    listener: Listener = watched.progress
    for number in range(6):
        listener.started(f"q-{number}", DOCUMENTS)
    assert "now: q-0 documents, q-1 documents, q-2 documents, q-3 documents and 2" in watched.panel
    work(watched.progress, "q-0")
    done = StepRecord(question="q-0", step=DOCUMENTS, value={})
    listener.ended(done)
    assert "now: q-1 documents" in watched.panel


def test_nothing_is_written_where_it_is_off() -> None:
    watched = Watched(terminal=True, enabled=False)
    with watched.progress as progress:
        work(progress, "q-1", error="no connection")
    assert watched.out.getvalue() == ""


def test_untrusted_text_cannot_steer_the_terminal() -> None:
    watched = Watched()
    hostile = "[red]\x1b[2J\u202ex\r\n[/red]"
    watched.progress.started(hostile, LOOP)
    assert "[red]" in watched.panel
    with watched.progress as progress:
        work(progress, hostile, error=hostile)
    text = watched.out.getvalue()
    assert "[red]" in text
    assert not set(text) & set("\x1b\r\u202e")
    assert len(watched.lines) == 2


@pytest.mark.parametrize("width", [20, 80])
def test_the_display_is_no_wider_than_the_terminal(width: int) -> None:
    watched = Watched(width=width)
    watched.progress.started("q-1", LOOP)
    work(watched.progress, "q-2")
    watched.clock.now += 30
    assert max(map(len, watched.panel.splitlines())) <= width


@pytest.mark.parametrize("no_color", [True, False])
def test_no_color_leaves_no_colour(monkeypatch: pytest.MonkeyPatch, no_color: bool) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    watched = Watched(terminal=True)
    with watched.progress as progress:
        work(progress, "q-1", error="no connection")
    coloured = re.search(r"\x1b\[(?:[0-9;]*;)?(?:3|9)\dm", watched.out.getvalue()) is not None
    assert coloured is not no_color


INTERRUPTED = """
import time
from rich.console import Console

from conflictscore.benchmarks.harness.report.bench_progress import BenchProgress

with BenchProgress(Console(stderr=True), enabled=True, total=3, measure="accuracy") as progress:
    progress.started("q-1", "loop")
    while True:
        time.sleep(60)
"""


def test_ctrl_c_gives_the_terminal_back_with_a_last_line() -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
    ) as process:
        os.close(theirs)
        seen = read(ours, until="now: q-1 loop")
        assert "\x1b[?25l" in seen, "the display hides the cursor"
        process.send_signal(signal.SIGINT)
        rest = read(ours, until="KeyboardInterrupt")
    os.close(ours)
    assert "\x1b[?25h" in rest, "the cursor is back"
    after = rest[rest.rindex("\x1b[?25h") :]
    assert "0 of 3 questions; no call yet; 0 failed" in after
    assert "now:" not in after


def read(terminal: int, *, until: str) -> str:
    """What a terminal shows, up to a word; fails where nothing comes for half a minute."""
    seen = ""
    while until not in seen:
        ready, _, _ = select.select([terminal], [], [], 30)
        assert ready, seen
        seen += os.read(terminal, 4096).decode(errors="replace")
    return seen
