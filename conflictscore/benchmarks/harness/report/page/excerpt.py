"""The part of a document that is shown: around the passage that the judge quoted."""

import re
from dataclasses import dataclass

from conflictscore.benchmarks.harness.report.page.html import shown

__all__ = ["Excerpt", "excerpts"]

_NEAR = 240
"""Characters shown on either side of a passage at first."""
_FAR = 600
"""The same, once the reader asks for more."""
_LONGEST_PASSAGE = 1200
_ENDS = "\"'“”‘’… ."  # what a judge puts around a quotation


@dataclass(frozen=True)
class Excerpt:
    """A stretch of a document with a passage in it."""

    before: str
    passage: str
    """Empty where nothing is marked; then all stands in ``before``."""
    after: str
    starts_inside: bool
    """Whether the document begins earlier."""
    ends_inside: bool
    """Whether the document goes on."""

    @property
    def length(self) -> int:
        """Characters of the document that it holds."""
        return len(self.before) + len(self.passage) + len(self.after)


def excerpts(text: str, snippet: str | None) -> tuple[Excerpt, Excerpt | None]:
    """What is shown of a document at first, and the longer stretch for who asks for more.

    Args:
        text: The document.
        snippet: The judge's quotation. It is looked for with white space and case folded, and
            without the quotation marks and dots around it.

    Returns:
        The stretch around the quotation, or the beginning of the document where there is none or
        it does not stand there; and None where there is no more to show.
    """
    whole = shown(text)
    start, end = _find(whole, shown(snippet)) if snippet else (0, 0)
    near, far = (_around(whole, start, end, reach) for reach in (_NEAR, _FAR))
    return near, far if far.length > near.length else None


def _around(text: str, start: int, end: int, reach: int) -> Excerpt:
    end = min(end, start + _LONGEST_PASSAGE)
    if start == end:
        reach *= 2
    first, last = max(0, start - reach), min(len(text), end + reach)
    return Excerpt(
        before=text[first:start] if start != end else text[first:last],
        passage=text[start:end],
        after=text[end:last] if start != end else "",
        starts_inside=first > 0,
        ends_inside=last < len(text),
    )


def _find(text: str, snippet: str) -> tuple[int, int]:
    words = snippet.strip(_ENDS).casefold().split()
    folded = text.casefold()
    found = re.search(r"\s+".join(map(re.escape, words)), folded) if words else None
    if found is None:
        return 0, 0
    if len(folded) == len(text):
        return found.span()
    # a letter such as ß is longer when its case is folded
    origin = [index for index, letter in enumerate(text) for _ in letter.casefold()]
    return origin[found.start()], origin[found.end() - 1] + 1
