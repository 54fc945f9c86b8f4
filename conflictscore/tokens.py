"""Counts the tokens of a prompt before a call, without network access.

tiktoken would download its vocabularies on first use, without a timeout. Counts are only used to
fit prompts into context windows. So if the vocabulary is not already on this machine, the count is
estimated.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable
from functools import cache, partial
from itertools import accumulate
from math import ceil
from pathlib import Path
from typing import NamedTuple

_BYTES_PER_TOKEN = 3.5
"""Assumed bytes per token in any script. English prose has about 4.4, so estimates are too high
rather than too low."""
_NAME = "o200k_base"
"""OpenAI's current vocabulary. The vocabulary is used for every model, since the limits have a
margin.
"""
_URL = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"


class _Vocabulary(NamedTuple):
    """The two functions of a tiktoken or quicktok vocabulary that are needed here."""

    encode: Callable[[str], list[int]]
    bytes_of: Callable[[int], bytes]


def count_tokens(text: str) -> int:
    """Count the tokens of a text; estimate the count if the vocabulary is missing."""
    encoded = text.encode(errors="replace")  # a lone surrogate cannot be encoded
    tokens = _encode(encoded)
    return ceil(len(encoded) / _BYTES_PER_TOKEN) if tokens is None else len(tokens)


def load_vocabulary() -> None:
    """Read the vocabulary from disk now, so that later counts need not read a file."""
    _vocabulary()


def token_starts(text: str) -> list[int]:
    """Return the character offset of each counted or estimated token, in ascending order.

    A token that begins inside a multi-byte character gets the offset of that character.
    """
    import numpy as np

    encoded = text.encode(errors="replace")
    vocabulary, tokens = _vocabulary(), _encode(encoded)
    if vocabulary is None or tokens is None:
        places = [int(n * _BYTES_PER_TOKEN) for n in range(ceil(len(encoded) / _BYTES_PER_TOKEN))]
    else:
        sizes = (len(vocabulary.bytes_of(token)) for token in tokens)
        places = list(accumulate(sizes, initial=0))[:-1]
    first_byte = (np.frombuffer(encoded, np.uint8) & 0b1100_0000) != 0b1000_0000
    character = np.cumsum(first_byte) - 1
    starts: list[int] = character[places].tolist() if places else []
    return starts


def _encode(encoded: bytes) -> list[int] | None:
    """Return the tokens of UTF-8 text, or None if there is no vocabulary, or if tiktoken gives up.

    tiktoken gives up on a million spaces in a row, for example.
    """
    vocabulary = _vocabulary()
    try:
        return None if vocabulary is None else vocabulary.encode(encoded.decode())
    except ValueError:
        return None


@cache
def _vocabulary() -> _Vocabulary | None:
    # Both count special tokens in a text as ordinary text, since a document may contain them.
    if _is_cached():
        import tiktoken

        cached = tiktoken.get_encoding(_NAME)
        encode = partial(cached.encode, disallowed_special=())
        return _Vocabulary(encode, cached.decode_single_token_bytes)
    try:
        import quicktok  # contains the vocabulary, so nothing is downloaded
    except ImportError:  # an optional package; without it, tokens are estimated from bytes
        return None
    offline = quicktok.get_encoding(_NAME)
    return _Vocabulary(offline.encode_ordinary, offline.decode_single_token_bytes)


def _is_cached() -> bool:
    """Return whether tiktoken would find its vocabulary on disk (the file name is a SHA-1).

    A damaged file does not count, since tiktoken would delete it and download a new one.
    """
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    name = hashlib.sha1(_URL.encode(), usedforsecurity=False).hexdigest()
    try:
        if folder is None:
            # an OSError if no temporary folder is writable, for example because the disk is full
            folder = str(Path(tempfile.gettempdir()) / "data-gym-cache")
        # an empty variable turns tiktoken's cache off
        ranks = (Path(folder) / name).read_bytes() if folder else b""
    except OSError:
        return False
    return hashlib.sha256(ranks).hexdigest() == _SHA256
