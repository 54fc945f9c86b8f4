"""Learns from an endpoint's answers and refusals which request styles it accepts.

Endpoints differ in how they produce JSON, in the parameter that limits a reply, and in the other
parameters that they accept. A request style combines these choices. A request refused because of
such a choice is sent again in a different style. All later calls of the process use the style that
succeeded. Limits without a stated reason were chosen by hand.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import ClassVar, Literal, NamedTuple, get_args
from weakref import WeakKeyDictionary

from conflictscore.models.prompt_turns import ABOUT_TURNS
from conflictscore.models.provider_faults import ProviderFault, fault_of, is_unmade

JsonForm = Literal["json_schema", "json_object", "tool", "prompt"]
"""How a JSON object is requested: with a schema that the server enforces, in JSON mode, as a tool
call's arguments, or only in the prompt. The first way leaves a model the least room for errors.
Each later way needs less support from the server, so a later way is tried after a refusal."""
_FORMS: tuple[JsonForm, ...] = get_args(JsonForm)

_REFUSED = frozenset({400, 422})
_REFUSED_TURNS = _REFUSED | {500}
"""Statuses that may mean that a server refuses the messages; llama.cpp returns 500 if its chat
template fails."""
# Statuses that servers return for a form of request that they do not offer.
_NOT_OFFERED = frozenset({400, 404, 405, 415, 422, 500, 501})
# Words that show that a refusal is about the request for JSON.
_ABOUT_JSON = re.compile(
    r"(?i)response.?format|json|schema|structured|guided|grammar|\btools?\b|function"
)
# Words that show that a refusal is about something other than the form of the request.
_ABOUT_ELSE = re.compile(
    r"(?i)context|too long|token|moderat|flagged|filter|policy|safety|quota|credit|billing|key"
)
_ABOUT_PROMPT = re.compile(
    r"(?i)context|too long|moderat|flagged|filter|policy|safety|quota|credit|billing|api.?key"
)
"""Matches a refusal of one prompt or account, even if its message also mentions JSON or tools.

Messages about JSON also contain "token" and "key", so these two words do not count here.
"""
_SAYS_NOTHING = re.compile(
    r"(?i)(?:an )?(?:(?:internal|unexpected|unknown|server) )*(?:error|failure)?(?: occurred)?\W?"
    r"|something went wrong\W?"
)
"""Matches an error without a reason, which some servers return for any request with a schema."""
_UNEXPLAINED_FAILURES = 3
"""Number of unexplained failures after which JSON is requested in a different form. One or two may
be due to a busy server; the number was chosen by hand."""
_SPOILT_REPLIES = 3
"""Number of consecutive empty replies after which a form is abandoned even if it has worked before;
chosen by hand."""
# Optional parameters, which are left out if refused.
_DROPPABLE = ("temperature", "reasoning_effort", "top_p", "seed", "parallel_tool_calls")
LENGTHS = ("max_tokens", "max_completion_tokens")
"""Parameter names for the token limit of a reply."""
# "max_tokens", "max completion tokens", "maxTokens" and the like.
_LENGTH_NAMES = re.compile(r"(?i)max[ _]?(?:[a-z]{1,20}[ _]?)?tokens")
# Words that show that a reply limit is too low.
_TOO_FEW = re.compile(
    r"(?i)minimum|at least|>|greater|larger|higher|below|more than|or more|less than|exceed|between"
    r"|\brange|too (?:small|low|short)|invalid|范围"
)
# Words that show that the limit must exceed the stated number.
_EXCLUSIVE = re.compile(r"(?i)(?:larger|more|greater|higher) than (?!or)|exceed|>(?!=)")
# The comma in a number such as 65,536.
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_LEAST_TOKENS = 16
"""The lowest limit that OpenAI's Responses API accepts; other servers state their limit in the
refusal."""
_MOST_LEAST_TOKENS = 4096
"""Largest number in a refusal that is taken for the minimum reply limit, chosen by hand. A larger
number is a maximum or a context window.
"""
_MOST_TOKENS = re.compile(
    r"(?i)(?:at most|up to|less than or equal to|<=|maximum (?:value )?(?:of|is)|\d >|\[\d{1,6},"
    r"|not (?:be )?(?:(?:greater|larger|more|higher) than|exceed|above))\W{0,3}(?:\w{1,30}=)?"
    r"(\d{1,7})"
)
"""Finds, in the text of a refusal, the maximum length that a reply may have."""
_RAN_OUT = re.compile(r"(?i)(?:higher|larger|more|increase)[\w ]{0,20} max|limit was reached")
"""Matches a refusal of a limit that a reasoning model used up before it replied."""
_LEAST_MOST_TOKENS = 256
"""Smallest number in an endpoint's refusal that is taken for its limit on the length of replies.

