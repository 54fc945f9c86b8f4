"""The settings of a deployment of the service."""

import re
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Literal, get_args

from conflictscore.errors import InputError
from conflictscore.middleware.requirement import Require, check_require
from conflictscore.middleware.service.keys import key_holder

Mode = Literal["correct", "annotate"]
"""``correct`` changes what the sources disagree about; ``annotate`` gives the first answer with a
note about the disagreement."""
UncheckedPolicy = Literal["pass_through", "annotate", "refuse"]
"""Response for an answer that could not be checked: as it is, with a note, or an error.

``refuse`` is the older name of ``require="partly"``."""
FirstAnswer = Literal["rag", "upstream"]
"""The first answer is always the upstream's own: ``rag`` adds the documents that were found before
the text of the last message, ``upstream`` sends the request as it is."""

_MOST_HEARTBEAT_S = 30
_MIB = 1 << 20
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
    """How far an answer has to be checked: ``"fully"``, or ``"partly"`` for at least in part. One
    that is less, also because the check failed, is refused with HTTP 503 or by ``refusal``. One
    that states nothing, such as a greeting, passes, and so do tool calls."""
    refusal: str | None = None
    """A text to send in place of an answer that is refused; None for HTTP 503."""
    first_answer: FirstAnswer = "rag"
    """For requests with tools it is always the upstream's."""
    any_model: bool = False
    """Whether a request may name any model, and is answered by the one that is served. Clients
    whose default is a model of OpenAI's work so with nothing but the address changed."""
    keys: tuple[str, ...] = field(default=(), repr=False)
    """Bearer keys, each in the form of a line of a key file. Every caller sees the runs of its own
    key. Without any key, here or in a file, the service answers only to this machine's own names.
    """
    key_file: Path | None = None
    """A file of keys (:mod:`~conflictscore.middleware.service.keys`)."""
    no_auth: bool = False
    """Whether it answers to any name even without keys."""
    cors_origins: tuple[str, ...] = ()
    """Origins (``https://chat.example``) whose pages a browser lets call the service; none by
    default. Each is named in full: with ``*`` any page could spend a visitor's key."""
    store: str | None = field(default=None, repr=False)
    """The PostgreSQL database (``postgresql://…``) that keeps runs in place of the file."""
    max_body: int = _MIB
    """The most bytes of a request body."""
    max_concurrent: int = 32
    """The most requests served at once. As many again wait; more get HTTP 429. Where there are
    several keys, each may have half of them, so that none keeps out the others."""
    timeout: float = 300.0
    """The most seconds that a request may take, waiting included."""
    heartbeat: float = 10.0
    """Seconds between two signs of life in a stream that has no text yet."""
    runs_kept: int = 1000
    """The most runs that are kept; the least recently used one goes first."""
    runs_bytes: int = 256 * _MIB
    """The most bytes that they take."""
    runs_file: Path | None = None
    """The file that keeps runs across restarts; by default they are in memory."""

    def __post_init__(self) -> None:
        """Check each setting alone and beside the others.

        Raises:
            InputError: A value is out of its range, or has no effect; names the setting.
        """
        for name, choices in (
            ("mode", get_args(Mode)),
            ("on_failure", get_args(UncheckedPolicy)),
            ("first_answer", get_args(FirstAnswer)),
        ):
            if getattr(self, name) not in choices:
                raise InputError(f"{name} is {getattr(self, name)!r}; one of {', '.join(choices)}")
        self._settle_requirement()
        for origin in self.cors_origins:
            if not _ORIGIN.fullmatch(origin):
                raise InputError(
                    f"cors_origins: {origin!r:.100} is no origin; give its scheme, host and port,"
                    " such as https://chat.example or http://localhost:3000"
                )
        for name in ("max_body", "max_concurrent", "runs_kept", "runs_bytes"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; give at least 1")
        for name in ("timeout", "heartbeat"):
            if not 0 < getattr(self, name) < inf:
                raise InputError(f"{name} is {getattr(self, name)}; give seconds above 0")
        if self.heartbeat > _MOST_HEARTBEAT_S:
            raise InputError(f"heartbeat is {self.heartbeat}; give at most {_MOST_HEARTBEAT_S} s")
        for number, key in enumerate(self.keys, start=1):
            key_holder(key, f"key {number}")

    def _settle_requirement(self) -> None:
        """Set ``require`` where its older name is given; refuse a refusal without effect."""
        check_require(self.require)
        if self.require is None and self.on_failure == "refuse":
            object.__setattr__(self, "require", "partly")
        if self.refusal is not None and (self.require is None or not self.refusal.strip()):
            raise InputError(
                "refusal is the text in place of an answer that is refused: give it some text,"
                " and require ('fully' or 'partly') beside it"
            )
