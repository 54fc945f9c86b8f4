"""A benchmark's judge held against people, on answers that they judged.

A benchmark brings a :class:`JudgeCheck`. Here its answers are judged, and every judgement is kept
in a file from which the same check resumes.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Generic, NamedTuple, Self, TypeVar

from conflictscore.benchmarks.harness.question_sample import lot
from conflictscore.benchmarks.judging import at_once
from conflictscore.errors import InputError
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import Record, Usage
from conflictscore.storage.record_file import RecordFile, json_line

_R = TypeVar("_R")
_V = TypeVar("_V")
_F = TypeVar("_F", bound=Record)

JudgingProgress = Callable[[int, int], AbstractContextManager[Callable[[bool], object]]]
"""From how many answers are judged already, and how many there are, to what is called after each
new judgement, with whether it failed."""


@dataclass(frozen=True)
class Request:
    """Files, judge and sample of a check."""

    answers: str
    """The file of the answers that people judged."""
    open_judge: Callable[[], LanguageModel]
    """Opens the judge; called once the files were read, and only where a model judges."""
    prompts: PromptSet
    references: str | None = None
    """The file of the benchmark's questions."""
    sample: int | None = None
    seed: int = 0
    flags: Mapping[str, bool] = field(default_factory=dict)
    """The check's own options by name."""

    def questions(self) -> str:
        """The file of the questions."""
        if self.references is None:
            raise InputError("--references FILE is needed, with the questions of the benchmark")
        return self.references

    @property
    def drawn_by(self) -> int | None:
        """The seed of the sample; None where all answers are judged."""
        return None if self.sample is None else self.seed

    def about(self, model: LanguageModel) -> dict[str, Any]:
        """The description of a language model as judge, in every check's report."""
        return {
            "judge": model.name,
            "endpoint": model.endpoint,
            "prompts": self.prompts.name,
            "sample_seed": self.drawn_by,
        }


class JudgeCheck(ABC, Generic[_R, _V, _F]):
    """The parts of a check that differ between benchmarks; made from a :class:`Request`."""

    rows: Sequence[_R]
    """The answers that people judged, at least one."""
    judge: Mapping[str, Any]
    """Identity of this judge, as plain JSON; every row of its file begins with it."""
    key_fields: tuple[str, ...]
    """The fields of a row that say which answer it is of."""
    holds: str
    """Name of a row in errors, such as ``a rating of this check``."""

    @abstractmethod
    def key(self, row: _R) -> Sequence[Any]:
        """The values of the key fields, as plain JSON."""

    @abstractmethod
    def kept(self, row: _R, said: _V, usage: Usage) -> Mapping[str, Any]:
        """The further fields of a row."""

    @abstractmethod
    def read(self, row: Mapping[str, Any]) -> _V:
        """The judgement in a row."""

    @abstractmethod
    def failure(self, said: _V) -> str | None:
        """Why an answer could not be judged, or not in whole; None where it was."""

    @abstractmethod
    async def ask(self, row: _R, meter: UsageMeter) -> _V:
        """Judge an answer."""

    @abstractmethod
    def agreement(self, judged: Sequence[_V]) -> _F:
        """The figures, of one judgement a row, in the same order."""

    @abstractmethod
    def about(self, judged: Sequence[_V]) -> dict[str, Any]:
        """Judge and data behind the figures, as plain JSON."""

    @abstractmethod
    def lines(self, about: Mapping[str, Any], figures: _F) -> Iterator[str]:
        """Both for a person at a terminal."""


class CheckResult(NamedTuple):
    """The result of a check."""

    shown: dict[str, Any]
    """All of it, as plain JSON."""
    text: str
    """The same for a person at a terminal."""
    failure: str | None
    """Why not a single answer could be judged; None where one was."""


