"""The keys of a service: whose they are, what each may spend, and a file of them that may change.

A line of a key file is a key, or a name, a key and what may be spent with it in a day (UTC):

```
# name   key, or its SHA-256        limits in place of those of the service
door     sha256:3f1c…
newsroom kx9…                       requests=2000 tokens=5000000 usd=2.50
desk     pw4…                       runs=all
```

``runs=all`` lets a caller read and review the runs of every key; all others see their own.

Two lines with one name are two keys of one caller: to rotate a key, add the new one, and take the
old one away once nobody uses it.
"""

import hashlib
import logging
import re
from math import inf
from pathlib import Path
from typing import NamedTuple

from conflictscore.errors import InputError

__all__ = ["Allowance", "KeyFile", "KeyHolder", "digest_of", "holder_of"]

_log = logging.getLogger(__name__)

_LEAST_KEY_CHARS = 16
_HASHED = re.compile(r"sha256:([0-9a-fA-F]{64})")
_READS_ALL = "runs=all"
_NAME = re.compile(r"[0-9A-Za-z._-]{1,40}")


class Allowance(NamedTuple):
    """What may be spent in a day (UTC); None for no limit."""

    requests: float | None = None
    tokens: float | None = None
    usd: float | None = None


class KeyHolder(NamedTuple):
    """Who calls with a key."""

    name: str
    """Stands for them in runs, budgets and the audit log."""
    digest: bytes = b""
    """SHA-256 of the key."""
    allowance: Allowance = Allowance()
    reads_all: bool = False
    """Whether they may read the runs of every key."""

    @property
    def reads(self) -> str | None:
        """Whose runs they may read; None for everybody's."""
        return None if self.reads_all else self.name


def digest_of(key: str) -> bytes:
    """The SHA-256 of a key."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


def holder_of(line: str, where: str) -> KeyHolder:
    """The holder in a line.

    Args:
        line: As in the module's docstring.
        where: What errors call it; they never show the line, which may be right but for one letter.

    Raises:
        InputError: It is no such line.
    """
    fields = line.split()
    reads_all = _READS_ALL in fields[1:]
    given, limits = list[str](), dict[str, float]()
    for field in fields:
        name, _, value = field.partition("=")
        if reads_all and field == _READS_ALL:
            continue
        if name not in Allowance._fields:  # a key may have = in it
            given.append(field)
            continue
        try:
            limits[name] = float(value)
        except ValueError:
            limits[name] = inf
        if not 0 <= limits[name] < inf:
            raise InputError(f"{where}: {name} is no number from 0")
    if not 1 <= len(given) <= 2:
        raise InputError(f"{where} is not a bearer key: give NAME KEY, or a key without spaces")
    key, allowance = given[-1], Allowance(**limits)
    if hashed := _HASHED.fullmatch(key):
        digest = bytes.fromhex(hashed[1])
    elif len(key) >= _LEAST_KEY_CHARS and key.isascii() and key.isprintable():
        digest = digest_of(key)
    else:
        raise InputError(
            f"{where} is not a bearer key: give at least {_LEAST_KEY_CHARS} ASCII characters"
            " without spaces, or sha256: and 64 hexadecimal digits"
        )
    if len(given) == 1:
        return KeyHolder(digest.hex()[:32], digest, allowance, reads_all)
    if not _NAME.fullmatch(given[0]):
        raise InputError(f"{where}: give a name of at most 40 letters, digits, dots and dashes")
    return KeyHolder(given[0], digest, allowance, reads_all)


class KeyFile:
    """Keys in a file, read again whenever it has changed."""

    def __init__(self, path: Path) -> None:
        """Read the file.

        Raises:
            InputError: It cannot be read, or a line is wrong.
        """
        self._path = path
        self._seen = self._state()
        self._holders = self._read()

    def holders(self) -> tuple[KeyHolder, ...]:
        """The keys as the file has them now; one that has become wrong leaves those of before."""
        state = self._state()
        if state != self._seen:
            self._seen = state
            try:
                self._holders = self._read()
                _log.info("--key-file: %d keys", len(self._holders))
            except InputError as error:
                _log.error("%s; the keys of before are still good", error)
        return self._holders

    def _state(self) -> tuple[int, ...] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _read(self) -> tuple[KeyHolder, ...]:
        where = f"--key-file {self._path}"
        try:
            lines = [line.strip() for line in self._path.read_text("utf-8").splitlines()]
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not text"
            raise InputError(f"{where}: cannot be read ({reason})") from error
        holders = tuple(
            holder_of(line, f"{where}, line {number}")
            for number, line in enumerate(lines, 1)
            if line and not line.startswith("#")
        )
        if not holders:
            raise InputError(f"{where}: there is no key in it")
        return holders
