"""The error that a provider sent: status, code and message, wherever its reply holds them."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import aiohttp
import httpx2
import openai

# The provider's words are in ``error``, ``detail`` or ``message``, as text, object or list; some
# send an error with the status 200, or within a choice.

_DEPTH = 6
_MOST_WORDS = 3
"""The most different messages of one error that are shown."""
_BODY_CHARS = 20_000
_STATUS_FIELDS = ("status_code", "statuscode", "status", "code")
_CODE_FIELDS = ("code", "type", "status")
_WORD_FIELDS = (
    "message",
    "msg",
    "error",
    "errors",
    "detail",
    "description",
    "error_description",
    "error_msg",
    "error_message",
    "status_msg",
)
_LAST_FIELDS = ("details", "reason", "title", "metadata", "raw", "reasons")
"""Looked at if no other field has words, or beside those of a provider that passes others on."""
_TAG = re.compile(r"<[^<>]*>")
_TITLE = re.compile(r"<(?:title|h1)[^<>]*>([^<]+)", re.IGNORECASE)
_CLIENTS_WORDS = re.compile(r"^Error code: \d{3}(?: - )?")
NO_CREDIT = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
"""Codes of an account without credit."""
UNMADE_JSON = "json_validate_failed"
"""Groq's code for a reply that its server could not make JSON of: asking again may help."""
OVERLOADED = 529
"""Anthropic's own status for too many calls."""


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


def failed_generation(error: BaseException) -> str:
    """The reply that a provider could not make JSON of; empty if it does not send it."""
    body = getattr(error, "body", None)
    reply = body.get("failed_generation") if isinstance(body, Mapping) else None
    return reply if isinstance(reply, str) else ""


def timed_out(error: BaseException) -> bool:
    """Whether a client's exception says that there was no answer in time.

    The aiohttp transport of OpenAI's client reports every lost or refused connection as a timeout,
    with aiohttp's own exception as the cause.
    """
    if not isinstance(error, openai.APITimeoutError):
        return False
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, aiohttp.ClientConnectionError):
            return isinstance(cause, aiohttp.ServerTimeoutError)
        cause = cause.__cause__
    return True


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
