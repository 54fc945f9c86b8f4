"""How an endpoint takes requests, as its answers and refusals have shown.

Endpoints differ in the ways to ask for JSON, in the name of the limit of a reply, and in the
parameters that a model takes. A call that is refused for one of these is sent again in the next
way, and the way that was answered is the one of all later calls of the process.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import ClassVar, Literal, NamedTuple, get_args
from weakref import WeakKeyDictionary

from conflictscore.models.prompt_turns import ABOUT_TURNS
from conflictscore.models.provider_faults import UNMADE_JSON, ProviderFault, fault_of

JsonForm = Literal["json_schema", "json_object", "tool", "prompt"]
"""How a JSON object is asked for: by a schema that the server enforces, by its JSON mode, as the
arguments of a tool call, or in the prompt alone."""
_FORMS: tuple[JsonForm, ...] = get_args(JsonForm)

_REFUSED = frozenset({400, 422})
_REFUSED_TURNS = _REFUSED | {500}
"""llama.cpp fails with a 500 if its template raises an error."""
_NOT_OFFERED = frozenset({400, 404, 405, 415, 422, 500, 501})
_ABOUT_JSON = re.compile(
    r"(?i)response.?format|json|schema|structured|guided|grammar|\btools?\b|function"
)
_ABOUT_ELSE = re.compile(
    r"(?i)context|too long|token|moderat|flagged|filter|policy|safety|quota|credit|billing|key"
)
_DROPPABLE = ("temperature", "reasoning_effort", "top_p", "seed", "parallel_tool_calls")
LENGTHS = ("max_tokens", "max_completion_tokens")
"""Names of the limit of a reply."""
_LENGTH_NAMES = re.compile(r"max_\w*tokens")
_TOO_FEW = re.compile(r"(?i)minimum|at least|>=|greater|below|too (?:small|low|short)")
_LEAST_TOKENS = 16
"""The least that OpenAI's Responses API takes; the least of others is in their words."""
_MOST_LEAST_TOKENS = 4096
"""A greater number in a refusal is no least limit, but a greatest one or a context window."""
_SCOUT_S = 1.0
"""A request in a form that a server does not know is refused at once; one that is not refused by
then has been taken."""


class RequestStyle(NamedTuple):
    """How a request is put."""

    json_form: JsonForm = "json_schema"
    dropped: frozenset[str] = frozenset()
    """Parameters that the model does not take."""
    length: str = ""
    """The name of the limit of a reply; empty for the client's own."""
    least_tokens: int = 0
    """The lowest limit of a reply that the endpoint takes; 0 for any."""
    plain_turns: bool = False
    """Whether messages are put as turns of user and assistant, none of them empty."""

    def combined_with(self, style: "RequestStyle") -> "RequestStyle":
        """This style with what another one has learned about all but JSON."""
        return RequestStyle(
            self.json_form,
            self.dropped | style.dropped,
            style.length or self.length,
            max(self.least_tokens, style.least_tokens),
            self.plain_turns or style.plain_turns,
        )


class SentRequest(NamedTuple):
    """A request that may be refused for the way it was put."""

    style: RequestStyle
    parameters: Collection[str]
    """Names of the parameters that a refusal may be about."""
    tokens: int
    """The limit of its reply."""
    is_json: bool


