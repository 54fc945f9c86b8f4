"""Pairs of public inference sets, so that a model keeps what holds for any sentence."""

import gzip
import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from conflictscore.retrieval.ranking import BM25Ranker
from training.human import lot
from training.pairs import Pair
from training.sentences import content_words, coverage, silent_runs

_TAKEN = {
    "arc": 2500, "begin_wow": 2500, "cad_snli": 6000, "check_covid": 700, "check_covid.dev": 200,
    "check_covid.test": 200, "citint": 1500, "conflictqa_strategyqa": 9000, "contractnli": 900,
    "contractnli.dev": 1100, "evidence_inference_v2": 1500, "fever_nli.dev": 9000,
    "fever_nli.test": 10_000, "fever_symmetric": 1500, "feverous_text.dev": 3000,
    "fm2_passage.dev": 1200, "fm2_passage.test": 1400, "fnc1": 3000, "infotabs": 6000,
    "mnli_ni": 12_000, "mnli_subset.dev": 12_000, "newprotocols_wiki": 20_000,
    "newprotocols_wiki.dev": 6000, "semiauto_wiki": 6000, "snli_18k": 10_000, "wanli_15k": 15_000,
    "wice_claim.dev": 200, "wice_claim.test": 200,
}  # fmt: skip
"""Sets to learn from and how many pairs of each at most. Those without IRRELEVANT are among them
for what they have of long passages; :func:`topical_pairs` holds most of their claims against
passages that decide nothing."""
_NOT_LEARNED = {("semiauto_wiki", "CONTRADICTS")}
"""A label of a set that does not mean what it means here: there, sentences on different things."""
_MOST_WORDS = 400
_TOPICAL = {
    "check_covid": 700, "feverous_text.dev": 2000, "fever_nli.dev": 3000, "fever_nli.test": 3000,
    "fm2_passage.dev": 1200, "fm2_passage.test": 1400, "wice_claim.dev": 200,
    "wice_claim.test": 200,
}  # fmt: skip
"""Sets whose claims are held against passages that say nothing of them, and of how many."""
_NEAR, _OWN = 2, 3
"""Passages of others, and parts of its own document, that a claim is held against, at most."""
_LOOKED_AT = 30
"""Passages that come nearest to a claim, the first of which are taken."""
_LONGEST = 3000
_FEWEST_WORDS = 5
"""Content words of a claim: a passage can rule out a shorter one with a single word of it."""
_RELATED = 0.25
"""Share of a claim's words that a passage on its topic has."""


def general_files(folders: list[Path]) -> list[Path]:
    """The compressed files under folders, in a fixed order."""
    return sorted(path for one in folders if one.is_dir() for path in one.rglob("*.jsonl.gz"))


def general_pairs(files: Sequence[Path]) -> Iterator[Pair]:
    """Training pairs, at most so many of a set, drawn by the hash of their words."""
    for path in files:
        name = path.name.removesuffix(".jsonl.gz")
        if name in _TAKEN:
            yield from _drawn(path, name, _TAKEN[name])


def topical_pairs(files: Sequence[Path]) -> Iterator[Pair]:
    """Claims with passages on their topic that neither bear them out nor rule them out.

    The passages are what is left of a claim's own document without the sentences that share much
    with it, and what comes nearest to it, by BM25, among what is left of the others' documents.
    """
    taken = [(path, path.name.removesuffix(".jsonl.gz")) for path in files]
    pairs = [
        pair
        for path, name in taken
        if name in _TOPICAL
        for pair in _drawn(path, name, _TOPICAL[name], most_words=_LONGEST)
        if len(content_words(pair.claim)) >= _FEWEST_WORDS
    ]
    pieces = list(dict.fromkeys(run for pair in pairs for run in silent_runs(pair.document, "")))
    ranker = BM25Ranker(pieces)
    for pair in pairs:
        own = silent_runs(pair.document, pair.claim)
        order = np.argsort(-ranker.scores(pair.claim), kind="stable")[:_LOOKED_AT]
        near = (pieces[place] for place in order if pieces[place] not in pair.document)
        apart = (piece for piece in near if silent_runs(piece, pair.claim) == [piece])
        for kind, passages in (("own", own[:_OWN]), ("near", islice(apart, _NEAR))):
            for text in passages:
                if coverage(pair.claim, text) >= _RELATED:
                    yield Pair(pair.claim, text, "IRRELEVANT", pair.source, f"topical_{kind}")


def _drawn(path: Path, name: str, most: int, most_words: int = _MOST_WORDS) -> Iterator[Pair]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        chosen = sorted(lines, key=lot)
    found = (Pair(**json.loads(line), source=name, kind="people") for line in chosen)
    whole = (
        pair
        for pair in found
        if pair.claim.strip() and pair.document.strip() and (name, pair.label) not in _NOT_LEARNED
    )
    yield from islice((pair for pair in whole if len(pair.document.split()) <= most_words), most)
