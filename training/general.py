"""Makes pairs from public inference sets, so that a model keeps its general ability."""

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
"""Sets to learn from, each with the maximum number of its pairs. Sets without IRRELEVANT are
included for their long passages; :func:`topical_pairs` joins most of their claims with passages
that decide nothing."""
_NOT_LEARNED = {("semiauto_wiki", "CONTRADICTS")}
"""Labels that are not learned, each with its set. In these sets, the label has a different meaning:
it marks sentences about different things."""
_MOST_WORDS = 400  # words of a passage; longer ones would fill most of a batch with one pair
_TOPICAL = {
    "check_covid": 700, "feverous_text.dev": 2000, "fever_nli.dev": 3000, "fever_nli.test": 3000,
    "fm2_passage.dev": 1200, "fm2_passage.test": 1400, "wice_claim.dev": 200,
    "wice_claim.test": 200,
}  # fmt: skip
"""Sets whose claims are paired with passages that do not bear on them, and the maximum number of
these claims."""
_NEAR, _OWN = 2, 3
"""Maximum number of passages of other claims' documents, and of parts of its own document, that are
paired with a claim."""
_LOOKED_AT = 30
"""Number of passages that are considered for a claim: the nearest ones."""
_LONGEST = 3000  # words of a document that is divided into passages
_FEWEST_WORDS = 5
"""Minimum number of content words of a claim; a single word of a passage can contradict a shorter
claim."""
_RELATED = 0.25
"""A passage is on the topic of a claim if it has at least this share of the claim's words."""


def general_files(folders: list[Path]) -> list[Path]:
    """Return the compressed files in folders, in a fixed order."""
    return sorted(path for one in folders if one.is_dir() for path in one.rglob("*.jsonl.gz"))


def general_pairs(files: Sequence[Path]) -> Iterator[Pair]:
    """Yield training pairs, up to a number per set; the hash of their words decides which."""
    for path in files:
        name = path.name.removesuffix(".jsonl.gz")
        if name in _TAKEN:
            yield from _drawn(path, name, _TAKEN[name])


def topical_pairs(files: Sequence[Path]) -> Iterator[Pair]:
    """Yield claims with passages on their topic that neither support nor contradict them.

    There are two kinds of such passages. The first is a claim's own document without the sentences
    that share many words with the claim. The second is taken from the documents of other claims:
    the passages that are nearest to the claim by BM25, but share equally few words with it.
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
