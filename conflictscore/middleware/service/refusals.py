"""Why a request cannot be served, in the form of OpenAI's errors."""

import logging
import traceback
from collections.abc import Mapping
from typing import Any

import openai

from conflictscore.errors import (
    ConfigurationError,
    ConflictScoreError,
    ContextWindowError,
    InputError,
    UnreadableReplyError,
)
from conflictscore.middleware.service.wire import header_value
from conflictscore.models.failures import clear_error
from conflictscore.models.language_model import LanguageModel

__all__ = [
    "CLIENT_GONE",
    "RefusedError",
    "internal_error",
    "plain_reason",
    "refusal_of",
    "upstream_fault",
]

_log = logging.getLogger(__name__)

CLIENT_GONE = 499
"""The status under which a request is counted whose client went away."""

_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_SERVER = 500
_THE_CALLERS = frozenset({400, 409, 413, 415, 422})
"""What an upstream says of a request that was forwarded as it is: the caller's to fix."""


class RefusedError(Exception):
    """A request that ends with an error, as OpenAI's API words one.

    Attributes:
        status: The HTTP status.
        code: What went wrong, in one word for programs.
        param: The field that is wrong, such as ``messages[0].role``.
        retry_after: Seconds to wait, as the upstream or this service says.
        run: Headers that name the run that failed, where there is one.
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
        """The JSON object that goes out."""
        kind = "server_error" if self.status >= _SERVER else "invalid_request_error"
        error = {
            "message": str(self),
            "type": _TYPES.get(self.status, kind),
            "param": self.param,
            "code": self.code,
        }
        return {"error": error}

    def headers(self) -> dict[str, str]:
        """The headers beside it."""
        waiting = {"retry-after": self.retry_after} if self.retry_after else {}
        return {**self.run, **waiting}


def plain_reason(error: BaseException) -> str:
    """Why something failed, in words for a caller: they carry no secret and no path.

    An error of the deployment itself goes into the log as it is, and the caller is told of that.
    """
    if isinstance(error, ConfigurationError) and not isinstance(error, ContextWindowError):
        _log.error("%s", error)
        return "a setting of this service is wrong; its log says which"
    # an error of another library may quote an address with a key in it
    known = isinstance(error, ConflictScoreError | RefusedError)
    return str(error) if known else f"{type(error).__name__} in a library"


def upstream_fault(error: BaseException) -> openai.OpenAIError | None:
    """The error of the model's client that one of ours was raised from, if any.

    An unreadable reply and a prompt that is too long are not the upstream's fault.
    """
    if not isinstance(error, ConflictScoreError) or isinstance(error, UnreadableReplyError):
        return None
    here: BaseException | None = error
    while here is not None and not isinstance(here, openai.OpenAIError):
        here = here.__cause__ or here.__context__
    return here


def refusal_of(error: Exception, model: LanguageModel, *, forwarded: bool = False) -> RefusedError:
    """What the caller is told of an error.

    Args:
        error: One of ours, or of the upstream's client.
        model: The model that was called.
        forwarded: Whether the upstream got the caller's own request, so that a fault in it is the
            caller's.
    """
    said = error if isinstance(error, openai.OpenAIError) else upstream_fault(error)
    if said is not None:
        return _of_upstream(said, model, forwarded=forwarded)
    if isinstance(error, InputError) and not isinstance(error, ConfigurationError):
        return RefusedError(400, plain_reason(error), code="invalid_input")
    return RefusedError(502, plain_reason(error), code="failed")


def _of_upstream(
    error: openai.OpenAIError, model: LanguageModel, *, forwarded: bool
) -> RefusedError:
    client = getattr(model.chat, "root_async_client", None)
    secrets = [client.api_key] if client else []
    message = str(clear_error(error, provider=model.name, endpoint=model.endpoint, secrets=secrets))
    match error:
        case openai.AuthenticationError() | openai.PermissionDeniedError():
            # whatever it says is about this service's key, which the caller cannot change
            return RefusedError(
                502,
                "the upstream rejected this service's key; whoever runs the service must fix that",
                code="upstream_authentication",
            )
        case openai.NotFoundError():
            return RefusedError(
                502,
                "the upstream does not have this service's model; whoever runs the service must"
                " fix that",
                code="upstream_model_not_found",
            )
        case openai.RateLimitError():
            wait = header_value(error.response.headers.get("retry-after"))
            code = error.code or "upstream_rate_limit"
            return RefusedError(429, message, code=code, retry_after=wait)
        case openai.APITimeoutError():
            return RefusedError(504, message, code="upstream_timeout")
        case openai.APIConnectionError():
            return RefusedError(502, message, code="upstream_unreachable")
        case openai.APIStatusError() if forwarded and error.status_code in _THE_CALLERS:
            return RefusedError(error.status_code, message, code=error.code, param=error.param)
    return RefusedError(502, message, code="upstream_failed")


def internal_error(error: Exception) -> RefusedError:
    """What the caller is told of a bug in this program; the log says where it was.

    The error's own message goes into neither, since it may quote a caller.
    """
    frames = "".join(traceback.format_tb(error.__traceback__))
    _log.error("%s, which should not happen, at\n%s", type(error).__name__, frames)
    return RefusedError(500, "the service failed; its log says where", code="internal_error")
