"""Recall of retrieval with and without the folding of look-alike characters.

All passages of RAMDocs, WikiContradict and CONFLICTS are one corpus a set; a question
finds its own passages among those of all questions. The second table has the same passages as other
programs write them: decomposed accents, ligatures, soft hyphens, other dashes and quotation marks,
full-width digits::

    python -m measurements.folding_recall --data ../shared/data
"""

import argparse
import json
import random
import re
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from conflictscore.retrieval import ranking
from conflictscore.scripts import fold

_TOP = 10
_SEED = 7


def main() -> None:
    """Print recall at 10 for each set, corpus and way of comparing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, required=True, help="the folder of benchmark data")
    sets = _sets(parser.parse_args().data)
    for name, passages in sets.items():
        rng = random.Random(_SEED)  # noqa: S311 - a sample, not a secret
        written = {question: [_rewritten(t, rng) for t in texts] for question, texts in passages}
        for corpus, texts in (("as it is", dict(passages)), ("rewritten", written)):
            plain = _recall(texts, str.lower)
            folding = _recall(texts, fold)
            print(
                f"{name}, {corpus}: {len(texts)} questions,"
                f" {sum(map(len, texts.values()))} passages;"
                f" recall@{_TOP} lower case {plain:.4f}, folded {folding:.4f}"
            )


def _recall(texts: dict[str, list[str]], folding: Callable[[str], str]) -> float:
    """Mean share of a question's own passages among the first ten, of what ten can hold."""
    corpus = [text for of_question in texts.values() for text in of_question]
    owner = [question for question, of_question in texts.items() for _ in of_question]
    with patch.object(ranking, "fold", folding):
        ranker = ranking.BM25Ranker(corpus)
        shares = []
        for question, of_question in texts.items():
            best = np.argsort(-ranker.scores(question), kind="stable")[:_TOP]
            found = sum(owner[place] == question for place in best)
            shares.append(found / min(_TOP, len(of_question)))
    return float(np.mean(shares))


def _rewritten(text: str, rng: random.Random) -> str:
    """A text as another program writes it."""
    text = unicodedata.normalize("NFD", text).replace("'", "\u2019").replace("fi", "\ufb01")
    text = re.sub(r"(?<=\w)-(?=\w)", "\u2011", text)
    words = text.split(" ")
    for place, word in enumerate(words):
        chance = rng.random()
        if word.isdigit() and chance < 0.5:
            words[place] = "".join(chr(ord(digit) + 0xFEE0) for digit in word if digit.isascii())
        elif len(word) > 8 and chance < 0.3:
            words[place] = f"{word[:4]}\u00ad{word[4:]}"
    return " ".join(words)


def _sets(folder: Path) -> dict[str, list[tuple[str, list[str]]]]:
    return {
        "RAMDocs": [
            (row["question"], [one["text"] for one in row["documents"]])
            for row in _rows(folder / "ramdocs/ramdocs.jsonl")
        ],
        "WikiContradict": [
            (row["question"], [row["context1"], row["context2"]])
            for row in _rows(folder / "wikicontradict/questions.jsonl")
        ],
        "CONFLICTS": [
            (row["query"], [one["text"] for one in row["docs"]])
            for row in _rows(folder / "conflicts/conflicts.jsonl")
        ],
    }


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


if __name__ == "__main__":
    main()
