"""Meaning of a failed model call: one clear line without a secret, and whether to retry."""

import json
import math
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Literal, NamedTuple

import httpx2
import openai
from langgraph.errors import GraphBubbleUp

from conflictscore.errors import (
    ConfigurationError,
    ConflictScoreError,
    FailureKind,
    ProviderError,
    UnreadableReplyError,
    scrubbed,
)

# The provider's words are in ``error``, ``detail`` or ``message``, as text, object or list; some
# send an error with the status 200, or within a choice.

_DEPTH = 6
_MOST_WORDS = 3
"""The most different messages of one error that are shown."""
_BODY_CHARS = 20_000
_STATUS_FIELDS = ("status_code", "statuscode", "status", "code")
_CODE_FIELDS = ("code", "type", "status")
_WORD_FIELDS = (
    *("message", "msg", "error", "errors", "detail", "description", "error_description"),
    *("error_msg", "error_message", "status_msg"),
)
_LAST_FIELDS = ("details", "reason", "title", "metadata", "raw", "reasons")
"""Looked at if no other field has words, or beside those of a provider that passes others on."""
_TAG = re.compile(r"<[^<>]*>")
_TITLE = re.compile(r"<(?:title|h1)[^<>]*>([^<]+)", re.IGNORECASE)
_CLIENTS_WORDS = re.compile(r"^Error code: \d{3}(?: - )?")


class ProviderFault(NamedTuple):
    """A provider's error."""

    status: int | None
    """The HTTP status, that of the body if the response itself was a 200, if one has any."""
    code: str = ""
    """The provider's word for programs, in small letters; may be empty."""
    words: str = ""
    """Its message on one line; untrusted, and may quote a key."""
    headers: Mapping[str, str] = {}
    """Those of the response, by lower-case name."""


def fault_of(error: BaseException) -> ProviderFault | None:
    """The provider's error in a client's exception; None if there was no reply."""
    found = _fault(error)
    cause = error.__cause__  # clients wrap the errors of others
    return fault_of(cause) if found is None and cause is not None else found


def error_in_completion(completion: Any, url: str = "http://upstream") -> openai.APIError | None:
    """The error in a response with the status 200; None for a chat completion."""
    body = (
        completion.model_dump(warnings=False) if hasattr(completion, "model_dump") else completion
    )
    if isinstance(body, str) and body.strip():  # a page of whatever answers there
        said = _ErrorWords(body)
        return openai.APIError(said.words, httpx2.Request("POST", url), body=body)
    if not isinstance(body, Mapping):
        return None
    choices = body.get("choices")
    within = [one.get("error") for one in choices or () if isinstance(one, Mapping)]
    error = next(filter(None, within), None)
    if body.get("error") or not choices:
        error = {name: body[name] for name in {*_STATUS_FIELDS, *_WORD_FIELDS} & body.keys()}
        error = error or body.get("base_resp")  # MiniMax
    said = _ErrorWords(error)
    if not (said.words or said.status):
        return None
    request = httpx2.Request("POST", url)
    if said.status is None:
        return openai.APIError(said.words, request, body=error)
    response = httpx2.Response(said.status, request=request)
    return openai.APIStatusError(said.words, response=response, body=error)


def _fault(error: BaseException) -> ProviderFault | None:
    response = getattr(error, "response", None)
    known = (getattr(error, "status_code", None), getattr(response, "status_code", None))
    status = next(filter(_is_status, (*known, getattr(error, "code", None))), None)
    given = next(filter(None, _bodies(error, response, status)), None)
    if status is None and given is None:
        return None
    said = _ErrorWords(given)
    headers = getattr(response, "headers", None)
    read: dict[str, str] = {}
    if isinstance(headers, Mapping):
        read = {str(name).lower(): str(value) for name, value in headers.items()}
    code = said.code or str(getattr(error, "code", None) or "").lower()
    words = said.words or _CLIENTS_WORDS.sub("", " ".join(str(error).split()))
    return ProviderFault(status or said.status, code, words, read)


