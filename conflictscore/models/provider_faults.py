"""Finds the error in a provider's reply: its status, code and message, wherever they are.

Limits without a stated reason were chosen by hand.
"""

import json
import re
import ssl
from collections.abc import Iterator, Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any, NamedTuple

import aiohttp
import httpx2
import openai

# Errors have no common format. The provider's message is in ``error``, ``detail`` or ``message``,
# as text, an object or a list. Some providers send an error with status 200, or inside a choice.
# Services that forward requests to another provider wrap its error in their own, often as JSON in a
# string.

_DEPTH = 6
"""Maximum depth of nested objects that are searched. This depth suffices for two services that each
wrap an object in a list.
"""
_MOST_CAUSES = 8
"""At most this many nested exceptions are searched. Clients nest up to four."""
_MOST_WORDS = 3
"""Maximum number of different messages shown for one error."""
_BODY_CHARS = 20_000  # Maximum characters of an untrusted body to search.
# Fields in which servers report an HTTP status, a code and a message.
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
_PASSED_ON_FIELDS = ("metadata", "raw", "reasons")
"""Fields in which a forwarding service puts the original provider's message, next to an
uninformative one such as "Provider returned error"."""
_LAST_FIELDS = ("details", "reason", "title", *_PASSED_ON_FIELDS)
"""Fields that are read only if no earlier field has text, except that ``_PASSED_ON_FIELDS`` are
always read."""
# Error pages of proxies are HTML; their title says what happened.
_TAG = re.compile(r"<[^<>]*>")
# The title or heading of an error page in HTML.
_TITLE = re.compile(r"<(?:title|h1)[^<>]*>([^<]+)", re.IGNORECASE)
_PROXY_STATUS = re.compile(r"\d{3}\b")
"""Matches the status at the start of the clients' messages about a proxy."""
_CLIENTS_WORDS = re.compile(r"^Error code: \d{3}(?: - )?")
"""Matches the text that OpenAI's client puts before a provider's message."""
NO_CREDIT = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
"""Error codes for an account without credit."""
_UNMADE_CODES = frozenset({"json_validate_failed", "output_parse_failed", "tool_use_failed"})
"""Groq's codes for model output that its server could not parse."""
_UNMADE_WORDS = re.compile(
    r"(?i)json_validate_failed|failed_generation|failed to (?:generate|validate) (?:valid )?json"
    r"|did not (?:generate|produce|return) (?:valid )?json"
    r"|model'?s? (?:generated )?output.{0,60}pars"
    r"|pars\w{0,4} .{0,40}model'?s? output|error parsing tool call|expecting start token"
    r"|tokens remaining in message header"
)
"""Matches messages about unreadable model output, which servers such as Ollama, and vLLM for
gpt-oss, send with the status of a bad request."""
OVERLOADED = 529
"""Anthropic's own status code for an overloaded server."""


class ProviderFault(NamedTuple):
    """An error sent by a provider."""

    status: int | None
    """The HTTP status, or the status in the body if the response was a 200; None if unknown."""
    code: str = ""
    """The provider's error code in lower case; may be empty."""
    words: str = ""
    """The provider's message on one line. The message is untrusted and may quote a key."""
    headers: Mapping[str, str] = {}
    """The response's headers by lower-case name."""


def is_unmade(fault: ProviderFault) -> bool:
    """Return whether a server could not parse its model's output, so that a retry may help."""
    is_refusal = fault.status is not None and fault.status < HTTPStatus.INTERNAL_SERVER_ERROR
    return is_refusal and (fault.code in _UNMADE_CODES or bool(_UNMADE_WORDS.search(fault.words)))


def fault_of(error: BaseException) -> ProviderFault | None:
    """Return the provider's error inside a client's exception, or None if there was no reply."""
    fault = _fault(error)
    cause = error.__cause__  # clients wrap other libraries' errors
    return fault_of(cause) if fault is None and cause is not None else fault


