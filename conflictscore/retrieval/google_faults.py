"""What a failed Google search means for the user, and when the Custom Search API ends."""

import re
import sys
import warnings
from datetime import UTC, date, datetime

from conflictscore.errors import ConfigurationError, InputError
from conflictscore.retrieval.faults import Fault, retry_after_seconds
from conflictscore.retrieval.web_search import OTHER_WAYS, WebSearchRetriever

__all__ = [
    "ENGINE_VARIABLE",
    "KEY_VARIABLE",
    "end_note",
    "ended",
    "explain",
    "missing",
    "today",
    "warn_of_the_end",
]

KEY_VARIABLE = "GOOGLE_API_KEY"
ENGINE_VARIABLE = "GOOGLE_CSE_ID"

_END = date(2027, 1, 1)
_SUCCESSORS = "--search serper, brave or searxng search the whole web, --search vertex your sites"

_CLOSED = re.compile(r"does not have the access to Custom Search", re.IGNORECASE)
_DAILY = re.compile(r"per\s*day|dailyLimit|quotaExceeded", re.IGNORECASE)
_KEY = re.compile(r"api[ _]?key|keyInvalid", re.IGNORECASE)
_RATE = re.compile(r"rateLimitExceeded", re.IGNORECASE)


def missing(*variables: str) -> ConfigurationError:
    """The error for a search without its key, engine id or both."""
    return ConfigurationError(
        f"Google search needs {KEY_VARIABLE} and {ENGINE_VARIABLE}; not set: "
        f"{' and '.join(variables)}; the key comes from console.cloud.google.com (Custom Search "
        "API, Credentials), the id from programmablesearchengine.google.com; the API takes no new "
        f"customers and {'ended' if ended() else 'ends'} on {_END}; {OTHER_WAYS}"
    )


def explain(
    search: WebSearchRetriever, status: int, reason: str, body: str, retry_after: str | None
) -> Fault:
    """What an HTTP error of the Custom Search API means.

    Args:
        search: The search that met it.
        status: The HTTP status, from 300.
        reason: What the server gives as the cause, as it came.
        body: The reply's body, read for the names of limits only.
        retry_after: The reply's Retry-After header.
    """
    said = f"{status}: {search.shown(reason)}"
    if status in (403, 429) and _DAILY.search(body):
        return search.used_up(said, status)
    if status == 429 or (status == 403 and _RATE.search(body)):
        error = search.failed(f"Google asks for fewer searches ({said})", status)
        return Fault(error, True, retry_after_seconds(retry_after))
    if status == 400 and _KEY.search(reason + body):
        return search.refused(401, reason)
    if status == 403:
        return Fault(_no_access(said) if _CLOSED.search(reason) else _no_permission(said))
    if status in (400, 404):
        what = f"check {ENGINE_VARIABLE} and the length of the question"
        return Fault(InputError(f"Google cannot use the request ({said}): {what}"))
    return search.refused(status, reason, retry_after)


def _no_access(said: str) -> ConfigurationError:
    return ConfigurationError(
        "Google's Custom Search API is closed to new customers, and this project has no access "
        f"({said}); {_SUCCESSORS}; {OTHER_WAYS}"
    )


def _no_permission(said: str) -> ConfigurationError:
    return ConfigurationError(
        f"Google refuses this project or key ({said}): check that {KEY_VARIABLE} belongs to a "
        "project with access to the Custom Search API, that the API is enabled there, and that "
        f"the key may be used from this machine; {OTHER_WAYS}"
    )


def today() -> date:
    """The day by which the API's end is judged."""
    return datetime.now(UTC).date()


def ended() -> bool:
    """Whether the API has ended."""
    return today() >= _END


def end_note() -> str:
    """How long the API still works, and what comes after it."""
    days = (_END - today()).days
    left = "1 day" if days == 1 else f"{days} days"
    when = f"ended on {_END}" if ended() else f"ends on {_END}, in {left}"
    return f"Google's Custom Search API {when}; {_SUCCESSORS}"


def warn_of_the_end() -> None:
    """Warn whoever uses this package, at their own line and not at one of the package."""
    depth, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("conflictscore."):
        depth, frame = depth + 1, frame.f_back
    message = (
        f"Google's Custom Search API ends on {_END}: use SerperRetriever, BraveRetriever, "
        "SearxngRetriever or VertexRetriever of conflictscore.retrieval"
    )
    warnings.warn(message, DeprecationWarning, stacklevel=depth)