async def run_check(
    check: JudgeCheck[_R, _V, _F],
    out: str | Path | None = None,
    *,
    progress: JudgingProgress = lambda done, total: nullcontext(bool),
) -> CheckResult:
    """Judge all answers of a check, at the same time, and compare with people.

    Args:
        check: The benchmark's.
        out: A file that judgements are appended to as they come. Those that it holds are not asked
            for again, but for failures.
        progress: Shows how far it is.
    """
    spent = Usage()
    with nullcontext() if out is None else Judgements(out, check) as file:
        known = [file.known(row) if file else None for row in check.rows]
        missing = [row for row, had in zip(check.rows, known, strict=True) if had is None]
        with progress(len(known) - len(missing), len(known)) as advance:

            async def judged(row: _R) -> _V:
                nonlocal spent
                meter = UsageMeter()
                said = await check.ask(row, meter)
                if file:
                    file.keep(row, said, meter.usage)
                spent += meter.usage
                advance(check.failure(said) is not None)
                return said

            asked = iter(await at_once([partial(judged, row) for row in missing]))
    said = [next(asked) if had is None else had for had in known]
    about, figures = check.about(said), check.agreement(said)
    failures = [check.failure(one) for one in said]
    return CheckResult(
        {**about, **figures.to_json(), "usage": spent.to_json()},
        "\n".join(
            [
                *check.lines(about, figures),
                f"\n{spent.calls} calls and {spent.cached_calls} replies from the cache;"
                f" {spent.input_tokens} input and {spent.output_tokens} output tokens",
            ]
        ),
        failures[0] if all(failures) else None,
    )


def drawn(
    rows: Sequence[_R], size: int, seed: int, *, purpose: str, name: Callable[[_R], str]
) -> tuple[_R, ...]:
    """Draw answers by seed, without replacement, and keep their order.

    A larger sample with the same seed holds the smaller one.

    Args:
        rows: The answers.
        size: How many.
        seed: Of the draw.
        purpose: Tells this draw from others of the same seed.
        name: What an answer is drawn by, different for each.
    """
    if not 1 <= size <= len(rows):
        raise InputError(f"sample is {size}; there are {len(rows)} answers, give 1 to {len(rows)}")
    names = sorted(map(name, rows), key=lambda one: lot(purpose, seed, one))[:size]
    return tuple(row for row in rows if name(row) in names)


class Judgements(Generic[_R, _V]):
    """The judgements of a check as JSON lines, of one judge or several; a context manager.

    A row belongs to its judge: a model at an endpoint with what it is asked. Those of others stay
    in the file and are not taken for its own.
    """

    def __init__(self, path: str | Path, check: JudgeCheck[_R, _V, _F]) -> None:
        """Read what the file holds, and open it for more; half a line at its end is cut off.

        Args:
            path: The file; its folder is made where there is none.
            check: Whose judge it is.
        """
        self._check = check
        self._known: dict[str, _V] = {}
        start = f'{{"{next(iter(check.judge))}": '.encode()
        file = Path(path)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{file}: cannot be written ({error.strerror})") from None
        self._file = RecordFile(
            file, is_half=lambda line: line.text.startswith(start[: len(line.text)])
        )
        try:
            for line in self._file.lines:
                self._take(line.text, f"{file}, row {line.number}")
            self._file.resume()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._file.close()

    def known(self, row: _R) -> _V | None:
        """This judge's judgement of an answer; None where there is none, or only a failure."""
        return self._known.get(json.dumps([*self._check.key(row)]))

    def keep(self, row: _R, said: _V, usage: Usage = Usage()) -> None:  # noqa: B008 - immutable
        """Keep a judgement; it is with the operating system when this returns."""
        check = self._check
        key = dict(zip(check.key_fields, check.key(row), strict=True))
        fields = {**check.judge, **key, **check.kept(row, said, usage)}
        self._file.append(json_line(fields))

    def _take(self, line: bytes, where: str) -> None:
        """Take in a row, where it is of this judge."""
        check = self._check
        try:
            row: dict[str, Any] = json.loads(line)
            own = {name: row[name] for name in check.judge} == check.judge
            key = json.dumps([row[name] for name in check.key_fields])
            said = check.read(row)
            if own and check.failure(said) is None:
                self._known[key] = said
        except (ValueError, TypeError, LookupError, RecursionError):
            raise InputError(f"{where}: not {check.holds}; give another file with --out") from None
