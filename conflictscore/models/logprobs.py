"""Reads the probabilities of single letters from the log-probabilities of a reply.

Limits without a stated reason were chosen by hand.
"""

import json
from collections.abc import Sequence
from math import exp, fsum, inf, log
from typing import Any

from langchain_core.messages import BaseMessage

_LEAST_PROBABILITY = 1e-9  # keeps every letter's log-probability finite
_ROUNDED = 0.01
"""Tolerance for servers that round a log-probability to a value above 0."""


def grammar_of(words: Sequence[str]) -> str:
    """Return a grammar of llama.cpp that allows only these letters or short words."""
    if all(len(word) == 1 for word in words):
        return f"root ::= [{''.join(words)}]"
    return f"root ::= {' | '.join(map(json.dumps, words))}"


def letter_logprobs(message: BaseMessage, letters: Sequence[str]) -> dict[str, float] | None:
    """Return each letter's natural log-probability of being the first token; None if not reported.

    A letter may also be a word that is a single token, such as "Yes". All values are finite. A
    letter that is too improbable to be reported gets an upper bound.

    Raises:
        ValueError: The log-probabilities are unreadable, or the reply is not one of the letters.
    """
    logprobs = message.response_metadata.get("logprobs")
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else logprobs
    if not tokens:
        return None
    top = _likeliest_first_tokens(tokens)
    if not top:
        raise ValueError("its log-probabilities are not numbers up to 0, each with a token")
    if not any(letter in top for letter in letters):
        raise ValueError(f"it was not one of {', '.join(letters)}")
    # The probability of an unreported letter is at most 1 minus that of all reported tokens. It is
    # also at most that of the least likely reported token, since servers report the likeliest.
    rest = max(_LEAST_PROBABILITY, 1 - fsum(exp(logprob) for logprob in top.values()))
    floor = min(log(rest), *top.values())
    return {letter: top.get(letter, floor) for letter in letters}


def _likeliest_first_tokens(tokens: Any) -> dict[str, float]:
    """Map each candidate for the first token to its log-probability; empty if unreadable."""
    try:
        likeliest = tokens[0].get("top_logprobs") or [tokens[0]]
        # in ascending order, so that the more probable of the tokens "A" and " A" is kept
        pairs = sorted(
            ((token["token"].strip(), token["logprob"]) for token in likeliest),
            key=lambda pair: pair[1],
        )
        # a bool is not a number here, so the exact type is compared
        are_logprobs = all(
            type(logprob) in (int, float) and logprob <= _ROUNDED for _, logprob in pairs
        )
    except (LookupError, TypeError, AttributeError):
        return {}
    if not are_logprobs:
        return {}
    return {token: min(float(logprob), 0.0) for token, logprob in pairs if logprob > -inf}
