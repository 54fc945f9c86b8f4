"""Finds the parts of a long text that are nearest to a query.

A text that is too long for a model is cut into windows, and the windows that share the most words
with each query are shown (BM25). So the whole text is searched, wherever the decisive line is.
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
"""Largest share of the room for a window, so that several places can be shown."""
_MOST_TOKENS = 384  # maximum tokens of a window, however much room there is
_OVERLAP = 4
"""A window repeats a quarter of the previous one."""


@lru_cache(maxsize=1)
def _mark_tokens() -> int:
    """Tokens of the mark between parts.

    They are counted on demand, since counting loads a table.
    """
    return count_tokens(MARK) + 2


class NearParts(NamedTuple):
    """The parts of a text that are shown."""

    text: str
    """The parts in the text's order, with a mark between parts that are not adjacent."""
    chars: int
    """The number of characters of the text in these parts."""
    rest: str
    """The rest of the text, in order, with the same mark between its parts."""
    is_complete: bool
    """Whether each query shares a word with the text.

    If a query does not, for example because it is in another language, nothing shows which part is
    relevant to it.
    """


class _CutText(NamedTuple):
    """The windows of a text, with an index that ranks them by a query."""

    windows: tuple[TokenWindow, ...]
    ranker: "BM25Ranker"


def near(*queries: str) -> Callable[[str, int], NearParts | None]:
    """Choose the parts of a text nearest to the queries, while fitting a prompt."""
    return lambda text, tokens: near_parts(text, queries, tokens)


def near_parts(text: str, queries: Sequence[str], tokens: int) -> NearParts | None:
    """The parts of a text nearest to the queries.

    None if there is no room, or no query shares a word with the text, so that its beginning is as
    good as any other part.

    The best window of each query is taken first, then the second best, until the room is used. Time
    is linear in the length of the text; it is cut and indexed once for all queries.

    Args:
        text: The text, with more tokens than ``tokens``.
        queries: The queries, such as claims.
        tokens: The room in tokens.
    """
    size = min(_MOST_TOKENS, tokens // _FEWEST_WINDOWS)
    if size < LEAST_TOKENS:
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
        if room < 0 and chosen:
            break
        chosen.add(number)
    spans = list(_merged([cut.windows[number] for number in sorted(chosen)]))
    shown = MARK.join(text[start:end].strip() for start, end in spans)
    chars = sum(end - start for start, end in spans)
    return NearParts(shown, chars, _rest(text, spans), is_complete=all(met))


def _rest(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The text without these spans, with a mark between the remaining parts."""
    between = pairwise([0, *chain.from_iterable(spans), len(text)])
    return MARK.join(text[start:end] for start, end in islice(between, 0, None, 2) if end > start)


_cutting = threading.Lock()


def _cut_once(text: str, size: int) -> _CutText:
    """If several claims are judged at once, the first cuts the text and the others wait."""
    with _cutting:
        return _cut(text, size)


@lru_cache(maxsize=4)
def _cut(text: str, size: int) -> _CutText:
    # SciPy takes a third of a second, and most texts are short
    from conflictscore.retrieval.ranking import BM25Ranker

    windows = cut_windows(text, size, size - size // _OVERLAP)
    return _CutText(tuple(windows), BM25Ranker([text[w.start : w.end] for w in windows]))


def _best_first(scores: Sequence[float]) -> list[int]:
    """The windows that share a word with the query, best first; on a tie, the earlier one first."""
    met = (number for number, score in enumerate(scores) if score > 0)
    return sorted(met, key=lambda number: -scores[number])


def _by_turns(rankings: Sequence[Sequence[int]]) -> Iterator[int]:
    for numbers in zip_longest(*rankings):
        yield from (number for number in numbers if number is not None)


def _merged(windows: Sequence[TokenWindow]) -> Iterator[tuple[int, int]]:
    """The spans of windows; windows that touch are merged."""
    start, end = windows[0]
    for window in windows[1:]:
        if window.start > end:
            yield start, end
            start = window.start
        end = window.end
    yield start, end