No endpoint limits replies to fewer than 256 tokens.
"""
_SCOUT_S = 1.0
"""Seconds that other requests wait for the outcome of the first request for JSON. A server that
does not support this kind of request refuses it within that time.
"""


class RequestStyle(NamedTuple):
    """How a request is made: the way to ask for JSON, the parameters, and the order of messages."""

    json_form: JsonForm = "json_schema"
    dropped: frozenset[str] = frozenset()
    """Parameters that the model does not accept."""
    length: str = ""
    """Name of the parameter that limits the length of a reply. If empty, the client's own name for
    it is used."""
    least_tokens: int = 0
    """The lowest reply limit that the endpoint accepts; 0 if it accepts any."""
    most_tokens: int = 0
    """The highest reply limit that the endpoint accepts; 0 if it accepts any."""
    plain_turns: bool = False
    """Whether messages are sent as non-empty turns that alternate between user and assistant."""

    def combined_with(self, style: "RequestStyle") -> "RequestStyle":
        """Return this style with the restrictions of ``style`` added; the JSON form stays."""
        return RequestStyle(
            self.json_form,
            self.dropped | style.dropped,
            style.length or self.length,
            max(self.least_tokens, style.least_tokens),
            style.most_tokens or self.most_tokens,
            self.plain_turns or style.plain_turns,
        )


class SentRequest(NamedTuple):
    """A request that the endpoint may have refused because of its style."""

    style: RequestStyle
    parameters: Collection[str]
    """Names of parameters that a refusal may refer to."""
    tokens: int
    """Maximum number of tokens of the reply."""
    is_json: bool
    plain: bool = True
    """Whether the messages are non-empty alternating turns, which every server accepts."""


@dataclass
class Capabilities:
    """Facts learned from earlier calls about one model at one endpoint."""

    style: RequestStyle = field(default_factory=RequestStyle)
    answered: bool = False
    """Whether any call was answered, which shows that the key and the model name are correct."""
    most_tokens_read: int = 0
    """The longest prompt, in tokens, that the endpoint has reported reading."""
    counts_no_cache: bool = False
    """Whether the endpoint omits cached tokens when it counts a prompt's tokens."""
    json_read: bool = False
    """Whether any reply contained the requested JSON."""
    _spoilt_in_a_row: int = 0
    """The number of replies without the requested JSON since the last reply that contained it."""
    _json_answered: bool = False
    """Whether the endpoint has answered a request for JSON in the current ``style.json_form``."""
    _all_forms_failed: bool = False
    """Whether every form was refused, and no call has been answered since."""
    _withdrawn_forms: set[JsonForm] = field(default_factory=set)
    """Forms that the endpoint once answered, and later refused or answered with empty replies."""
    _scouts: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Event] = field(
        default_factory=WeakKeyDictionary
    )
    """One event for each event loop, since an event cannot be shared between loops."""
    _known: ClassVar[dict[tuple[str, str], "Capabilities"]] = {}

    @classmethod
    def of(cls, endpoint: str, model: str) -> "Capabilities":
        """Return the facts about a model at an endpoint, shared within the process."""
        return cls._known.setdefault((endpoint, model), cls())

    def learn(self, style: RequestStyle, *, json: bool) -> None:
        """Record that a request in this style was answered.

        If the endpoint has refused a form in the meantime, a late answer to that form does not
        reinstate it.
        """
        self.answered, self._all_forms_failed = True, False
        form = self.style.json_form
        if json and style.json_form not in self._withdrawn_forms:
            self._json_answered, form = True, style.json_form
        self.style = self.style.combined_with(style)._replace(json_form=form)

    def form_failed(self, *, certain: bool) -> None:
        """Record that a reply lacks the requested JSON, perhaps because of the request's form.

        Some servers accept a schema and then write nothing; ``certain`` is true in this case. Other
        servers ignore the schema. After too many replies without JSON, further requests ask for
        JSON only in the prompt, which needs no support from the server. As long as no reply has
        contained the requested JSON, requests change after one empty reply, or after several
        replies with other text. Later, only several empty replies in a row are too many.
        """
        if not certain and self.json_read:
            return
        self._spoilt_in_a_row += 1
        at_once = certain and not self.json_read
        if at_once or self._spoilt_in_a_row >= _SPOILT_REPLIES:
            self._withdraw_forms()

    def form_failed_again(self) -> None:
        """Record that a request was sent twice and got no content, such as ``{}``, both times."""
        if not self.json_read:
            self._withdraw_forms()

    def _withdraw_forms(self) -> None:
        self._withdrawn_forms.update(_FORMS[:-1])
        self.style = self.style._replace(json_form=_FORMS[-1])

    def json_was_read(self, *, stated: bool) -> None:
        """Record a reply with the requested JSON.

        ``stated`` means that the prompt had to state the schema. If it had to, and no earlier reply
        contained JSON, the server accepts schemas but ignores them.
        """
        if stated and not self.json_read:
            self._withdraw_forms()
        self.json_read, self._spoilt_in_a_row = True, 0

    def suspects_form(self, style: RequestStyle, failures: Sequence[Exception]) -> bool:
        """Return whether a request for JSON may keep failing because of its form.

        The form is suspect if the server gave no reason for the last failure. In addition, the
        server must have answered requests of a different form, or it must have failed repeatedly
        without ever answering a request for JSON.
        """
        fault = fault_of(failures[-1])
        if fault is None or not _is_unexplained(fault) or self._all_forms_failed:
            return False
        if self._json_answered:
            return style.json_form != self.style.json_form
        return style.json_form != _FORMS[-1] and len(failures) >= _UNEXPLAINED_FAILURES

    def other_style(self, request: SentRequest, error: Exception) -> RequestStyle | None:
        """Return a different style for a refused request, or None if no other style would help."""
        fault = fault_of(error)
        # output that the server could not parse is an unreadable reply, not a refusal
        if fault is None or fault.status is None or is_unmade(fault):
            return None
        words = f"{getattr(error, 'param', None) or ''} {fault.words}"
        style: RequestStyle | None = None
        if fault.status in _REFUSED:
            # the limit's name is changed last: "max_tokens must not exceed 4096" mentions the name,
            # but asks for a smaller number
            style = (
                _without_parameter(request, words)
                or _with_least_tokens(request, words)
                or _with_most_tokens(request, words)
                or _with_other_length(request, words)
            )
        if style is None and fault.status in _REFUSED_TURNS:
            style = _in_plain_turns(request, words)
        return style or (self._other_form(request.style, fault, words) if request.is_json else None)

    def _other_form(
        self, style: RequestStyle, fault: ProviderFault, words: str
    ) -> RequestStyle | None:
        """Return a style with a different JSON form, if the endpoint may have refused this form.

        If the endpoint's error mentions JSON, the next way is tried. If the error gives no reason,
        JSON is requested only in the prompt, which needs no support from the endpoint.
        """
        if fault.status not in _NOT_OFFERED:
            return None
        if self._json_answered:
            working_form = self.style.json_form
            if style.json_form != working_form:  # another call has found it meanwhile
                return style._replace(json_form=working_form)
            if not _withdraws_form(style.json_form, fault, words):
                return None
            self._json_answered = False
            self._withdrawn_forms.add(style.json_form)
        if self._all_forms_failed:
            return None
        form: JsonForm | None = None
        if style.json_form == _FORMS[-1]:
            self._all_forms_failed = True  # so the form was not the cause
            self._withdrawn_forms.clear()
            self.style = self.style._replace(json_form=_FORMS[0])
        elif _ABOUT_JSON.search(words):
            form = _FORMS[_FORMS.index(style.json_form) + 1]
        elif _is_unexplained(fault) or (
            self._may_be_about_form(fault.status) and not _ABOUT_ELSE.search(words)
        ):
            form = _FORMS[-1]
        if form is None:
            return None
        # calls that start in the meantime would be refused for the same reason
        self.style = self.style._replace(json_form=form)
        return style._replace(json_form=form)

    def _may_be_about_form(self, status: int | None) -> bool:
        """Return whether an error that does not mention JSON may still be about the JSON form.

        415 (unsupported media) and 501 (not implemented) say that a form is not offered. If the
        endpoint has answered other requests, its address and the model's name are correct, so any
        other refusal may be about the form too. A 500 may be a passing failure.
        """
        return status in {*_REFUSED, 415, 501} or (self.answered and status != 500)

    @asynccontextmanager
    async def scouting(self) -> AsyncIterator[None]:
        """Let the first request for JSON run alone; others wait briefly for its outcome."""
        loop = asyncio.get_running_loop()
        if self._json_answered:
            yield
        elif first := self._scouts.get(loop):
            with suppress(TimeoutError):
                # asyncio.wait_for loses a cancellation that arrives together with the event in
                # Python 3.11
                async with asyncio.timeout(_SCOUT_S):
                    await first.wait()
            yield
        else:
            first = self._scouts[loop] = asyncio.Event()
            try:
                yield
            finally:
                first.set()


