"""The settings of a deployment of the service.

Limits without a stated reason were chosen by hand.
"""

import re
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Literal, get_args

from conflictscore.errors import InputError
from conflictscore.middleware.requirement import Require, check_require
from conflictscore.middleware.service.keys import key_holder

Mode = Literal["correct", "annotate"]
"""``correct`` changes claims on which sources disagree. ``annotate`` returns the first answer with
a note about the disagreement."""
UncheckedPolicy = Literal["pass_through", "annotate", "refuse"]
"""The response if an answer could not be checked: the answer alone, the answer with a note, or an
error. ``refuse`` is the older name of ``require="partly"``."""
FirstAnswer = Literal["rag", "upstream"]
"""How the first answer is requested: ``rag`` puts the retrieved documents before the text of the
last message; ``upstream`` sends the request unchanged."""

_MOST_HEARTBEAT_S = 30
"""The maximum of ``heartbeat``, in seconds."""
_MIB = 1 << 20
MOST_PAIRS = 10_000
"""The default of ``max_pairs``. It can be high, since the claims of an answer share a call."""
# An origin as browsers send it: scheme, host and port, without a path.
_ORIGIN = re.compile(
    r"https?://[A-Za-z0-9.-]{1,253}(?::[0-9]{1,5})?|https?://\[[0-9A-Fa-f:.]+\](?::[0-9]{1,5})?"
)


@dataclass(frozen=True)
class ServiceSettings:
    """The policy and limits of a service.

    Raises:
        InputError: A setting is out of range.
    """

    mode: Mode = "correct"
    on_failure: UncheckedPolicy = "pass_through"
    require: Require | None = None
    """How much of an answer must be checked: ``"fully"``, or at least ``"partly"``. Other answers,
    including answers whose check failed, are refused with HTTP 503 or ``refusal``. Tool calls and
    answers that state nothing, such as greetings, are always returned."""
    refusal: str | None = None
    """Text to send in place of a refused answer; None for HTTP 503."""
    first_answer: FirstAnswer = "rag"
    """How the first answer is requested; requests with tools are always sent unchanged."""
    any_model: bool = False
    """Whether requests may name any model; the served model always answers. Clients that default to
    an OpenAI model then need to change only the address."""
    keys: tuple[str, ...] = field(default=(), repr=False)
    """Bearer keys, each written like a line of a key file. Callers see only their own runs. If
    there is no key here or in a file, the service accepts only requests from this machine.
    """
    key_file: Path | None = None
    """A file of keys (:mod:`~conflictscore.middleware.service.keys`)."""
    no_auth: bool = False
    """Whether to accept requests from other machines even if there are no keys."""
    cors_origins: tuple[str, ...] = ()
    """Origins (``https://chat.example``) whose pages may call the service from a browser; none by
    default. ``*`` is not allowed, since any page could then use a visitor's key."""
    store: str | None = field(default=None, repr=False)
    """PostgreSQL database (``postgresql://…``) that stores runs instead of the file."""
    max_body: int = _MIB
    """Maximum size of a request body, in bytes."""
    max_concurrent: int = 32
    """Maximum number of requests served at once. The same number may wait; further requests get
    HTTP 429. If there are several keys, each can use at most half of the capacity, so that none
    blocks the others. The default was chosen by hand."""
    max_pairs: int = MOST_PAIRS
    """Maximum number of pairs of a claim and a document to label for a request. If there are more,
    only the claims that the documents cover best are labelled, and the run has a note."""
    timeout: float = 300.0
    """Maximum time for a request in seconds, including its time in the queue."""
    heartbeat: float = 10.0
    """Seconds between keep-alive events in a stream that has no text yet. Many proxies close a
    connection that is silent for a minute or less."""
    runs_kept: int = 1000
    """Maximum number of runs to store; the least recently used run is dropped first."""
    runs_bytes: int = 256 * _MIB
    """Maximum total size of the stored runs, in bytes."""
    runs_file: Path | None = None
    """File that stores runs across restarts; by default, runs are kept in memory."""

    def __post_init__(self) -> None:
        """Check each setting and the combination of all settings.

        Raises:
            InputError: A setting is out of range or has no effect; the error names it.
        """
        for name, choices in (
            ("mode", get_args(Mode)),
            ("on_failure", get_args(UncheckedPolicy)),
            ("first_answer", get_args(FirstAnswer)),
        ):
            if getattr(self, name) not in choices:
                values = ", ".join(choices)
                raise InputError(f"{name} is {getattr(self, name)!r}; give one of {values}")
        self._settle_requirement()
        for origin in self.cors_origins:
            if not _ORIGIN.fullmatch(origin):
                raise InputError(
                    f"cors_origins: {origin!r:.100} is not an origin; give scheme, "
                    "host and port,"
                    " such as https://chat.example or http://localhost:3000"
                )
        for name in ("max_body", "max_concurrent", "max_pairs", "runs_kept", "runs_bytes"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; it must be at least 1")
        for name in ("timeout", "heartbeat"):
            if not 0 < getattr(self, name) < inf:
                raise InputError(f"{name} is {getattr(self, name)}; it must be above 0")
        if self.heartbeat > _MOST_HEARTBEAT_S:
            raise InputError(f"heartbeat is {self.heartbeat}; give at most {_MOST_HEARTBEAT_S} s")
        for number, key in enumerate(self.keys, start=1):
            key_holder(key, f"key {number}")

    def _settle_requirement(self) -> None:
        """Set ``require`` if its older name is used; reject a ``refusal`` that has no effect."""
        check_require(self.require)
        if self.require is None and self.on_failure == "refuse":
            object.__setattr__(self, "require", "partly")
        if self.refusal is not None and (self.require is None or not self.refusal.strip()):
            raise InputError(
                "refusal is the text sent in place of a refused answer; it must not "
                "be empty, and needs require ('fully' or 'partly')"
            )
