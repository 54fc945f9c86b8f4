"""Decides which provider failures to retry, and how long to wait before each retry.

Limits without a stated reason were chosen by hand.
"""

import math
import random
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, Literal, NamedTuple

import openai

from conflictscore.models.prompt_turns import ABOUT_TURNS
from conflictscore.models.provider_faults import (
    NO_CREDIT,
    OVERLOADED,
    ProviderFault,
    fault_of,
    timed_out,
    tls_fault,
)

_ABOUT_FORM = re.compile(r"(?i)grammar|json.?schema|response.?format|structured.output")
"""Matches messages of servers, such as llama.cpp, that return a 500 if they cannot compile a
schema."""
_LOADING = re.compile(r"(?i)\bloading\b")
"""Matches the message of llama.cpp, which answers with a 503 until it has loaded its model."""
_LEAST_WAIT_S = 0.1
"""A requested wait shorter than this is ignored, since some providers request one with every
refusal."""
# The wait that a provider requests: "20", "1.5s", "750 ms".
_NUMBER = re.compile(
    r"(?P<number>[+-]?\d{1,20}(?:\.\d{0,20})?) ?(?P<unit>ms|s|sec|secs|seconds?)?", re.IGNORECASE
)
_LEAST_UNIX_TIME = 1e9
"""A larger number is a Unix time (this one was in 2001), not a number of seconds to wait."""
# Waits of 0.5, 1, 2, 4 and then 8 seconds, as in OpenAI's own client.
_FIRST_WAIT_S = 0.5
_LONGEST_WAIT_S = 8.0
_DOUBLINGS = 4


class TransientError(NamedTuple):
    """A temporary failure of a provider."""

    kind: Literal["refused", "late", "failed"]
    """``refused`` means too many calls at the moment, and ``late`` no answer in time; ``failed`` is
    any other failure."""
    again: bool
    """Whether the provider permits a retry."""
    after: float | None = None
    """Seconds that the provider asks to wait; None if it does not say."""


def transient_error(error: Exception) -> TransientError | None:
    """Return the temporary failure that a client's exception reports; None for a permanent one.

    A permanent failure would happen again with the same request. Examples are a refused key, an
    unknown model, a bad request, an account without credit, a certificate that is not accepted, or
    a reply that is not a completion.
    """
    if isinstance(tls_fault(error), ssl.SSLCertVerificationError):
        return None
    if timed_out(error):
        return TransientError("late", again=True)
    if isinstance(error, openai.APIConnectionError):
        return TransientError("failed", again=True)
    fault = fault_of(error)
    if fault is None or fault.status is None or _is_lasting(fault, fault.status):
        return None
    again = fault.headers.get("x-should-retry") != "false"  # OpenAI's own client obeys it too
    after = _asked_wait(fault.headers)
    # a 503 that does not say how long to wait means a failing server, not a busy one
    for_now = fault.status == HTTPStatus.SERVICE_UNAVAILABLE and (
        after or _LOADING.search(fault.words)
    )
    if fault.status in {HTTPStatus.TOO_MANY_REQUESTS, OVERLOADED} or for_now:
        return TransientError("refused", again, after)
    if (
        fault.status in {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT}
        or fault.status >= HTTPStatus.INTERNAL_SERVER_ERROR
    ):
        return TransientError("failed", again, after)
    return None


def _is_lasting(fault: ProviderFault, status: int) -> bool:
    """Return whether a failure is permanent although its status suggests a temporary one.

    An account without credit gets a 429. A server that cannot compile the schema, or whose chat
    template rejects the turns, returns a 500.
    """
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return fault.code in NO_CREDIT
    about_request = _ABOUT_FORM.search(fault.words) or ABOUT_TURNS.search(fault.words)
    return status == HTTPStatus.NOT_IMPLEMENTED or (
        status == HTTPStatus.INTERNAL_SERVER_ERROR and about_request is not None
    )


def _asked_wait(headers: Mapping[str, Any]) -> float | None:
    """Return the wait that a header requests (in ms, in seconds, or until a time), in seconds.

    The function returns None if the provider names no time, a wait of less than 0.1 s, or a time in
    the past. A wait of 0 would turn a lasting refusal into a busy loop, so the growing waits of
    :class:`Retries` apply instead.
    """
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            seconds = _seconds(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        if _LEAST_WAIT_S <= seconds < math.inf:
            return seconds
    return None


def _seconds(text: str) -> float:
    """Return a number of seconds, or the seconds until a time; raise ValueError if neither.

    HTTP defines only whole seconds and dates. Some servers add a unit, or send an ISO date or a
    Unix time.
    """
    if number := _NUMBER.fullmatch(text.strip()):
        seconds = float(number["number"]) * (1e-3 if number["unit"] == "ms" else 1.0)
        return seconds - datetime.now(UTC).timestamp() if seconds > _LEAST_UNIX_TIME else seconds
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        date = datetime.fromisoformat(text.strip())
    if date.tzinfo is None:  # RFC 9110 allows no other time zone
        date = date.replace(tzinfo=UTC)
    return (date - datetime.now(UTC)).total_seconds()


@dataclass(frozen=True)
class Retries:
    """Computes the waits between the attempts at a call: they double each time, with jitter.

    A call that fails or times out is attempted at most ``attempts`` times in total. A call that is
    refused for now (429) is retried until ``patience`` has passed, with any number of attempts. So
    no call is lost if an endpoint refuses calls for a minute. Refusals are cheap, and our limit on
    calls in flight keeps them few. If a provider asks for a wait longer than ``patience``, the call
    fails at once.
    """

    attempts: int = 5
    """Maximum attempts at a call that fails or times out. A refused call gets at least this many
    attempts, even after ``patience``, since it may have waited in a queue for a long time between
    attempts. With five, the waits add up to at most 7.5 seconds if the provider asks for none.
    """
    patience: float = 180.0
    """Seconds after the first attempt during which a refused or timed-out call is retried.

    This time covers several of the one-minute windows in which providers count calls.
    """

    def wait(
        self, trouble: TransientError, attempt: int, seconds_spent: float, refusals: int = 0
    ) -> float | None:
        """Return the seconds to wait before the next attempt, or None to give up.

        ``attempt`` counts from 1; ``seconds_spent`` is the time since the first attempt began.
        ``refusals`` is the number of refusals and timeouts, of all callers' calls, since the
        endpoint last answered; callers give it only for a refused call. If this number is higher
        than ``attempt``, it determines the wait. So many callers together do not call a busy
        endpoint more often than a single caller would.
        """
        if not trouble.again:
            return None
        if trouble.after is None:
            doublings = max(attempt, refusals) - 1
            backoff = _FIRST_WAIT_S * 2 ** min(doublings, _DOUBLINGS)
            # jitter, so that calls refused together are not all repeated at the same moment
            wait = min(_LONGEST_WAIT_S, backoff) * random.uniform(0.75, 1)  # noqa: S311
        else:  # never earlier than the provider asks
            wait = trouble.after * random.uniform(1, 1.1)  # noqa: S311
        has_attempts, in_time = attempt < self.attempts, seconds_spent + wait <= self.patience
        worthwhile = {
            "failed": has_attempts,
            "late": has_attempts and in_time,
            "refused": has_attempts or in_time,
        }
        return wait if worthwhile[trouble.kind] and wait <= self.patience else None
