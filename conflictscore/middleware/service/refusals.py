"""Error responses, in the format of OpenAI's API."""

import logging
import traceback
from collections.abc import Mapping
from typing import Any

import openai

from conflictscore.errors import (
    ConfigurationError,
    ConflictScoreError,
    InputError,
    NoDocumentsError,
    UnreadableReplyError,
)
from conflictscore.middleware.service.wire import header_value
from conflictscore.models.clear_errors import clear_error
from conflictscore.models.clients import secrets_of
from conflictscore.models.language_model import LanguageModel
from conflictscore.retrieval.discreet import NOTHING_FOUND

_log = logging.getLogger(__name__)

CLIENT_GONE = 499
"""The status recorded for requests whose client disconnected; HTTP defines none, nginx uses 499."""

_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
"""The error types of OpenAI's API for these statuses."""
_KEY = ("upstream_authentication", "rejected this service's key")
_THE_OPERATORS = {
    401: _KEY,
    403: _KEY,
    404: ("upstream_model_not_found", "does not have this service's model"),
}
"""Upstream statuses that callers cannot remedy, each with an error code and a message."""
_THE_CALLERS = frozenset({400, 409, 413, 415, 422})
"""Upstream statuses that mean that the caller must fix the request."""


class RefusedError(Exception):
    """An error response to a request.

    Attributes:
        status: The HTTP status.
        code: The kind of error, for programs.
        param: The invalid field of the request, such as ``messages[0].role``.
        retry_after: Seconds to wait before the next try.
        run: Headers that name the failed run, if there is one.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        retry_after: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.param = status, code, param
        self.retry_after = retry_after
        self.run: Mapping[str, str] = {}

    def body(self) -> dict[str, Any]:
        """Return the response body."""
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        error = {
            "message": str(self),
            "type": _TYPES.get(self.status, kind),
            "param": self.param,
            "code": self.code,
        }
        return {"error": error}

    def headers(self) -> dict[str, str]:
        """Return the response headers."""
        waiting = {"retry-after": self.retry_after} if self.retry_after else {}
        return {**self.run, **waiting}


def plain_reason(error: BaseException) -> str:
    """Return a failure message for callers, without secrets or paths.

    An error in the deployment's settings is logged, and the caller is referred to the log.
    """
    if isinstance(error, ConfigurationError):
        _log.error("%s", error)
        return "a setting of this service is wrong; see its log"
    if isinstance(error, NoDocumentsError):  # it may quote a path or other callers' questions
        return NOTHING_FOUND
    # the error of another library may quote an address that contains a key
    is_ours = isinstance(error, ConflictScoreError | RefusedError)
    return str(error) if is_ours else f"a library failed with {type(error).__name__}"


def upstream_fault(error: BaseException) -> openai.OpenAIError | None:
    """Return the client library's error that caused one of our errors, if there is one.

    Unreadable replies and prompts that are too long are not the upstream's fault.
    """
    if not isinstance(error, ConflictScoreError) or isinstance(error, UnreadableReplyError):
        return None
    here: BaseException | None = error
    while here is not None and not isinstance(here, openai.OpenAIError):
        here = here.__cause__ or here.__context__
    return here


def refusal_of(error: Exception, model: LanguageModel, *, forwarded: bool = False) -> RefusedError:
    """Return the response for one of our errors, or for an error of the upstream's client.

    If ``forwarded`` is set, the upstream got the caller's own request, so the caller may have to
    fix it.
    """
    fault = error if isinstance(error, openai.OpenAIError) else upstream_fault(error)
    if fault is not None:
        return _of_upstream(fault, model, forwarded=forwarded)
    if isinstance(error, InputError) and not isinstance(error, ConfigurationError):
        return RefusedError(400, plain_reason(error), code="invalid_input")
    return RefusedError(502, plain_reason(error), code="failed")


def _of_upstream(
    error: openai.OpenAIError, model: LanguageModel, *, forwarded: bool
) -> RefusedError:
    """Return the response for an upstream's error; it shows who must act, operator or caller."""
    secrets = secrets_of(model.chat)
    message = str(clear_error(error, provider=model.name, endpoint=model.endpoint, secrets=secrets))
    if isinstance(error, openai.APIStatusError) and error.status_code in _THE_OPERATORS:
        code, what = _THE_OPERATORS[error.status_code]
        return RefusedError(502, f"the upstream {what}; the operator must fix this", code=code)
    if isinstance(error, openai.APIStatusError) and error.status_code == 429:
        wait = header_value(error.response.headers.get("retry-after"))
        code = error.code or "upstream_rate_limit"
        return RefusedError(429, message, code=code, retry_after=wait)
    if isinstance(error, openai.APIStatusError) and forwarded and error.status_code in _THE_CALLERS:
        return RefusedError(error.status_code, message, code=error.code, param=error.param)
    if isinstance(error, openai.APIConnectionError):
        _log.warning("%s", message)  # not sent: it names the upstream's address and proxy
        if isinstance(error, openai.APITimeoutError):
            late = f"{model.name} did not answer in time"
            return RefusedError(504, late, code="upstream_timeout")
        lost = f"{model.name} cannot be reached, or closed the connection before its reply ended"
        return RefusedError(502, lost, code="upstream_unreachable")
    return RefusedError(502, message, code="upstream_failed")


def internal_error(error: Exception) -> RefusedError:
    """Return the response for a bug in this program, and log the traceback.

    Neither the response nor the log includes the error message, since it may quote a caller's
    text.
    """
    frames = "".join(traceback.format_tb(error.__traceback__))
    _log.error("unexpected %s at\n%s", type(error).__name__, frames)
    return RefusedError(500, "the service failed; see its log", code="internal_error")