def _is_unexplained(fault: ProviderFault) -> bool:
    """Return whether a server failed without giving a reason."""
    return fault.status == 500 and _SAYS_NOTHING.fullmatch(fault.words) is not None


def _withdraws_form(form: JsonForm, fault: ProviderFault, words: str) -> bool:
    """Return whether a refusal shows that an endpoint no longer accepts a form that once worked.

    The endpoint may have been updated, one of its servers may support less than the others, or it
    may not support this particular schema. A failure without a reason counts too: by then,
    repeating the request has not helped.
    """
    if form == _FORMS[-1]:  # no form asks less of the server
        return False
    names_form = _ABOUT_JSON.search(words) and not _ABOUT_PROMPT.search(words)
    return _is_unexplained(fault) or bool(names_form)


def _without_parameter(request: SentRequest, words: str) -> RequestStyle | None:
    """Return the style without one of the parameters that a refusal names."""
    for name in _DROPPABLE:
        if name in request.parameters and name in words and name not in request.style.dropped:
            return request.style._replace(dropped=request.style.dropped | {name})
    return None


def _with_least_tokens(request: SentRequest, words: str) -> RequestStyle | None:
    """Return the style with the minimum reply limit that a refusal states."""
    ran_out = _RAN_OUT.search(words)
    if not (_LENGTH_NAMES.search(words) and (ran_out or _TOO_FEW.search(words))):
        return None
    numbers = [int(digits) for digits in re.findall(r"\d{1,6}", _THOUSANDS.sub("", words))]
    enough = [number for number in numbers if request.tokens < number <= _MOST_LEAST_TOKENS]
    if ran_out and request.tokens < _MOST_LEAST_TOKENS:
        enough = enough or [_MOST_LEAST_TOKENS]
    # without a usable number, OpenAI's minimum is tried, once
    if not enough and (request.style.least_tokens or request.tokens >= _LEAST_TOKENS):
        return None
    least = min(enough, default=_LEAST_TOKENS)
    return request.style._replace(least_tokens=least + bool(enough and _EXCLUSIVE.search(words)))


