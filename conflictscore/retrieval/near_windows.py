"""Finds the parts of a long text that are nearest to a query.

If a text is too long for a model, it is cut into windows. For each query, the windows that share
the most words with that query are shown (BM25). The whole text is therefore searched, so the
decisive line may be anywhere in it.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice, pairwise, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from conflictscore.retrieval.token_windows import LEAST_TOKENS, MARK, TokenWindow, cut_windows
from conflictscore.tokens import count_tokens

if TYPE_CHECKING:
    from conflictscore.retrieval.ranking import BM25Ranker

_FEWEST_WINDOWS = 6
"""A window uses at most one sixth of the token budget, so that windows from several places fit."""
_MOST_TOKENS = 384  # Maximum number of tokens in a window; a larger budget shows more windows.
_OVERLAP = 4
"""Each window overlaps the previous one by a quarter, so that a sentence at the boundary is
complete in one of the two windows."""


@lru_cache(maxsize=1)
def _mark_tokens() -> int:
    """Return the number of tokens in the marker between two parts.

    The tokens are counted on first use, since counting loads a table.
    """
    # next to the marker, the text on each side may need one more token
    return count_tokens(MARK) + 2


class NearParts(NamedTuple):
    """The parts of a text that are shown to the model, and the text that is not shown."""

    text: str
    """The shown parts in their original order, with a marker between parts that are not
    adjacent."""
    chars: int
    """The number of characters in the shown parts."""
    rest: str
    """The parts that are not shown, in order, with the same marker between them."""
    is_complete: bool
    """Whether each query shares at least one word with the text.

    If a query has no words in common with the text, for example because the two are in different
    languages, the relevant part cannot be determined.
    """


class _CutText(NamedTuple):
    """The windows of a text, with an index that ranks them for a query."""

    windows: tuple[TokenWindow, ...]
    ranker: "BM25Ranker"


def near(*queries: str) -> Callable[[str, int], NearParts | None]:
    """Return a function that chooses the parts of a text nearest to the queries."""
    return lambda text, tokens: near_parts(text, queries, tokens)


def near_parts(text: str, queries: Sequence[str], tokens: int) -> NearParts | None:
    """Return the parts of a text that are nearest to the queries.

    The result is None if the token budget is too small. The result is also None if no query shares
    a word with the text, since no part is then better than another.

    The best window for each query is taken first, then the second best, until the budget is used
    up. The text is cut and indexed once for all queries, and the time is linear in its length.

    Args:
        text: The text, which has more than ``tokens`` tokens.
        queries: The queries, such as claims.
        tokens: The token budget.
    """
    size = min(_MOST_TOKENS, tokens // _FEWEST_WINDOWS)
    if size < LEAST_TOKENS:  # a small budget is used for a single window
        size = tokens
    if size < LEAST_TOKENS:
        return None
    cut = _cut_once(text, size)
    scores = [cut.ranker.scores(query).tolist() for query in queries]
    met = [max(own) > 0 for own in scores]
    if not any(met):
        return None
    chosen = set[int]()
    room = tokens
    for number in _by_turns([_best_first(own) for own in scores]):
        if number in chosen:
            continue
        room -= size + _mark_tokens()
        if room < 0 and chosen:  # a single window needs no marker, so it always fits
            break
        chosen.add(number)
    spans = list(_merged([cut.windows[number] for number in sorted(chosen)]))
    shown = MARK.join(text[start:end].strip() for start, end in spans)
    chars = sum(end - start for start, end in spans)
    return NearParts(shown, chars, _rest(text, spans), is_complete=all(met))


def _rest(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return the text without these spans, with a marker between the remaining parts."""
    # every second pair of neighbouring offsets is a shown part
    between = pairwise([0, *chain.from_iterable(spans), len(text)])
    return MARK.join(text[start:end] for start, end in islice(between, 0, None, 2) if end > start)


# Without the lock, threads that judge different claims would cut the same text at the same time.
_cutting = threading.Lock()


def _cut_once(text: str, size: int) -> _CutText:
    """Cut a text only once, even if several claims are judged at the same time.

    The first caller cuts the text; all other callers wait for the result.
    """
    with _cutting:
        return _cut(text, size)


@lru_cache(maxsize=4)  # a few large texts; each entry holds an index
def _cut(text: str, size: int) -> _CutText:
    # importing SciPy takes a third of a second, and most texts are short
    from conflictscore.retrieval.ranking import BM25Ranker

    windows = cut_windows(text, size, size - size // _OVERLAP)
    return _CutText(tuple(windows), BM25Ranker([text[w.start : w.end] for w in windows]))


def _best_first(scores: Sequence[float]) -> list[int]:
    """Return the windows that share a word with the query, best first; ties keep their order."""
    met = (number for number, score in enumerate(scores) if score > 0)
    return sorted(met, key=lambda number: -scores[number])


def _by_turns(rankings: Sequence[Sequence[int]]) -> Iterator[int]:
    """Yield the first window of each ranking, then the second of each, and so on."""
    for numbers in zip_longest(*rankings):
        yield from (number for number in numbers if number is not None)


def _merged(windows: Sequence[TokenWindow]) -> Iterator[tuple[int, int]]:
    """Yield the spans of the windows, merging windows that touch."""
    start, end = windows[0]
    for window in windows[1:]:
        if window.start > end:
            yield start, end
            start = window.start
        end = window.end
    yield start, end
