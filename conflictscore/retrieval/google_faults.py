"""What a failed Google search means for the user, and whether asking again can help."""

import email.utils
import re
from dataclasses import dataclass
from datetime import UTC, datetime

from conflictscore.errors import ConfigurationError, ConflictScoreError, InputError, ProviderError

__all__ = ["ENGINE_VARIABLE", "KEY_VARIABLE", "WITHOUT_GOOGLE", "Fault", "explain", "missing"]

KEY_VARIABLE = "GOOGLE_API_KEY"
ENGINE_VARIABLE = "GOOGLE_CSE_ID"
WITHOUT_GOOGLE = "to do without Google, search your own files with --search corpus --docs PATH"

_DAILY = re.compile(r"per\s*day|dailyLimit|quotaExceeded", re.IGNORECASE)
_RATE = re.compile(r"rateLimitExceeded", re.IGNORECASE)
_KEY = re.compile(r"api[ _]?key|keyInvalid", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Fault:
    """One request that failed."""

    error: ConflictScoreError
    retry: bool = False
    """Whether the same request may succeed in a moment."""
    retry_after: float | None = None
    """Seconds that the server asks to wait, from 0; None where it names no time."""


def missing(*variables: str) -> ConfigurationError:
    """The error for a search without its key, engine id or both."""
    return ConfigurationError(
        f"Google search needs {KEY_VARIABLE} and {ENGINE_VARIABLE}; not set: "
        f"{' and '.join(variables)}; the key "
        "comes from console.cloud.google.com (Custom Search API, Credentials), the id from "
        "programmablesearchengine.google.com; the API takes no new customers and ends on "
        f"2027-01-01; {WITHOUT_GOOGLE}"
    )


def explain(status: int, reason: str, body: str, retry_after: str | None) -> Fault:
    """Turns an HTTP error of the Custom Search API into an error for the user.

    Args:
        status: The HTTP status, from 300.
        reason: What the server gives as the cause, with no secret in it.
        body: The reply's body, read for the names of limits only.
        retry_after: The reply's Retry-After header.
    """
    said = f"({status}: {reason})"
    limited = status == 429 or (status == 403 and _RATE.search(body) is not None)
    if status in (403, 429) and _DAILY.search(body):
        return Fault(_failed(f"Google's daily quota is used up {said}; {WITHOUT_GOOGLE}", status))
    if limited or status >= 500:
        what = "Google asks for fewer searches" if limited else "Google search failed"
        return Fault(_failed(f"{what} {said}", status), True, _seconds(retry_after))
    if status == 401 or (status == 400 and _KEY.search(reason + body)):
        return Fault(ConfigurationError(f"Google does not accept {KEY_VARIABLE} {said}"))
    if status == 403:
        return Fault(
            ConfigurationError(
                f"Google refuses this project or key {said}: the API is closed to new customers; "
                f"for an older project, check that {KEY_VARIABLE} belongs to it, allows this "
                f"machine, and that the Custom Search API is enabled; {WITHOUT_GOOGLE}"
            )
        )
    if status in (400, 404):
        return Fault(
            InputError(
                f"Google cannot use the request {said}: check {ENGINE_VARIABLE} and the length "
                "of the question"
            )
        )
    return Fault(_failed(f"Google search failed {said}", status))


def _failed(message: str, status: int) -> ProviderError:
    return ProviderError(message, provider="google", status=status)


def _seconds(retry_after: str | None) -> float | None:
    """Seconds from now, where the header holds a number of them or a date."""
    if retry_after is None:
        return None
    if re.fullmatch(r"\s*\d{1,9}\s*", retry_after):
        return float(retry_after)
    try:
        when = email.utils.parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())