def _bodies(error: BaseException, response: Any, status: int | None) -> Iterator[Any]:
    """Where clients keep what the provider sent."""
    yield getattr(error, "body", None)
    yield getattr(error, "details", None)  # Google
    if status is not None:
        yield getattr(error, "error", None)  # Ollama
        with suppress(Exception):  # a stream that was not read
            yield response.text
    args: tuple[object, ...] = error.args if isinstance(error, ValueError) else ()
    yield from [one for one in args[:1] if isinstance(one, Mapping)]  # LangChain: error in a 200


def _is_status(value: object) -> bool:
    return isinstance(value, int) and 100 <= value < 600 and value != 200


class _ErrorWords:
    """Status, code and messages in an error's body, wherever they stand in it."""

    def __init__(self, body: Any) -> None:
        self.status: int | None = None
        self.code = ""
        self._found: list[str] = []
        self._read(body, _DEPTH)

    @property
    def words(self) -> str:
        return "; ".join(self._found[:_MOST_WORDS])

    def _read(self, value: Any, depth: int) -> None:
        if not depth or len(self._found) >= _MOST_WORDS:
            return
        if isinstance(value, str):
            self._read_text(value[:_BODY_CHARS].strip(), depth)
        elif isinstance(value, list | tuple):
            for item in value[:_MOST_WORDS]:
                self._read(item, depth - 1)
        elif isinstance(value, Mapping):
            self._read_fields({str(name).lower(): part for name, part in value.items()}, depth)

    def _read_text(self, text: str, depth: int) -> None:
        """Read a message, which may be JSON or HTML of another server."""
        if text[:1] in {"{", "["}:
            with suppress(ValueError, RecursionError):
                return self._read(json.loads(text), depth - 1)
        if text[:1] == "<":
            title = _TITLE.search(text)
            text = title[1] if title else _TAG.sub(" ", text)
        line = " ".join(text.split())
        if line and not any(line in known for known in self._found):
            self._found.append(line)
        return None

    def _read_fields(self, value: Mapping[str, Any], depth: int) -> None:
        for number in map(value.get, _STATUS_FIELDS):
            if isinstance(number, str) and number.isdecimal():
                number = int(number[:4])
            if self.status is None and _is_status(number):
                self.status = number
        for word in map(value.get, _CODE_FIELDS):
            if not self.code and isinstance(word, str) and not word.isdecimal():
                self.code = word.lower()
        if isinstance(value.get("loc"), list | tuple) and "msg" in value:  # FastAPI
            place = ".".join(map(str, value["loc"]))
            return self._read_text(f"{place}: {value['msg']}", depth)
        before = len(self._found)
        for name in _WORD_FIELDS:
            self._read(value.get(name), depth - 1)
        for name in _LAST_FIELDS:
            if len(self._found) == before or name in {"metadata", "raw", "reasons"}:
                self._read(value.get(name), depth - 1)
        for part in value.values() if len(self._found) == before else ():
            if isinstance(part, Mapping):
                self._read(part, depth - 1)
        return None


# What they mean.

_ABOUT_FORM = re.compile(r"(?i)grammar|json.?schema|response.?format|structured.output")
"""Servers such as llama.cpp fail with a 500 if they cannot compile a schema."""
_MODERATION = re.compile(
    r"(?i)moderat|flagged|content.{0,3}(?:policy|filter|management)|safety|guardrail|inappropriate"
    r"|DataInspection"
)
_LOADING = re.compile(r"(?i)\bloading\b")
"""llama.cpp answers with a 503 until it has loaded its model."""
_ABOUT_KEY = re.compile(
    r"(?i)\b(?:api.?)?keys?\b|credential|authenticat|authoriz|permission|account"
)
_ABOUT_MODEL = re.compile(r"(?i)\b(?:model|deployment)\b.{0,200}\b(?:not|no|unknown|exist)")
_NO_CREDIT = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_OVERLOADED = 529
"""Anthropic's own status."""
_FIRST_WAIT_S = 0.5
_LONGEST_WAIT_S = 8.0
_DOUBLINGS = 4


