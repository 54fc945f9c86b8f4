"""Lines of a PDF page: runs that stand beside each other, with marks before raised ones."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from conflictscore.retrieval.reading.pdf_runs import GAP, TextRun

_SMALLER = 0.85
"""Raised and lowered characters are smaller than those beside them by so much."""
_SHIFTED = 0.08
"""And so much of the size above or below their line."""
_LEVEL = 0.02
"""Part of the size by which cells of a row differ in height."""
_NUMBER = re.compile(r"[\d+\u2212-]")
_APART = 2.0
"""Sizes between two runs of a line from which they are no neighbours, whatever pdfium says."""


class Segment(NamedTuple):
    """A part of a line without a wide gap; lengths in points."""

    text: str
    x: float
    end: float
    y: float
    size: float


@dataclass
class _Part:
    run: TextRun
    mark: str = ""
    spaced: bool = False
    apart: bool = False


def lines(runs: Iterable[TextRun]) -> Iterator[list[Segment]]:
    """The lines of a page, each as its segments from left to right.

    A number or sign that is raised or lowered is marked, as in 10^6, and so is a single letter, as
    in x^n or at a note; several letters, as in 1st, are not.
    """
    parts: list[_Part] = []
    base: TextRun | None = None
    shifted = False
    for run in runs:
        goes_on, moved = _beside(base, run, shifted=shifted)
        # pdfium breaks the line around what is raised, too, and not behind a divided word
        if (run.breaks or _is_below(base, run)) and not goes_on:
            if parts:
                yield _segments(parts)
            parts, base, shifted = [], None, False
        alone = parts[-1] if shifted and parts and len(parts[-1].run.text) == 1 else None
        if alone and base and not moved and alone.run.text.isalpha():
            alone.mark = _mark(alone.run, base)
        part = _Part(run, spaced=run.spaced)
        if base and len(parts) == 1 and not (run.spaced or run.breaks) and _is_note(base, run):
            parts[0].mark, part.spaced = "^", True
        if parts:
            part.apart = not -_APART * run.size < run.x - parts[-1].run.end <= GAP * run.size
        if moved and not shifted and _NUMBER.match(run.text):
            part.mark = _mark(run, base) if base else ""
        parts.append(part)
        shifted = moved
        base = base if moved else run
    if parts:
        last = parts[-1]
        if shifted and base and len(last.run.text) == 1 and last.run.text.isalpha():
            last.mark = _mark(last.run, base)
        yield _segments(parts)


def _segments(parts: list[_Part]) -> list[Segment]:
    segments: list[Segment] = []
    for part in parts:
        run = part.run
        if segments and not part.apart:
            before = segments[-1]
            text = f"{before.text}{' ' * part.spaced}{part.mark}{run.text}"
            segments[-1] = before._replace(text=text, end=run.end)
        else:
            segments.append(Segment(part.mark + run.text, run.x, run.end, run.y, run.size))
    return segments


def _is_note(first: TextRun, run: TextRun) -> bool:
    """Whether the first run of a line is the raised number of a note."""
    raised = first.size and (first.y - run.y) / first.size > _SHIFTED
    return bool(raised and first.text.isalnum() and first.size < _SMALLER * run.size)


def _mark(run: TextRun, base: TextRun) -> str:
    return "^" if run.y > base.y else "_"


def _is_below(base: TextRun | None, run: TextRun) -> bool:
    return base is not None and run.x < base.x and base.y - run.y > base.size / 2


def _beside(base: TextRun | None, run: TextRun, *, shifted: bool) -> tuple[bool, bool]:
    """Whether a run stands on another's line in spite of a break, and whether it is raised.

    ``shifted`` says whether runs between the two are raised or lowered.
    """
    if base is None or run.x <= base.x:
        return False, False
    step = abs(run.y - base.y) / base.size
    moved = run.size < _SMALLER * base.size and _SHIFTED < step < 1
    is_level = step < _LEVEL and run.x > base.end
    return moved or is_level or (shifted and step < _SHIFTED), moved
