"""Counting tokens before a call, without ever touching the network.

tiktoken downloads its vocabularies on first use, with no timeout. Counting only budgets a
prompt, so it uses what is on this machine already and otherwise estimates.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable
from functools import cache
from math import ceil
from pathlib import Path
from typing import NamedTuple

__all__ = ["TokenCount", "count_tokens"]

_BYTES_PER_TOKEN = 3.5
"""Estimate for text of any script; English prose has about 4.4 bytes a token, so it errs high."""
_VOCABULARIES = {
    "o200k_base": "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken",
    "cl100k_base": "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken",
}


class TokenCount(NamedTuple):
    """A number of tokens, and whether it was counted or estimated."""

    n: int
    exact: bool


def count_tokens(text: str, model: str = "") -> TokenCount:
    """Count the tokens of a text as a model's tokenizer would.

    Args:
        text: Any text.
        model: A model name as OpenAI writes it; an unknown one, such as a local model's, gets a
            count by OpenAI's current vocabulary, flagged as not exact.

    Returns:
        The count. It is ``exact`` only where the model's own vocabulary was at hand.
    """
    encoding = _encoding_of(model)
    counter = _counter(encoding or "o200k_base")
    if counter is None:
        return TokenCount(ceil(len(text.encode()) / _BYTES_PER_TOKEN), exact=False)
    return TokenCount(counter(text), exact=encoding is not None)


@cache
def _encoding_of(model: str) -> str | None:
    from tiktoken.model import encoding_name_for_model

    try:
        return encoding_name_for_model(model)
    except KeyError:
        return None


@cache
def _counter(encoding: str) -> Callable[[str], int] | None:
    if _vocabulary_is_cached(encoding):
        import tiktoken

        vocabulary = tiktoken.get_encoding(encoding)
        return lambda text: len(vocabulary.encode(text, disallowed_special=()))
    try:
        import quicktok
    except ImportError:
        return None
    offline = quicktok.get_encoding(encoding)
    return lambda text: len(offline.encode(text))


def _vocabulary_is_cached(encoding: str) -> bool:
    """Whether tiktoken would find its vocabulary on disk: it names the file by the URL's sha1."""
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if folder is None:
        folder = str(Path(tempfile.gettempdir()) / "data-gym-cache")
    url = _VOCABULARIES.get(encoding)
    if not folder or url is None:
        return False
    name = hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()
    return (Path(folder) / name).is_file()
