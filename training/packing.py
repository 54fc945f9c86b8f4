"""Turns pairs into token numbers, in windows cut exactly as the NLI labeler cuts documents."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from conflictscore.labelers.nli.windows import premise_tokens, premises
from conflictscore.records import Document
from conflictscore.retrieval.token_windows import Vocabulary
from training.packed import PARTS, Marks, Packed, Texts, save_packed
from training.pairs import LABELS, Pair, Row

_MOST_CLAIM_TOKENS = 128
"""Maximum number of tokens of a claim that are used in training."""


def pack(rows: Iterable[Row], path: Path, *, tokenizer: Path, pair_tokens: int) -> int:
    """Write the token numbers of pairs.

    Args:
        rows: The pairs; they are iterated over only once.
        path: The file to write.
        tokenizer: A ``tokenizer.json`` with fewer than 65,536 tokens.
        pair_tokens: Maximum tokens of a claim and a window together, which must be the pair length
            of the labeler.

    Returns:
        Number of bytes in the file.
    """
    from tokenizers import Tokenizer

    words = Tokenizer.from_str(tokenizer.read_text("utf-8"))
    words.no_padding()
    words.no_truncation()
    words.encode_special_tokens = True

    def numbers(text: str) -> list[int]:
        found: list[int] = words.encode(text, add_special_tokens=False).ids
        return found

    def starts(text: str) -> list[int]:
        return [at for at, _ in words.encode(text, add_special_tokens=False).offsets]

    vocabulary = Vocabulary(starts, lambda text: len(numbers(text)))
    marks = marks_of(tokenizer)
    documents: dict[tuple[str, str, str, int], tuple[int, int]] = {}
    window_tokens, window_lengths = bytearray(), bytearray()
    claims: dict[str, tuple[int, int]] = {}
    claim_tokens, claim_lengths = bytearray(), bytearray()
    sources: dict[str, int] = {}
    pairs: list[tuple[int, int, int, int, int, int]] = []
    for part, pair in rows:
        if pair.claim not in claims:
            said = numbers(pair.claim)
            room = premise_tokens(len(said), pair_tokens, marks.total)
            claims[pair.claim] = (len(claims), room)
            _add(said[:_MOST_CLAIM_TOKENS], claim_tokens, claim_lengths)
        claim, room = claims[pair.claim]
        shown = (pair.title, pair.date, pair.document, room)
        if shown not in documents:
            document = document_of(pair)
            cut = premises(document, room, vocabulary).texts
            # each length takes two bytes
            documents[shown] = (len(window_lengths) // 2, len(cut))
            for window in cut:
                _add(numbers(window), window_tokens, window_lengths)
        first, count = documents[shown]
        source = sources.setdefault(pair.source, len(sources))
        label, kind = LABELS.index(pair.label), PARTS.index(part)
        pairs.append((first, count, claim, label, kind, source))
    first_window, window_count, claim_of, labels, parts, source_of = (
        np.array(pairs, dtype=np.int64).reshape(-1, 6).T  # also correct if there are no pairs
    )
    packed = Packed(
        _texts(window_tokens, window_lengths),
        _texts(claim_tokens, claim_lengths),
        first_window,
        window_count,
        claim_of,
        labels,
        parts,
        source_of,
        tuple(sources),
        pair_tokens,
        marks,
    )
    save_packed(packed, path)
    return path.stat().st_size


def document_of(pair: Pair) -> Document:
    """Return the document of a pair, as a labeler sees it."""
    document = Document(number=1, text=pair.document, title=pair.title)
    return document.model_copy(update={"metadata": {"date": pair.date}}) if pair.date else document


def _texts(tokens: bytearray, lengths: bytearray) -> Texts:
    ends = np.cumsum(np.frombuffer(lengths, np.uint16), dtype=np.int64)
    return Texts(np.frombuffer(tokens, np.uint16), ends)


def marks_of(tokenizer: Path) -> Marks:
    """Return the tokens that a tokenizer puts around a pair.

    Args:
        tokenizer: A ``tokenizer.json``.
    """
    from tokenizers import Tokenizer

    words = Tokenizer.from_str(tokenizer.read_text("utf-8"))
    words.no_padding()
    pair = words.encode("a", "a")
    document, claim = (
        [place for place, side in enumerate(pair.sequence_ids) if side == number]
        for number in (0, 1)
    )
    return Marks(
        tuple(pair.ids[: document[0]]),
        tuple(pair.ids[document[-1] + 1 : claim[0]]),
        tuple(pair.ids[claim[-1] + 1 :]),
    )


def _add(text: list[int], tokens: bytearray, lengths: bytearray) -> None:
    tokens += np.array(text, np.uint16).tobytes()
    lengths += np.uint16(len(text)).tobytes()