def clear_error(
    error: Exception,
    *,
    provider: str,
    endpoint: str,
    secrets: Sequence[str] = (),
    answered: bool = False,
) -> Exception:
    """Turn a client's exception into one clear line that says what to do next.

    ``answered`` means that an earlier call of this model succeeded: neither its key nor its name is
    wrong then, unless the provider says so.

    Returns:
        A :class:`ConfigurationError` for what the user must change (key, model name, endpoint), a
        :class:`ProviderError` for a failure of the provider; LangGraph's control-flow exceptions
        and our own errors unchanged.
    """
    if isinstance(error, ConflictScoreError | GraphBubbleUp):
        return error
    if isinstance(error, openai.APITimeoutError):
        return ProviderError(
            f"{provider} at {endpoint} did not answer in time",
            provider=provider,
            failure=FailureKind.TIMED_OUT,
        )
    if isinstance(error, openai.APIConnectionError):
        return ProviderError(
            f"{provider} cannot be reached at {endpoint}",
            provider=provider,
            failure=FailureKind.UNREACHABLE,
        )
    fault = fault_of(error)
    if fault is not None:
        words = scrubbed(fault.words, *secrets)
        status = f"HTTP {fault.status}" if fault.status else ""
        said = ": ".join(filter(None, [status, words]))
        if setting := _wrong_setting(fault, said, provider, endpoint, answered):
            return setting
        how = f"failed with {said}" if status else f"failed: {said}"
        refused = fault.status in {HTTPStatus.TOO_MANY_REQUESTS, _OVERLOADED}
        return ProviderError(
            f"{provider} {how}",
            provider=provider,
            status=fault.status,
            failure=FailureKind.REFUSED if refused else FailureKind.FAILED,
        )
    if isinstance(error, ValueError) and _MODERATION.search(str(error)):  # Azure's client
        return UnreadableReplyError(scrubbed(str(error), *secrets), provider=provider, again=False)
    if isinstance(error, ValueError | TypeError | LookupError | AttributeError):
        # the client found no chat completion in the body; it does not ask again by itself
        return UnreadableReplyError("it was no valid chat completion", provider=provider)
    return ProviderError(
        f"{provider} failed: {type(error).__name__}: {scrubbed(str(error), *secrets)}",
        provider=provider,
    )


def _wrong_setting(
    fault: ProviderFault, said: str, provider: str, endpoint: str, answered: bool
) -> ConfigurationError | None:
    """The error for a setting that no call can do with; None if only this call failed."""
    words = f"{fault.words} {fault.code}"
    if fault.status in {HTTPStatus.BAD_REQUEST, HTTPStatus.FORBIDDEN} and "logprobs" in words:
        return without_logprobs(provider)
    if fault.status == HTTPStatus.TOO_MANY_REQUESTS and fault.code in _NO_CREDIT:
        # no QuotaError, which a search has whose chain goes on with the next provider: a run over
        # many rows has to stop here, and is resumed once there is credit
        return ConfigurationError(
            f"the account behind the key for {provider} has no quota left ({said})"
        )
    if fault.status in {HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND} and _MODERATION.search(words):
        return None
    about_key = fault.status == HTTPStatus.FORBIDDEN and (not answered or _ABOUT_KEY.search(words))
    if fault.status == HTTPStatus.UNAUTHORIZED or about_key:
        return ConfigurationError(
            f"{endpoint} refused the key for {provider} ({said});"
            " check it (of OpenAI and --base-url: OPENAI_API_KEY) and what it may be used for"
        )
    if fault.status == HTTPStatus.NOT_FOUND and (not answered or _ABOUT_MODEL.search(words)):
        return ConfigurationError(
            f"{endpoint} does not know the model {provider} ({said});"
            " check the name of the model and the endpoint"
        )
    return None