def _with_most_tokens(request: SentRequest, words: str) -> RequestStyle | None:
    """Return the style with the maximum reply limit that a refusal states.

    The limit that was sent may exceed this maximum because it includes tokens for reasoning.
    """
    if not _LENGTH_NAMES.search(words):
        return None
    numbers = [int(digits) for digits in _MOST_TOKENS.findall(_THOUSANDS.sub("", words))]
    enough = [number for number in numbers if _LEAST_MOST_TOKENS <= number < request.tokens]
    return request.style._replace(most_tokens=max(enough)) if enough else None


def _with_other_length(request: SentRequest, words: str) -> RequestStyle | None:
    """Return the style with the other name for the reply limit, if a refusal mentions this name.

    After an update, a server may refuse a name that it accepted before.
    """
    sent_names = {request.style.length} if request.style.length else request.parameters
    for name, other_name in (LENGTHS, LENGTHS[::-1]):
        if name in sent_names and name in words:
            return request.style._replace(length=other_name)
    return None


def _in_plain_turns(request: SentRequest, words: str) -> RequestStyle | None:
    """Return the style with plain turns, if a refusal may be about the order or form of the turns.

    Servers describe such a refusal in many ways and languages. So a refused request whose turns are
    not plain is sent again with plain turns, unless the refusal is about the length, the content or
    the account. A server error is considered here only if repeating the request has not helped.
    """
    if request.plain or request.style.plain_turns:
        return None
    if _ABOUT_PROMPT.search(words) and not ABOUT_TURNS.search(words):
        return None
    return request.style._replace(plain_turns=True)