def failed_generation(error: BaseException) -> str:
    """Return the reply that a provider could not turn into JSON; empty if it is not quoted."""
    body = getattr(error, "body", None)
    reply = body.get("failed_generation") if isinstance(body, Mapping) else None
    return reply if isinstance(reply, str) else ""


def timed_out(error: BaseException) -> bool:
    """Return whether a client's exception means that no answer arrived in time.

    OpenAI's aiohttp transport reports every lost or refused connection as a timeout. So aiohttp's
    own exception, which is the cause, decides.
    """
    if not isinstance(error, openai.APITimeoutError):
        return False
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, aiohttp.ClientConnectionError):
            return isinstance(cause, aiohttp.ServerTimeoutError)
        cause = cause.__cause__
    return True


def tls_fault(error: BaseException) -> ssl.SSLError | None:
    """Return why no secure connection could be made; None if that was not the cause."""
    # clients wrap Python's exception in one of the same type, so the innermost one is used
    faults = [cause for cause in _causes(error) if isinstance(cause, ssl.SSLError)]
    return faults[-1] if faults else None


def proxy_status(error: BaseException) -> str:
    """Return the HTTP status with which a proxy refused to connect; empty if none did."""
    refusals = (str(cause) for cause in _causes(error) if isinstance(cause, httpx2.ProxyError))
    statuses = filter(None, map(_PROXY_STATUS.match, refusals))
    return next((match[0] for match in statuses), "")


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and those that led to it."""
    cause: BaseException | None = error
    for _ in range(_MOST_CAUSES):
        if cause is None:
            return
        yield cause
        cause = cause.__cause__ or cause.__context__


def error_in_completion(completion: Any, url: str = "http://upstream") -> openai.APIError | None:
    """Return the error in a response with the status 200, or None for a chat completion.

    ``url`` is needed because the exceptions of OpenAI's client refer to a request.
    """
    body = (
        completion.model_dump(warnings=False) if hasattr(completion, "model_dump") else completion
    )
    is_page = isinstance(body, str) and body.strip()  # a web page from some other server
    error = _error_field_of(body) if isinstance(body, Mapping) else body if is_page else None
    if not error:
        return None
    error_words = _ErrorWords(error)
    request = httpx2.Request("POST", url)
    if is_page:
        return openai.APIError(error_words.words, request, body=body)
    if not (error_words.words or error_words.status):
        return None
    if error_words.status is None:
        return openai.APIError(error_words.words, request, body=error)
    response = httpx2.Response(error_words.status, request=request)
    return openai.APIStatusError(error_words.words, response=response, body=error)


def _error_field_of(body: Mapping[str, Any]) -> Any:
    """Return the part of a body that may hold an error: in a completion, the ``error`` of a choice.

    Fields of a completion may have the same names as fields of an error. So they count only in a
    body that has the field ``error`` or no choices.
    """
    choices = body.get("choices")
    if body.get("error") or not choices or not isinstance(choices, list):
        error = {name: body[name] for name in {*_STATUS_FIELDS, *_WORD_FIELDS} & body.keys()}
        return error or body.get("base_resp")  # MiniMax
    errors = [choice.get("error") for choice in choices if isinstance(choice, Mapping)]
    return next(filter(None, errors), None)


def _fault(error: BaseException) -> ProviderFault | None:
    """Return the fault in the exception itself; None if it has neither a status nor a body."""
    response = getattr(error, "response", None)
    # the ``code`` of aiohttp's errors is deprecated
    code_name = "status" if isinstance(error, aiohttp.ClientResponseError) else "code"
    code = getattr(error, code_name, None)
    statuses = (getattr(error, "status_code", None), getattr(response, "status_code", None), code)
    status = next(filter(_is_status, statuses), None)
    body = next(filter(None, _bodies(error, response, status)), None)
    if status is None and body is None:
        return None
    error_words = _ErrorWords(body)
    headers = getattr(response, "headers", None)
    header_texts: dict[str, str] = {}
    if isinstance(headers, Mapping):
        header_texts = {str(name).lower(): str(content) for name, content in headers.items()}
    code_word = error_words.code or str(code or "").lower()
    words = error_words.words or _CLIENTS_WORDS.sub("", " ".join(str(error).split()))
    return ProviderFault(status or error_words.status, code_word, words, header_texts)


def _bodies(error: BaseException, response: Any, status: int | None) -> Iterator[Any]:
    """Yield the provider's response from each place where a client may keep it."""
    yield getattr(error, "body", None)
    yield getattr(error, "details", None)  # Google
    if status is not None:  # without a status, ``error`` may be anything
        yield getattr(error, "error", None)  # Ollama
        with suppress(Exception):  # the response may be an unread stream
            yield response.text
    args: tuple[object, ...] = error.args if isinstance(error, ValueError) else ()
    # LangChain, for an error with status 200
    yield from [argument for argument in args[:1] if isinstance(argument, Mapping)]