def without_logprobs(provider: str) -> ConfigurationError:
    """The error for a model that gives no log-probabilities."""
    return ConfigurationError(
        f"{provider} gives no log-probabilities, which the labeler 'choice' and the form mc2 need;"
        " use the labeler 'json', or the form mc1"
    )


class TransientError(NamedTuple):
    """A failure of a provider that may not happen again."""

    kind: Literal["refused", "late", "failed"]
    """``refused``: too many calls for it now. ``late``: no answer in time. ``failed``: the rest."""
    again: bool
    """Whether the provider leaves it to us to ask again."""
    after: float | None = None
    """Seconds that it asks to wait; None if it does not say."""


def transient_error(error: Exception) -> TransientError | None:
    """Error of the endpoint in a client's exception.

    None for what the same request would meet again: a refused key, an unknown model, a bad request,
    an account without credit, a body that is no completion.
    """
    if isinstance(error, openai.APITimeoutError):
        return TransientError("late", again=True)
    if isinstance(error, openai.APIConnectionError):
        return TransientError("failed", again=True)
    fault = fault_of(error)
    if fault is None or fault.status is None:
        return None
    status, headers = fault.status, fault.headers
    if status == HTTPStatus.TOO_MANY_REQUESTS and fault.code in _NO_CREDIT:
        return None
    if status == HTTPStatus.NOT_IMPLEMENTED or (
        status == HTTPStatus.INTERNAL_SERVER_ERROR and _ABOUT_FORM.search(fault.words)
    ):
        return None
    again, after = headers.get("x-should-retry") != "false", _asked_wait(headers)
    for_now = status == HTTPStatus.SERVICE_UNAVAILABLE and (after or _LOADING.search(fault.words))
    if status in {HTTPStatus.TOO_MANY_REQUESTS, _OVERLOADED} or for_now:
        return TransientError("refused", again, after)
    if (
        status in {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT}
        or status >= HTTPStatus.INTERNAL_SERVER_ERROR
    ):
        return TransientError("failed", again, after)
    return None


def _asked_wait(headers: Mapping[str, Any]) -> float | None:
    """Seconds from now, of a header in milliseconds or in seconds."""
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        return seconds if math.isfinite(seconds) and seconds >= 0 else None
    return None


@dataclass(frozen=True)
class Retries:
    """The waits between the attempts at one call: doubled each time, with jitter.

    A call that fails or is not answered in time is made so many times in all. One that the provider
    refuses for now (429) is made again for as long as the patience lasts, however often that is, so
    that a minute of refusals loses nothing: refusals are cheap, and the endpoint's window keeps
    them few. Nothing waits for a provider that asks for more than the patience.
    """

    attempts: int = 5
    """The most attempts at a call that fails or is not answered, and the least at one that is
    refused, which may have stood in line for long between them."""
    patience: float = 180.0
    """Seconds after the first attempt at which a refused call, or one that got no answer in time,
    is not made again."""

    def wait(self, trouble: TransientError, attempt: int, spent: float) -> float | None:
        """Seconds before the next attempt; None to give up.

        ``attempt`` counts from 1; ``spent`` is in seconds since the first attempt began.
        """
        if not trouble.again:
            return None
        if trouble.after is None:
            doubled = _FIRST_WAIT_S * 2 ** min(attempt - 1, _DOUBLINGS)
            wait = min(_LONGEST_WAIT_S, doubled) * random.uniform(0.75, 1)  # noqa: S311 - jitter
        else:
            wait = trouble.after * random.uniform(1, 1.1)  # noqa: S311 - jitter
        counted, in_time = attempt < self.attempts, spent + wait <= self.patience
        worthwhile = {
            "failed": counted,
            "late": counted and in_time,
            "refused": counted or in_time,
        }
        return wait if worthwhile[trouble.kind] and wait <= self.patience else None
