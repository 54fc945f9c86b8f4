"""Chooses the pairs that a teacher labels."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from conflictscore.retrieval.ranking import BM25Ranker
from training.batches import balanced
from training.packed import COLUMNS, PARTS, Numbers, Packed, Texts
from training.pairs import LABELS, OTHERWISE

_WINDOWS = 2
"""Number of windows of a document that are used in training: those closest to the claim."""
UNLABELLED = 255
"""The label of a pair that the teacher has to label."""

_NEAR = 12
"""A crossed pair joins a claim with one of this many passages of its set: the nearest by words."""


class Drawn(NamedTuple):
    """Maximum number of pairs of each kind that a teacher labels.

    Attributes:
        human: Pairs that people labelled.
        questions: Answers to questions.
        general: Pairs of general inference sets.
        neutral: Passages on the topic of a claim that do not bear on it.
        made: Pairs made by rule, with one window, equally many per label. The rule is more reliable
            than a teacher, since it made the contents of the windows.
        crossed: Claims that people judged, each paired with a different passage of its set.
    """

    human: int = 10_000
    questions: int = 6000
    general: int = 5000
    neutral: int = 3000
    made: int = 3000
    crossed: int = 6000


def pairs_to_teach(packed: Packed, draw: Drawn, *, seed: int) -> Packed:
    """Draw the pairs for a teacher, and return them with all pairs that are measured on.

    Args:
        packed: The output of ``training.build_pairs``.
        draw: How many pairs of each kind to draw.
        seed: Decides which pairs are drawn.

    Returns:
        The pairs. Those for the teacher are in the part ``taught``, and share no windows. The array
        ``taught`` has the probabilities of pairs made by rule, and zeros for other pairs. Crossed
        pairs are unlabelled, and so are pairs of sets whose labels have a different meaning
        (``training.pairs.OTHERWISE``).
    """
    human, questions, general, neutral, made, crossed = draw
    rng = np.random.default_rng(seed)
    of_part = {part: packed.of_part(part) for part in PARTS}
    sizes = {"human": human, "questions": questions, "neutral": neutral}
    drawn = [rng.permutation(of_part[part])[:size] for part, size in sizes.items()]
    if known := min(general, len(of_part["general"])):
        drawn.append(balanced(packed, of_part["general"], known, rng))
    by_rule = of_part["synthetic"][packed.window_count[of_part["synthetic"]] == 1]
    if known := min(made, len(by_rule)):
        drawn.append(balanced(packed, by_rule, known, rng))
    measured = packed.only(of_part["validation"])
    labelled = packed.only(np.concatenate(drawn))
    otherwise = [place for place, name in enumerate(packed.sources) if name in OTHERWISE]
    label = np.where(np.isin(labelled.source, otherwise), UNLABELLED, labelled.label)
    rows = list(_crossed(packed, of_part["human"], crossed, rng))
    first, claim, source = np.array(rows, np.int64).reshape(-1, 3).T
    added = packed._replace(
        first_window=np.concatenate([labelled.first_window, first]),
        window_count=np.concatenate([labelled.window_count, np.ones_like(first)]),
        claim=np.concatenate([labelled.claim, claim]),
        label=np.concatenate([label, np.full_like(first, UNLABELLED)]),
        part=np.concatenate([labelled.part, np.full_like(first, PARTS.index("taught"))]),
        source=np.concatenate([labelled.source, source]),
    )
    both: dict[str, Any] = {
        name: np.concatenate([getattr(measured, name), getattr(added, name)]) for name in COLUMNS
    }
    return _by_rule(with_own_windows(closest_windows(packed._replace(**both), _WINDOWS)))


def _by_rule(packed: Packed) -> Packed:
    """Put all training pairs into one part; turn labels that rules gave into probabilities."""
    made = packed.of_part("synthetic")
    taught = np.zeros((len(packed.windows.ends), len(LABELS)), np.float16)
    taught[packed.first_window[made], packed.label[made]] = 1
    measured = packed.part == PARTS.index("validation")
    return packed._replace(
        part=np.where(measured, packed.part, PARTS.index("taught")), taught=taught
    )


def _crossed(
    packed: Packed, human: Numbers, size: int, rng: np.random.Generator
) -> Iterator[tuple[int, int, int]]:
    """Yield windows with claims of other documents, and their set; the same number per set."""
    sources = np.unique(packed.source[human])
    of_claim: dict[int, set[int]] = {}
    for pair in human:
        first, count = int(packed.first_window[pair]), int(packed.window_count[pair])
        of_claim.setdefault(int(packed.claim[pair]), set()).update(range(first, first + count))
    for source in sources:
        claims = np.unique(packed.claim[human[packed.source[human] == source]])
        windows = np.array(sorted(set().union(*(of_claim[int(claim)] for claim in claims))))
        ranker = BM25Ranker([_as_words(packed.windows.text(int(window))) for window in windows])
        wanted = -(-size // (len(sources) * len(claims)))
        for claim in rng.permutation(claims)[: size // len(sources)]:
            scores = ranker.scores(_as_words(packed.claims.text(int(claim))))
            order = windows[np.argsort(-scores, kind="stable")]
            near = [window for window in order if int(window) not in of_claim[int(claim)]]
            for window in rng.permutation(near[:_NEAR])[:wanted]:
                yield int(window), int(claim), int(source)


def _as_words(tokens: Numbers) -> str:
    return " ".join(f"t{token}" for token in tokens)


def with_own_windows(packed: Packed) -> Packed:
    """Return the same pairs without unused windows; training pairs get windows of their own."""
    taught = packed.part != PARTS.index("validation")
    copied: list[int] = []
    shared: dict[tuple[int, int], int] = {}
    first = np.zeros(len(packed.label), np.int64)
    spans = zip(packed.first_window, packed.window_count, taught, strict=True)
    for pair, (begin, count, own) in enumerate(spans):
        span = int(begin), int(count)
        if own or span not in shared:
            shared[span] = len(copied)
            copied += range(span[0], span[0] + span[1])
        first[pair] = shared[span]
    claims, claim = np.unique(packed.claim, return_inverse=True)
    return packed._replace(
        windows=_texts(packed.windows, copied),
        claims=_texts(packed.claims, claims),
        first_window=first,
        claim=claim,
    )


def _texts(texts: Texts, places: Sequence[int] | Numbers) -> Texts:
    found = [texts.text(int(place)) for place in places]
    return Texts(np.concatenate(found), np.cumsum([len(text) for text in found]))


def closest_windows(packed: Packed, most: int) -> Packed:
    """Return the pairs with only a few windows of each document.

    A document that takes a side usually does so in a window that shares rare tokens with the claim,
    and a model that must find the deciding window needs to distinguish such windows. Pairs that are
    measured on keep all their windows.

    Args:
        packed: All pairs.
        most: How many windows of a document to keep, at least one. The windows that share the most
            tokens with the claim are kept; a token has more weight if fewer windows have it.
    """
    weight = _weights(packed.windows)
    learned = packed.part != PARTS.index("validation")
    tokens, lengths = [packed.windows.tokens], [packed.windows.lengths()]
    first, count = packed.first_window.astype(np.int64), packed.window_count.copy()
    next_window = len(packed.windows.ends)
    for pair in np.flatnonzero(learned & (packed.window_count > most)):
        claim = np.unique(packed.claims.text(int(packed.claim[pair])))
        windows = range(int(first[pair]), int(first[pair]) + int(count[pair]))
        texts = [packed.windows.text(window) for window in windows]
        shared = [float(weight[np.intersect1d(claim, text)].sum()) for text in texts]
        kept = sorted(np.argsort(-np.array(shared), kind="stable")[:most])
        tokens += [texts[place] for place in kept]
        lengths.append(np.array([len(texts[place]) for place in kept]))
        first[pair], count[pair] = next_window, most
        next_window += most
    left = Texts(np.concatenate(tokens), np.cumsum(np.concatenate(lengths)))
    return packed._replace(windows=left, first_window=first, window_count=count)


def _weights(windows: Texts) -> Numbers:
    """Return the inverse document frequency of every token; each window counts as a document."""
    # extra entries for tokens that occur in claims but in no window
    seen = np.zeros(int(windows.tokens.max(initial=0)) + 1 + 2**16, np.int64)
    for window in range(len(windows.ends)):
        seen[np.unique(windows.text(window))] += 1
    return np.log((len(windows.ends) + 1) / (seen + 1))
