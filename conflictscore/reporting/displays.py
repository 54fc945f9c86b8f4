"""What runs, files and pairs show of themselves on stderr while they are worked on."""

import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

from rich.console import Console, RenderableType
from rich.text import Text

from conflictscore.progress import CountBar, Display, bar_beside, counting_bar
from conflictscore.records import FurtherSearch
from conflictscore.reporting.figure_text import counted, one_line, seconds
from conflictscore.reporting.terminal import looked_further
from conflictscore.retrieval.recording.recorder import RecordingReport
from conflictscore.scoring_files.engine import Result

__all__ = ["PairProgress", "RecordingProgress", "RunProgress", "ScoreFileProgress", "how_far"]

_VERBS = {
    "SUPPORTS": "supports",
    "CONTRADICTS": "contradicts",
    "UNLABELLED": "could not be labelled against",
}

_NEXT = {"regenerate": "looking again", "look_further": "looking further"}


class RunProgress:
    """Shows each event of a graph's ``custom`` stream; the labels as a bar with time left."""

    def __init__(self, console: Console, *, enabled: bool) -> None:
        self._console = console
        self._enabled = enabled
        self._documents = self._claims = 0
        self._bar = counting_bar(console, enabled=enabled and console.is_terminal)
        self._task = self._bar.add_task("searching", total=None)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._bar.stop()

    def show(self, event: Mapping[str, Any]) -> None:
        """Show one event."""
        match event["event"]:
            case "documents":
                self._documents = len(event["documents"])
                self._say(counted(self._documents, "document"))
                self._now("answering")
            case "answer":
                which = "answered again" if event["round"] else "answered"
                self._say(f"{which}: {one_line(event['answer'], 100)}")
                self._now("taking the answer apart")
            case "claims":
                self._claims = len(event["claims"])
                self._say(counted(self._claims, "claim"))
                self._now("labelling", total=self._claims * self._documents)
            case "label":
                self._bar.advance(self._task)
                if event["label"] != "IRRELEVANT":
                    claim, document = f"claim {event['claim']}", f"document {event['document']}"
                    self._say(f"  {document} {_VERBS[event['label']]} {claim}")
            case "scores":
                self._say(_scores(event))
                if weighted := event.get("weighted"):
                    self._say(f"with documents weighed by {weighted['by']}: {_scores(weighted)}")
            case "decision":
                self._say(f"{event['decision']}: {event['reason']}")
                self._now(_NEXT.get(event["decision"], "finishing"))
            case "look_further":
                self._searched(event)
            case "flip":
                self._say("the answer changed")

    def _searched(self, event: Mapping[str, Any]) -> None:
        for search in event["searches"]:
            self._say(f"  {looked_further(FurtherSearch.model_validate(search))}")
        if found := len(event["documents"]):
            self._documents += found
            self._now("labelling", total=self._claims * found)

    def _now(self, step: str, total: int | None = None) -> None:
        self._bar.reset(self._task, description=step, total=total)

    def _say(self, line: str) -> None:
        if self._enabled:
            self._console.print(Text(f"· {line}", style="dim"))


def _scores(known: Mapping[str, Any]) -> str:
    cs_c, cs_r = ("none" if known[key] is None else f"{known[key]:.2f}" for key in ("cs_c", "cs_r"))
    return f"CS-C {cs_c}, CS-R {cs_r}"


def how_far(
    total: int,
    noun: str,
    *,
    earlier: int,
    new: int,
    passed: float,
    rate: Callable[[float], str],
) -> list[str]:
    """How much is done, what of it earlier sessions did, how fast it goes, and the time left.

    Args:
        total: How many there are.
        noun: Of what, in the singular.
        earlier: How many ended in earlier sessions.
        new: How many ended in this session.
        passed: Seconds of this session.
        rate: So many a second, in words.
    """
    done = min(earlier + new, total)
    parts = [f"{done:,} of {counted(total, noun)}"]
    if earlier:
        parts.append(f"{earlier:,} from earlier")
    if new and passed > 0:
        parts.append(rate(new / passed))
        if left := total - done:
            parts.append(f"{seconds(left * passed / new)} left")
    return parts


class _Counted(Display):
    """Counts what ends, and what of it failed."""

    noun: ClassVar[str]
    faultless: ClassVar[str]
    """What stands in place of the number of failures while there is none."""

    def __init__(
        self,
        console: Console,
        *,
        enabled: bool,
        total: int = 0,
        done: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare a display; it shows from ``with`` on.

        Args:
            console: Where to, as a rule stderr.
            enabled: Whether anything is shown at all.
            total: How many there are; 0 while nobody knows.
            done: Of these, those that an earlier run did.
            clock: Seconds from any start, for the rate.
        """
        super().__init__(console, enabled=enabled, clock=clock)
        self._total, self._earlier = total, done
        self._new = self._failed = 0

    @abstractmethod
    def rate(self, a_second: float) -> str:
        """So many a second, in words."""

    def line(self) -> str:
        """How far it is, as one line; empty before it is known how many there are."""
        if not self._total:
            return ""
        parts = how_far(
            self._total,
            self.noun,
            earlier=self._earlier,
            new=self._new,
            passed=self._passed,
            rate=self.rate,
        )
        failed = f"{self._failed:,} failed" if self._failed else self.faultless
        return ", ".join(filter(None, [*parts, failed]))

    def panel(self) -> RenderableType:
        """What a terminal shows now."""
        return bar_beside(self.line(), self._earlier + self._new, self._total)

    def _count(self, what: str, error: str | None) -> None:
        self._new += 1
        if error is not None:
            self._failed += 1
            self._say_once(one_line(error), f"{what} failed: {one_line(error)}")
        self._tick(self._new)


class PairProgress(_Counted):
    """Counts pairs of claim and document; told of each verdict, in the event loop's thread."""

    reasons, noun, faultless = 1, "pair", ""

    def rate(self, a_second: float) -> str:
        """See the base."""
        return f"{1 / a_second:.2f} s a pair"

    def pair(self, error: str | None = None) -> None:
        """A pair was judged, or why it was not; the first reason is shown."""
        self._count("a pair", error)


class ScoreFileProgress(_Counted):
    """Shows how far a file is; told by the run, as its ``RowListener``."""

    noun, faultless = "row", "0 failed"

    def rate(self, a_second: float) -> str:
        """See the base."""
        return f"{a_second:.1f} a second"

    def begun(self, *, total: int, ended: int) -> None:
        """A run starts, or resumes where so many rows ended in earlier sessions."""
        self._total, self._earlier = total, ended
        self._start()

    def ended(self, result: Result) -> None:
        """A row ended; why, where it failed."""
        self._count(f"row {result.outcome['row']:,}", result.outcome["error"])


class RecordingProgress(CountBar):
    """Shows each report of a recording that it is called with, and each failure once."""

    def __init__(self, console: Console) -> None:
        super().__init__(console, "recording", "questions")
        self._failures = 0
        self._cancelled = False

    def __call__(self, report: RecordingReport) -> None:
        """Show how far the recording is."""
        for failure in report.failures[self._failures :]:
            self.say(one_line(f"failed: {failure.question}: {failure.error}", limit=1_000))
        self._failures = len(report.failures)
        if report.cancelled and not self._cancelled:
            self.say("stopping: waiting for the questions in flight")
        self._cancelled = report.cancelled
        failed = f"{self._failures} failed" if self._failures else ""
        self.show(report.wanted - report.left, report.wanted, failed)
