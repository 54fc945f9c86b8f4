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

from conflictscore.models.provider_faults import ProviderFault, fault_of

JsonForm = Literal["json_schema", "json_object", "tool", "prompt"]
"""How a JSON object is asked for: by a schema that the server enforces, by its JSON mode, as the
arguments of a tool call, or in the prompt alone."""
_FORMS: tuple[JsonForm, ...] = get_args(JsonForm)

_REFUSED = frozenset({400, 422})
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


@dataclass
class Capabilities:
    """Capabilities that calls of one model at one endpoint have shown so far."""

    style: RequestStyle = field(default_factory=RequestStyle)
    answered: bool = False
    """Whether any call was answered, so that its key and its name are right."""
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
        self.style = RequestStyle(
            form, self.style.dropped | style.dropped, style.length or self.style.length
        )

    def other_style(
        self, style: RequestStyle, error: Exception, *, json: bool, sent: Collection[str]
    ) -> RequestStyle | None:
        """Another style for a refused request with these parameters; None if none would help."""
        fault = fault_of(error)
        if fault is None or fault.status is None:
            return None
        named = f"{getattr(error, 'param', None) or ''} {fault.words}"
        if fault.status in _REFUSED:
            for name in _DROPPABLE:
                if name in sent and name in named and name not in style.dropped:
                    return style._replace(dropped=style.dropped | {name})
            length = style.length or next((name for name in LENGTHS[::-1] if name in sent), "")
            if length and length in named and not style.length:
                [other] = {*LENGTHS} - {length}
                return style._replace(length=other)
        return self._other_form(style, fault) if json else None

    def _other_form(self, style: RequestStyle, fault: ProviderFault) -> RequestStyle | None:
        """Another way to ask for JSON, if the endpoint may have refused this one.

        One that says so is asked in the next way; one that does not say what it refuses, by the
        prompt alone, which needs nothing of it.
        """
        if fault.status not in _NOT_OFFERED:
            return None
        if self._json_answered:  # another call has found the way while this one was out
            known = self.style.json_form
            return None if style.json_form == known else style._replace(json_form=known)
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