@dataclass
class Capabilities:
    """Capabilities that calls of one model at one endpoint have shown so far."""

    style: RequestStyle = field(default_factory=RequestStyle)
    answered: bool = False
    """Whether any call was answered, so that its key and its name are right."""
    json_read: bool = False
    """Whether any reply held the JSON that it was asked for."""
    most_tokens_read: int = 0
    """The most tokens of a prompt that its server has reported to have read."""
    _json_answered: bool = False
    _all_forms_failed: bool = False
    _scouts: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Event] = field(
        default_factory=WeakKeyDictionary
    )
    _known: ClassVar[dict[tuple[str, str], "Capabilities"]] = {}

    @classmethod
    def of(cls, endpoint: str, model: str) -> "Capabilities":
        """The process-wide record of a model at an endpoint."""
        return cls._known.setdefault((endpoint, model), cls())

    def learn(self, style: RequestStyle, *, json: bool) -> None:
        """Report a request that was answered."""
        self.answered = True
        self._json_answered = self._json_answered or json
        form = style.json_form if json else self.style.json_form
        self.style = self.style.combined_with(style)._replace(json_form=form)

    def form_failed(self) -> None:
        """Report a reply that the way of asking for JSON may have spoilt, such as an empty one.

        Some servers accept a schema and then never write a word. Until any JSON was read, the next
        request therefore asks by the prompt alone, which needs nothing of the server.
        """
        if not self.json_read:
            self.style = self.style._replace(json_form=_FORMS[-1])

    def other_style(self, request: SentRequest, error: Exception) -> RequestStyle | None:
        """Another style for a request that was refused; None if none would help."""
        fault = fault_of(error)
        if fault is None or fault.status is None or fault.code == UNMADE_JSON:
            return None
        words = f"{getattr(error, 'param', None) or ''} {fault.words}"
        style: RequestStyle | None = None
        if fault.status in _REFUSED:
            style = (
                _without_parameter(request, words)
                or _with_least_tokens(request, words)
                or _with_other_length(request, words)
            )
        if style is None and fault.status in _REFUSED_TURNS:
            style = _in_plain_turns(request, words)
        return style or (self._other_form(request.style, fault) if request.is_json else None)

    def _other_form(self, style: RequestStyle, fault: ProviderFault) -> RequestStyle | None:
        """Another way to ask for JSON, if the endpoint may have refused this one.

        One that says so is asked in the next way; one that does not say what it refuses, by the
        prompt alone, which needs nothing of it.
        """
        if fault.status not in _NOT_OFFERED:
            return None
        if self._json_answered:  # another call has found the way while this one was out
            working_form = self.style.json_form
            return (
                None if style.json_form == working_form else style._replace(json_form=working_form)
            )
        if self._all_forms_failed:
            return None
        form: JsonForm | None = None
        if style.json_form == _FORMS[-1]:
            self._all_forms_failed = True  # it was about something else
            self.style = self.style._replace(json_form=_FORMS[0])
        elif _ABOUT_JSON.search(fault.words):
            form = _FORMS[_FORMS.index(style.json_form) + 1]
        elif fault.status in {*_REFUSED, 501} and not _ABOUT_ELSE.search(fault.words):
            form = _FORMS[-1]
        if form is None:
            return None
        # calls that begin meanwhile would be refused as this one was
        self.style = self.style._replace(json_form=form)
        return style._replace(json_form=form)

    @asynccontextmanager
    async def scouting(self) -> AsyncIterator[None]:
        """Let the first call for JSON go ahead of all others, which wait for a moment."""
        loop = asyncio.get_running_loop()
        if self._json_answered:
            yield
        elif first := self._scouts.get(loop):
            with suppress(TimeoutError):
                # wait_for of Python 3.11 loses a cancellation that comes with the event
                async with asyncio.timeout(_SCOUT_S):
                    await first.wait()
            yield
        else:
            first = self._scouts[loop] = asyncio.Event()
            try:
                yield
            finally:
                first.set()


def _without_parameter(request: SentRequest, words: str) -> RequestStyle | None:
    """The style without the first parameter that a refusal names."""
    for name in _DROPPABLE:
        if name in request.parameters and name in words and name not in request.style.dropped:
            return request.style._replace(dropped=request.style.dropped | {name})
    return None


def _with_least_tokens(request: SentRequest, words: str) -> RequestStyle | None:
    """The style with the least limit of a reply that a refusal asks for."""
    if request.style.least_tokens or not (_LENGTH_NAMES.search(words) and _TOO_FEW.search(words)):
        return None
    numbers = [int(digits) for digits in re.findall(r"\d{1,6}", words)]
    enough = [number for number in numbers if request.tokens < number <= _MOST_LEAST_TOKENS]
    if not enough and request.tokens >= _LEAST_TOKENS:
        return None
    return request.style._replace(least_tokens=min(enough, default=_LEAST_TOKENS))


def _with_other_length(request: SentRequest, words: str) -> RequestStyle | None:
    """The style with the other name of a reply's limit, if a refusal names the present one."""
    if request.style.length:
        return None
    for name, other_name in (LENGTHS, LENGTHS[::-1]):
        if name in request.parameters and name in words:
            return request.style._replace(length=other_name)
    return None


def _in_plain_turns(request: SentRequest, words: str) -> RequestStyle | None:
    if request.style.plain_turns or not ABOUT_TURNS.search(words):
        return None
    return request.style._replace(plain_turns=True)
