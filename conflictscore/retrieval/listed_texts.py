"""Splits search results that a tool wrote as table rows, as headed sections, or one per line.

A text is split only if all its parts have the same structure. A page that merely contains a table
or a list is therefore left whole. Time is linear in the length of the text.
"""

import csv
import re
from collections.abc import Callable, Iterator, Sequence

# A Markdown heading of levels 1 to 4; deeper ones are inside a result.
_HEADING = re.compile(r"(?m)^(#{1,4})[ \t]+(\S[^\n]{0,300})$")
# Items such as "1. Title: text" and "- Title: text".
_LINE = re.compile(r"\s{0,8}(?:\(?\d{1,3}[.)]|[-*•])[ \t]+(\S[^:\n]{0,80}): (\S.*)")
# The line below the head of a Markdown table: "| --- | :-: |".
_RULE = re.compile(r"[\s|:-]+")
# A part with fewer words than this contains no statement that could be labelled.
_LEAST_WORDS = 4
_DELIMITERS = (",", "\t", ";")


def listed_parts(text: str, is_content: Callable[[str], bool]) -> list[str]:
    """Return the results in a text, each with its title on a separate line.

    The list is empty if the text has fewer than two results.

    Args:
        text: The text that a search returned.
        is_content: Returns whether a column with this name contains the text of a result.
    """
    for read in (_table, _delimited, _headed, _lines):
        parts = list(read(text, is_content))
        if len(parts) > 1 and all(len(part.split()) >= _LEAST_WORDS for part in parts):
            return parts
    return []


def _rows(
    head: Sequence[str], rows: Sequence[Sequence[str]], is_content: Callable[[str], bool]
) -> Iterator[str]:
    """Yield each row's text after the row's other cells, if the header names a text column."""
    column = next((n for n, name in enumerate(head) if is_content(name.strip().casefold())), None)
    if column is None or any(len(row) != len(head) for row in rows):
        return
    for row in rows:
        others = ", ".join(
            cell.strip() for n, cell in enumerate(row) if n != column and cell.strip()
        )
        yield f"{others}\n{row[column].strip()}".strip()


def _table(text: str, is_content: Callable[[str], bool]) -> Iterator[str]:
    """Yield the rows of a Markdown table."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    # a header, the rule below it, and at least two rows; a single row is one text
    if len(lines) < 4 or not lines[0].startswith("|") or not _RULE.fullmatch(lines[1]):
        return
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    if all(line.startswith("|") for line in lines):
        yield from _rows(cells[0], cells[2:], is_content)


def _delimited(text: str, is_content: Callable[[str], bool]) -> Iterator[str]:
    """Yield the rows below a header, split at commas, tabs or semicolons."""
    head, _, rest = text.strip().partition("\n")
    # a name of a column may contain another sign, as in "title<tab>text, in full"
    delimiter = max(_DELIMITERS, key=head.count)
    if delimiter not in head or not rest:
        return
    try:
        [names] = csv.reader([head], delimiter=delimiter)
        rows = [row for row in csv.reader(rest.splitlines(), delimiter=delimiter) if row]
    except csv.Error:  # for example, a cell is longer than the csv module allows
        return
    yield from _rows(names, rows, is_content)


def _headed(text: str, is_content: Callable[[str], bool]) -> Iterator[str]:
    """Yield results under headings of the same level; no text may precede the first heading."""
    marks = list(_HEADING.finditer(text))
    level = marks[0][1] if marks else ""
    marks = [match for match in marks if match[1] == level]
    if len(marks) < 2 or text[: marks[0].start()].strip():
        return
    ends = [match.start() for match in marks[1:]] + [len(text)]
    for match, end in zip(marks, ends, strict=True):
        if body := text[match.end() : end].strip():
            yield f"{match[2].strip()}\n{body}"


def _lines(text: str, is_content: Callable[[str], bool]) -> Iterator[str]:
    """Yield results of the form ``1. name: text``, one per line."""
    matches = [_LINE.fullmatch(line) for line in text.strip().splitlines() if line.strip()]
    if all(matches):
        yield from (f"{match[1].strip()}\n{match[2].strip()}" for match in matches if match)
