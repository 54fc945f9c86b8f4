"""The probabilities of single letters, as a reply's log-probabilities tell them."""

from collections.abc import Sequence
from math import exp, fsum, inf, log

from langchain_core.messages import BaseMessage

_LEAST_PROBABILITY = 1e-9
_ROUNDED = 0.01
"""Rounding of servers above a log-probability of 0."""


def letter_logprobs(message: BaseMessage, letters: Sequence[str]) -> dict[str, float] | None:
    """The natural log-probability of each letter as the first token; None if none were given.

    All are finite: a letter too improbable to be reported gets an upper bound.

    Raises:
        ValueError: What was given cannot be read, or the reply is none of the letters.
    """
    reported = message.response_metadata.get("logprobs")
    reported = reported.get("content") if isinstance(reported, dict) else reported
    if not reported:
        return None
    try:
        likeliest = reported[0].get("top_logprobs") or [reported[0]]
        told = [(one["token"].strip(), one["logprob"]) for one in reversed(likeliest)]
        readable = all(type(value) in (int, float) and value <= _ROUNDED for _, value in told)
    except (LookupError, TypeError, AttributeError):
        readable = False
    top = {t: min(float(value), 0.0) for t, value in told if value > -inf} if readable else {}
    if not top:
        raise ValueError("its log-probabilities are not numbers up to 0, each with a token")
    if not any(letter in top for letter in letters):
        raise ValueError(f"it was none of {', '.join(letters)}")
    # a letter that is not reported has at most what the reported tokens leave over
    left = max(_LEAST_PROBABILITY, 1 - fsum(exp(value) for value in top.values()))
    floor = min(log(left), *top.values())
    return {letter: top.get(letter, floor) for letter in letters}
