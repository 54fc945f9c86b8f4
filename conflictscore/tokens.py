"""Counts tokens before a call, without network access.

tiktoken downloads its vocabularies on first use, without a timeout. Counts only budget prompts, so
a vocabulary that is on this machine is used, and otherwise the count is estimated.
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

__all__ = ["count_tokens", "load_vocabularies", "token_starts"]

_BYTES_PER_TOKEN = 3.5
"""Estimate for any script; English prose has about 4.4 bytes a token, so it errs high."""
_VOCABULARIES = {
    "o200k_base": (
        "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
    "cl100k_base": (
        "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
}
"""Supported vocabularies, with tiktoken's URL and the SHA-256 of each."""


class _Vocabulary(NamedTuple):
    """The common interface of tiktoken and quicktok."""

    encode: Callable[[str], list[int]]
    bytes_of: Callable[[int], bytes]


def count_tokens(text: str, model: str = "") -> int:
    """Count the tokens of a text as a model's tokenizer would.

    For an unknown model, such as a local one, OpenAI's current vocabulary is used, and without the
    vocabulary the count is an estimate.
    """
    encoded = text.encode(errors="replace")  # a lone surrogate has no bytes to count
    vocabulary = _vocabulary(_encoding_of(model.removeprefix("openai:")) or "o200k_base")
    tokens = vocabulary and _encode(encoded, vocabulary)
    return ceil(len(encoded) / _BYTES_PER_TOKEN) if tokens is None else len(tokens)


def load_vocabularies(*models: str) -> None:
    """Read the vocabularies of these models from disk, so that no later count reads a file."""
    for model in models:
        _vocabulary(_encoding_of(model.removeprefix("openai:")) or "o200k_base")
    _vocabulary("o200k_base")  # for models that are unknown


def token_starts(text: str) -> list[int]:
    """Character offsets of the tokens that `count_tokens` counts without a model name.

    Returns:
        One ascending offset a token. A token that begins inside a rare character has that
        character's offset. If counts are estimated, so are the offsets.
    """
    import numpy as np

    encoded = text.encode(errors="replace")
    vocabulary = _vocabulary("o200k_base")
    tokens = vocabulary and _encode(encoded, vocabulary)
    if vocabulary is None or tokens is None:
        places = [int(n * _BYTES_PER_TOKEN) for n in range(ceil(len(encoded) / _BYTES_PER_TOKEN))]
    else:
        sizes = (len(vocabulary.bytes_of(token)) for token in tokens)
        places = list(accumulate(sizes, initial=0))[:-1]
    first_byte = (np.frombuffer(encoded, np.uint8) & 0b1100_0000) != 0b1000_0000
    character = np.cumsum(first_byte) - 1
    starts: list[int] = character[places].tolist() if places else []
    return starts


def _encode(encoded: bytes, vocabulary: _Vocabulary) -> list[int] | None:
    """The tokens of UTF-8 text; None if tiktoken gives up, as on a million spaces in a row."""
    try:
        return vocabulary.encode(encoded.decode())
    except ValueError:
        return None


@cache
def _encoding_of(model: str) -> str | None:
    from tiktoken.model import encoding_name_for_model

    try:
        encoding = encoding_name_for_model(model)
    except KeyError:
        return None
    return encoding if encoding in _VOCABULARIES else None


@cache
def _vocabulary(encoding: str) -> _Vocabulary | None:
    if _vocabulary_is_cached(encoding):
        import tiktoken

        cached = tiktoken.get_encoding(encoding)
        encode = partial(cached.encode, disallowed_special=())
        return _Vocabulary(encode, cached.decode_single_token_bytes)
    try:
        import quicktok
    except ImportError:
        return None
    offline = quicktok.get_encoding(encoding)
    return _Vocabulary(offline.encode_ordinary, offline.decode_single_token_bytes)


def _vocabulary_is_cached(encoding: str) -> bool:
    """Whether tiktoken would find its vocabulary on disk, in a file named by the URL's SHA-1.

    A damaged file does not count: tiktoken would delete it and download another.
    """
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if folder is None:
        folder = str(Path(tempfile.gettempdir()) / "data-gym-cache")
    if not folder:
        return False
    url, sha256 = _VOCABULARIES[encoding]
    name = hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()
    try:
        ranks = (Path(folder) / name).read_bytes()
    except OSError:
        return False
    return hashlib.sha256(ranks).hexdigest() == sha256
