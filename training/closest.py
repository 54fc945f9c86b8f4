"""Leaving out windows of long documents that say little of a claim, to learn from in less time."""

import numpy as np

from training.packed import PARTS, Numbers, Packed, Texts

__all__ = ["closest_windows"]


def closest_windows(packed: Packed, most: int) -> Packed:
    """The pairs, of whose documents only a few windows are left.

    A document that takes a side mostly does so in a window that shares rare tokens with the claim,
    and those are what a model that has to find the deciding window must tell apart. What is
    measured on keeps all its windows.

    Args:
        packed: All pairs.
        most: How many windows to keep of a document: those that share most with the claim, where a
            token weighs the more the fewer windows have it; at least one.
    """
    weight = _weights(packed.windows)
    learned = packed.part != PARTS.index("validation")
    tokens, lengths = [packed.windows.tokens], [packed.windows.lengths()]
    first, count = packed.first_window.astype(np.int64), packed.window_count.copy()
    next_window = len(packed.windows.ends)
    copied: list[int] = []
    for pair in np.flatnonzero(learned & (packed.window_count > most)):
        claim = np.unique(packed.claims.text(int(packed.claim[pair])))
        windows = range(int(first[pair]), int(first[pair]) + int(count[pair]))
        texts = [packed.windows.text(window) for window in windows]
        shared = [float(weight[np.intersect1d(claim, text)].sum()) for text in texts]
        kept = sorted(np.argsort(-np.array(shared), kind="stable")[:most])
        tokens += [texts[place] for place in kept]
        copied += [windows[place] for place in kept]
        lengths.append(np.array([len(texts[place]) for place in kept]))
        first[pair], count[pair] = next_window, most
        next_window += most
    left = Texts(np.concatenate(tokens), np.cumsum(np.concatenate(lengths)))
    taught = packed.taught
    if taught is not None:
        taught = np.concatenate([taught, taught[copied]])
    return packed._replace(windows=left, first_window=first, window_count=count, taught=taught)


def _weights(windows: Texts) -> Numbers:
    """The inverse document frequency of every token, in windows."""
    seen = np.zeros(int(windows.tokens.max(initial=0)) + 1 + 2**16, np.int64)
    for window in range(len(windows.ends)):
        seen[np.unique(windows.text(window))] += 1
    return np.log((len(windows.ends) + 1) / (seen + 1))