def _is_status(number: object) -> bool:
    """Return whether a number is an error status; 200 is not, even if the body reports an error."""
    # statuses have three digits; a provider's own error codes may have more or fewer
    return isinstance(number, int) and 100 <= number < 600 and number != 200


class _ErrorWords:
    """Reads status, code and messages from anywhere in the body of an error.

    If there are several statuses or codes, the first is used. Outer objects are read before inner
    objects.
    """

    def __init__(self, body: Any) -> None:
        self.status: int | None = None
        self.code = ""
        self._messages: list[str] = []
        self._read(body, _DEPTH)

    @property
    def words(self) -> str:
        return "; ".join(self._messages[:_MOST_WORDS])

    def _read(self, part: Any, depth: int) -> None:
        if not depth or len(self._messages) >= _MOST_WORDS:
            return
        if isinstance(part, str):
            self._read_text(part[:_BODY_CHARS].strip(), depth)
        elif isinstance(part, list | tuple):
            for element in part[:_MOST_WORDS]:
                self._read(element, depth - 1)
        elif isinstance(part, Mapping):
            self._read_fields({str(name).lower(): field for name, field in part.items()}, depth)

    def _read_text(self, text: str, depth: int) -> None:
        """Read a message, which may be JSON or HTML from another server."""
        if text[:1] in {"{", "["}:
            with suppress(ValueError, RecursionError):  # if it is not JSON, it is plain text
                return self._read(json.loads(text), depth - 1)
        if text[:1] == "<":
            title = _TITLE.search(text)
            text = title[1] if title else _TAG.sub(" ", text)
        line = " ".join(text.split())
        if line and not any(line in words for words in self._messages):
            self._messages.append(line)
        return None

    def _read_fields(self, fields: Mapping[str, Any], depth: int) -> None:
        self._read_status(fields)
        self._read_code(fields)
        if isinstance(fields.get("loc"), list | tuple) and "msg" in fields:  # FastAPI
            place = ".".join(map(str, fields["loc"]))
            self._read_text(f"{place}: {fields['msg']}", depth)
        else:
            self._read_messages(fields, depth)

    def _read_status(self, fields: Mapping[str, Any]) -> None:
        for number in map(fields.get, _STATUS_FIELDS):
            if isinstance(number, str) and number.isdecimal():
                number = int(number[:4])  # no status is longer, but a hostile text may be
            if self.status is None and _is_status(number):
                self.status = number

    def _read_code(self, fields: Mapping[str, Any]) -> None:
        for word in map(fields.get, _CODE_FIELDS):
            if not self.code and isinstance(word, str) and not word.isdecimal():
                self.code = word.lower()

    def _read_messages(self, fields: Mapping[str, Any], depth: int) -> None:
        """Read the fields that hold messages; if they have no text, read all nested objects."""
        before = len(self._messages)
        for name in _WORD_FIELDS:
            self._read(fields.get(name), depth - 1)
        for name in _LAST_FIELDS:
            if len(self._messages) == before or name in _PASSED_ON_FIELDS:
                self._read(fields.get(name), depth - 1)
        if len(self._messages) == before:
            for part in fields.values():
                if isinstance(part, Mapping):
                    self._read(part, depth - 1)
