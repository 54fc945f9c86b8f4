"""How long the runs page waits for its lists, by how many runs there are.

    python -m measurements.runs_page --runs 1000 10000

fills a file of runs with copies of one run of about 50 kB, and prints the milliseconds (median of
nine) that the service's store takes for the first page, the last page, a search for words that no
run has, and the totals.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from conflictscore.middleware.service.kept_runs import KeptRuns, RunFilter
from conflictscore.reviewing.kept_reviews import KeptReviews, counts

__all__ = ["main"]

_PAGE = 30
_TIMES = 9


def _run(number: int) -> dict[str, Any]:
    words = " ".join(f"word{place}" for place in range(number % 7, 900))
    return {
        "created": number,
        "status": ("scored", "kept", "corrected")[number % 3],
        "flipped": number % 3 == 2,
        "question": f"What does the source say of matter {number}?",
        "answer": words[:1500],
        "documents": [{"number": n, "title": f"Source {n}", "text": words} for n in range(1, 7)],
    }


def _milliseconds(work: Callable[[], object]) -> float:
    def once() -> float:
        started = time.perf_counter()
        work()
        return (time.perf_counter() - started) * 1000

    return statistics.median(once() for _ in range(_TIMES))


def _totals(kept: KeptRuns, sought: RunFilter, reviews: KeptReviews) -> object:
    return counts(kept.listed(sought, -1)[1], reviews)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--runs", type=int, nargs="+", default=[1000, 10_000], metavar="N")
    print(
        "| runs | first page | last page | search, nothing found | totals |\n|---|---|---|---|---|"
    )
    for most in parser.parse_args().runs:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "runs.sqlite"
            kept = KeptRuns(most=most, most_bytes=1 << 34, path=path)
            for number in range(most):
                kept.begin(str(number), "owner")
                kept.finish(str(number), _run(number))
            reviews, mine = KeptReviews(path), RunFilter(owner="owner")
            nothing = mine._replace(words="nowhere to be found")
            ways: list[Callable[[], object]] = [
                partial(kept.listed, mine, _PAGE),
                partial(kept.listed, mine, _PAGE, most - _PAGE),
                partial(kept.listed, nothing, _PAGE),
                partial(_totals, kept, mine, reviews),
            ]
            figures = " | ".join(f"{_milliseconds(way):.1f} ms" for way in ways)
            kept.close()
        print(f"| {most:,} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
