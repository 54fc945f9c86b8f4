"""What is seen of a recording, on a terminal and in a log."""

from dataclasses import replace
from io import StringIO

from rich.console import Console

from conflictscore.errors import ProviderError
from conflictscore.reporting.displays import RecordingProgress
from conflictscore.retrieval.recording import FailedQuestion, RecordingReport

START = RecordingReport(wanted=20, before=3)
FAILURE = FailedQuestion("Why\n not?", ProviderError("it \x1b[31mbroke", provider="serper"))


def shown(*reports: RecordingReport, terminal: bool) -> str:
    file = StringIO()
    console = Console(file=file, force_terminal=terminal, width=100, color_system=None)
    with RecordingProgress(console) as bar:
        for report in reports:
            bar(report)
    return file.getvalue()


def test_a_log_has_a_line_a_tenth_and_each_failure_once() -> None:
    reports = [replace(START, recorded=number) for number in range(4)]
    failed = [replace(report, failures=(FAILURE,)) for report in reports[2:]]

    assert shown(*reports[:2], *failed, terminal=False).splitlines() == [
        "recording: 3 of 20 questions",
        "recording: 4 of 20 questions",
        "failed: Why not?: it [31mbroke",
        "recording: 6 of 20 questions, 1 failed",
    ]


def test_a_terminal_has_a_bar_that_goes_when_it_is_done_and_failures_stay() -> None:
    text = shown(START, replace(START, recorded=1, failures=(FAILURE,)), terminal=True)

    assert "recording, 1 failed" in text
    assert "4/20" in text
    assert "failed: Why not?: it [31mbroke\n" in text
    assert "recording: " not in text
    assert text.endswith("\x1b[2K")  # the bar's line is wiped
