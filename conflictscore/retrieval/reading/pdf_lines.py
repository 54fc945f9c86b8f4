"""Builds the lines of a PDF page from its runs, and marks superscripts and subscripts.

The limits in this module were chosen by hand. ``measurements.real_files`` shows their effect on
real PDFs (docs/findings/reading.md).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from conflictscore.retrieval.reading.pdf_positions import GAP, SPACE
from conflictscore.retrieval.reading.pdf_runs import TextRun, Walls, divides

_SMALLER = 0.85
"""Maximum size of superscripts and subscripts, relative to the text beside them."""
_SHIFTED = 0.08
"""Minimum shift of superscripts and subscripts from their line's height, relative to font size."""
_LEVEL = 0.02
"""Maximum difference in height between the cells of a row, relative to the font size."""
_NUMBER = re.compile(r"[\d+\u2212-]|[^\W\d_]{1,3}[\d+\u2212*/-]")
"""Matches the start of a superscript or subscript that is a number or a term (n+1)."""
_BRACKET = re.compile(r"\([^()]{0,20}[\d+\u2212*/-]")
"""Matches the start of a superscript in brackets. Lowered brackets are not matched, since they may
be ordinary brackets of a larger size.
"""
_APART = 2.0
"""Maximum overlap, relative to the font size, of runs that belong to the same segment."""


Segment = TextRun
"""A part of a line without any wide gap in it: a run, or several joined runs."""


@dataclass(slots=True)
class _Part:
    """A run in a line, any "^" or "_" before it, and whether a space or a gap precedes both."""

    run: TextRun
    mark: str = ""
    spaced: bool = False
    apart: bool = False


def lines(runs: Iterable[TextRun], walls: Walls | None = None) -> Iterator[list[Segment]]:
    """Yield the lines of a page, each as a list of segments from left to right.

    ``walls`` gives the vertical table lines at a height, which divide segments.

    Superscripts and subscripts are marked with "^" and "_" if they are numbers, symbols or terms,
    as in 10^6 and x^n+1, or single letters, as in x^n or in a note mark. Raised groups of letters,
    as in 1st, are not marked.
    """
    line: TextRun | _OpenLine | None = None  # most lines have a single run
    for run in runs:
        if line is None:
            line = run
            continue
        is_joined, is_raised = _is_joined(line, run)
        if not is_joined:
            yield _closed(line)
            line = run
            continue
        line = _OpenLine(line) if isinstance(line, TextRun) else line
        line.add(run, is_raised=is_raised)
        if walls and not is_raised:
            before, part = line.parts[-2:]
            part.apart = part.apart or divides(walls(run.y), before.run.end, run.x)
    if line is not None:
        yield _closed(line)


def _is_joined(line: "TextRun | _OpenLine", run: TextRun) -> tuple[bool, bool]:
    """Return whether a run belongs to the line before it, and whether it is raised."""
    base, after_raised = (
        (line, False) if isinstance(line, TextRun) else (line.base, line.ends_raised)
    )
    goes_on = is_raised = False
    if run.x > base.x:
        goes_on, is_raised = _beside(base, run, after_raised=after_raised)
    # a break proves nothing, since pdfium also breaks lines around superscripts; without a break,
    # the run may still begin the next line, since pdfium inserts none after a hyphenated word
    return goes_on or not (run.breaks or _is_below(base, run)), is_raised


def _closed(line: "TextRun | _OpenLine") -> list[Segment]:
    return [line] if isinstance(line, TextRun) else line.close()


class _OpenLine:
    """A line under construction, to which runs are added.

    ``base`` is the last run at the line's own height. ``ends_raised`` says whether superscripts or
    subscripts follow ``base``.
    """

    def __init__(self, first: TextRun) -> None:
        self.parts = [_Part(first, spaced=first.spaced)]
        self.base = first
        self.ends_raised = False

    def add(self, run: TextRun, *, is_raised: bool) -> None:
        """Add the next run; the runs before it decide whether it is marked as raised or lowered."""
        base = self.base
        if not is_raised:
            self._mark_letter()
        part = _Part(run, spaced=run.spaced)
        # the first run may be the number of a footnote, and this run the text directly after it
        may_be_text = len(self.parts) == 1 and not (run.spaced or run.breaks)
        if may_be_text and _is_note(base, run):
            self.parts[0].mark, part.spaced = "^", True
        _separate(part, run.x - self.parts[-1].run.end, is_raised=is_raised)
        # only the first of several raised runs gets the mark
        if is_raised and not self.ends_raised and _is_marked(run, base):
            part.mark = _mark(run, base)
        self.parts.append(part)
        self.ends_raised = is_raised
        self.base = base if is_raised else run

    def close(self) -> list[Segment]:
        """Complete the line and return its segments."""
        self._mark_letter()
        return _segments(self.parts)

    def _mark_letter(self) -> None:
        """Mark a single superscript or subscript letter at the current end of the line."""
        if not self.ends_raised:
            return
        last = self.parts[-1]
        if len(last.run.text) == 1 and last.run.text.isalpha():
            last.mark = _mark(last.run, self.base)


def _separate(part: _Part, gap: float, *, is_raised: bool) -> None:
    """Record whether a part follows a gap, or white space at which pdfium breaks the line."""
    run = part.run
    part.apart = not -_APART * run.size < gap <= GAP * run.size
    part.spaced = part.spaced or (run.breaks and not is_raised and gap > SPACE * run.size)


def _segments(parts: list[_Part]) -> list[Segment]:
    segments: list[Segment] = []
    for part in parts:
        run = part.run
        if segments and not part.apart:
            before = segments[-1]
            text = f"{before.text}{' ' * part.spaced}{part.mark}{run.text}"
            segments[-1] = before._replace(text=text, end=run.end)
        else:
            segments.append(run._replace(text=part.mark + run.text) if part.mark else run)
    return segments


def _is_note(first: TextRun, run: TextRun) -> bool:
    """Whether the first run of a line is the superscript number of a footnote."""
    is_raised = first.y - run.y > _SHIFTED * first.size
    return is_raised and first.text.isalnum() and first.size < _SMALLER * run.size


def _is_marked(run: TextRun, base: TextRun) -> bool:
    return bool(_NUMBER.match(run.text) or (run.y > base.y and _BRACKET.match(run.text)))


def _mark(run: TextRun, base: TextRun) -> str:
    return "^" if run.y > base.y else "_"


def _is_below(base: TextRun, run: TextRun) -> bool:
    """Whether a run lies on a lower line, and begins no farther right than ``base``."""
    return run.x <= base.x + 1 and base.y - run.y > base.size / 2


def _beside(base: TextRun, run: TextRun, *, after_raised: bool) -> tuple[bool, bool]:
    """Return whether a run right of ``base`` is on the same line, and whether it is raised.

    Subscripts count as raised. ``after_raised`` says whether there are raised runs between ``base``
    and the run.
    """
    step = abs(run.y - base.y) / base.size
    follows = run.x > base.end - base.size / 4  # a smaller line below a heading begins farther left
    is_raised = follows and run.size < _SMALLER * base.size and _SHIFTED < step < 1
    is_level = step < _LEVEL and run.x > base.end
    # after a superscript, the line continues at its own height
    return is_raised or is_level or (after_raised and step < _SHIFTED), is_raised
