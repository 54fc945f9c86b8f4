"""The keys of a service, and a file of them that may change while it runs.

A line of a key file is a key, or a name and a key:

```
# name   key, or its SHA-256
lobby    sha256:3f1c…
newsroom kx9…
desk     pw4…                       runs=all
```

``runs=all`` lets a caller read and review the runs of every key; all others see their own.

Two lines with one name are two keys of one caller: to rotate a key, add the new one, and remove the
old one once nobody uses it.
"""

import hashlib
import logging
import re
from pathlib import Path
from typing import NamedTuple

from conflictscore.errors import InputError

__all__ = ["KeyFile", "KeyHolder", "key_digest", "key_holder"]

_log = logging.getLogger(__name__)

_LEAST_KEY_CHARS = 16
_HASHED = re.compile(r"sha256:([0-9a-fA-F]{64})")
_READS_ALL = "runs=all"
_NAME = re.compile(r"[0-9A-Za-z._-]{1,40}")


class KeyHolder(NamedTuple):
    """A caller."""

    name: str
    """Stands for the caller in runs and reviews."""
    digest: bytes = b""
    """SHA-256 of the key."""
    reads_all: bool = False
    """Whether the runs of every key can be read."""

    @property
    def reads(self) -> str | None:
        """The caller whose runs can be read; None for all of them."""
        return None if self.reads_all else self.name


def key_digest(key: str) -> bytes:
    """The SHA-256 of a key."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


def key_holder(line: str, where: str) -> KeyHolder:
    """Read a line of a key file.

    Errors name it as ``where`` and never show it, since it may be a mistyped key.
    """
    given = line.split()
    reads_all = _READS_ALL in given[1:]
    given = [field for field in given if not (reads_all and field == _READS_ALL)]
    if not 1 <= len(given) <= 2:
        raise InputError(f"{where} is not a bearer key: give NAME KEY, or a key without spaces")
    key = given[-1]
    if hashed := _HASHED.fullmatch(key):
        digest = bytes.fromhex(hashed[1])
    elif len(key) >= _LEAST_KEY_CHARS and key.isascii() and key.isprintable():
        digest = key_digest(key)
    else:
        raise InputError(
            f"{where} is not a bearer key: give at least {_LEAST_KEY_CHARS} ASCII characters"
            " without spaces, or sha256: and 64 hexadecimal digits"
        )
    if len(given) == 1:
        return KeyHolder(digest.hex()[:32], digest, reads_all)
    if not _NAME.fullmatch(given[0]):
        raise InputError(f"{where}: give a name of at most 40 letters, digits, dots and dashes")
    return KeyHolder(given[0], digest, reads_all)


class KeyFile:
    """Keys in a file, reloaded when it changes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = self._state()
        self._holders = self._read()

    def holders(self) -> tuple[KeyHolder, ...]:
        """The current keys; an error in a changed file is logged, and the previous keys stay."""
        state = self._state()
        if state != self._seen:
            self._seen = state
            try:
                self._holders = self._read()
                _log.info("--key-file: %d keys", len(self._holders))
            except InputError as error:
                _log.error("%s; keeping the previous keys", error)
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
            key_holder(line, f"{where}, line {number}")
            for number, line in enumerate(lines, 1)
            if line and not line.startswith("#")
        )
        if not holders:
            raise InputError(f"{where}: there is no key in it")
        return holders
