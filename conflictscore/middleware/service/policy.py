"""The settings of a deployment of the service."""

from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Literal, get_args

from conflictscore.errors import InputError
from conflictscore.middleware.service.keys import holder_of

__all__ = ["FirstAnswer", "Mode", "ServiceSettings", "UncheckedPolicy"]

Mode = Literal["correct", "annotate", "observe"]
"""``correct`` answers again where the sources disagree; ``annotate`` gives the first answer, with a
note about the disagreement; ``observe`` gives the upstream's answer untouched and scores it later.
"""
UncheckedPolicy = Literal["pass_through", "annotate", "refuse"]
"""What is sent when an answer could not be checked: the answer as it is, the answer with a note
that says so, or an error in its place."""
FirstAnswer = Literal["rag", "upstream"]
"""How the first answer is made: from the documents, or by the upstream to the request as it is."""

_MOST_HEARTBEAT_S = 30
_MIB = 1 << 20


@dataclass(frozen=True)
class ServiceSettings:
    """The policy and limits of a service.

    Raises:
        InputError: A setting is out of range.
    """

    mode: Mode = "correct"
    on_failure: UncheckedPolicy = "pass_through"
    first_answer: FirstAnswer = "rag"
    """In the mode ``observe``, and for requests with tools, it is always the upstream's."""
    answer_early: bool = False
    """Whether a reply that is not streamed goes out as soon as its answer is final. The second
    answer's scores, the reason for a change and their tokens are then in the run only."""
    keys: tuple[str, ...] = field(default=(), repr=False)
    """Bearer keys, each as a line of a key file has it; whoever has one is let in, and sees its own
    runs. Without any, here or in a file, the service answers only to this machine's own names."""
    key_file: Path | None = None
    """A file of keys (:mod:`~conflictscore.middleware.service.keys`), read again whenever it has
    changed."""
    requests_per_day: int | None = None
    """The most requests of a key in a day (UTC), where its line in the file does not say."""
    tokens_per_day: int | None = None
    """The most tokens, in and out."""
    usd_per_day: float | None = None
    """The most US dollars."""
    spent_file: Path | None = None
    """The file that keeps what was spent across restarts; by default it is in memory."""
    prices: Path | None = None
    """Your own prices (TOML), in place of the published ones."""
    store: str | None = field(default=None, repr=False)
    """The PostgreSQL database (``postgresql://…``) that keeps runs and what was spent, for all
    services that name it, in place of both files."""
    audit_log: Path | None = None
    """The file that gets a line for every run; None for none."""
    audit_content: bool = False
    """Whether questions and answers go into it."""
    no_auth: bool = False
    """Whether it answers to any name even without keys."""
    max_body: int = _MIB
    """The most bytes of a request."""
    max_concurrent: int = 32
    """The most requests served at once. As many again wait; more get HTTP 429."""
    max_concurrent_per_key: int | None = None
    """The most of them with one key, and the most that wait with it. By default half of
    ``max_concurrent`` where there are several keys, so that no key keeps out the others."""
    timeout: float = 300.0
    """The most seconds that a request may take, waiting included."""
    heartbeat: float = 10.0
    """Seconds between two signs of life in a stream that has no text yet."""
    observed_waiting: int = 100
    """The most observed answers that wait to be scored; any more are dropped, and counted."""
    runs_kept: int = 1000
    """The most runs that are kept; the least recently used one goes first."""
    runs_bytes: int = 256 * _MIB
    """The most bytes that they take."""
    runs_file: Path | None = None
    """The file that keeps runs across restarts; by default they are in memory."""
    examples: tuple[str, ...] = ()
    """Questions that the chat page offers to who comes first."""
    grace: float = 30.0
    """Seconds for running requests to finish once the service is told to stop."""

    def __post_init__(self) -> None:
        for name, known in (
            ("mode", get_args(Mode)),
            ("on_failure", get_args(UncheckedPolicy)),
            ("first_answer", get_args(FirstAnswer)),
        ):
            if getattr(self, name) not in known:
                raise InputError(f"{name} is {getattr(self, name)!r}; one of {', '.join(known)}")
        if self.max_concurrent_per_key is not None and self.max_concurrent_per_key < 1:
            raise InputError(
                f"max_concurrent_per_key is {self.max_concurrent_per_key}; give at least 1"
            )
        for name in ("max_body", "max_concurrent", "observed_waiting", "runs_kept", "runs_bytes"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; give at least 1")
        for name in ("timeout", "heartbeat", "grace"):
            if not 0 < getattr(self, name) < inf:
                raise InputError(f"{name} is {getattr(self, name)}; give seconds above 0")
        if self.heartbeat > _MOST_HEARTBEAT_S:
            raise InputError(f"heartbeat is {self.heartbeat}; give at most {_MOST_HEARTBEAT_S} s")
        for name in ("requests_per_day", "tokens_per_day", "usd_per_day"):
            limit = getattr(self, name)
            if limit is not None and not 0 <= limit < inf:
                raise InputError(f"{name} is {limit}; give 0 or more")
        for number, key in enumerate(self.keys, start=1):
            holder_of(key, f"key {number}")
