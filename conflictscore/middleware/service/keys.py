"""The keys of a service, and the format of key files.

Each line of a key file contains a key, or a name and a key:

```
# name   key, or its SHA-256
lobby    sha256:3f1c…
newsroom kx9…
desk     pw4…                       runs=all
```

``runs=all`` lets a caller read and review the runs of all callers. Other callers see only their own
runs. Two lines with the same name are two keys of one caller.

Limits without a stated reason were chosen by hand.
"""

import hashlib
import re
from pathlib import Path
from typing import NamedTuple

from conflictscore.errors import InputError

_LEAST_KEY_CHARS = 16
"""The minimum length of a key, in characters."""
# An entry of a key file that contains the hash of a key instead of the key itself.
_HASHED = re.compile(r"sha256:([0-9a-fA-F]{64})")
_READS_ALL = "runs=all"
# The name of a key's holder, which logs and metrics contain.
_NAME = re.compile(r"[0-9A-Za-z._-]{1,40}")


class KeyHolder(NamedTuple):
    """A caller of the service."""

    name: str
    """Identifies the caller in runs and reviews."""
    digest: bytes = b""
    """SHA-256 of the key."""
    reads_all: bool = False
    """Whether the caller may read the runs of all callers."""

    @property
    def reads(self) -> str | None:
        """The name of the caller whose runs this caller may read; None if it may read all."""
        return None if self.reads_all else self.name


def key_digest(key: str) -> bytes:
    """Return the SHA-256 of a key."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


def key_holder(line: str, where: str) -> KeyHolder:
    """Read a line of a key file.

    Error messages refer to the line as ``where`` and never quote it, since it may be a mistyped
    key.
    """
    fields = line.split()
    reads_all = _READS_ALL in fields[1:]
    fields = [field for field in fields if not (reads_all and field == _READS_ALL)]
    if not 1 <= len(fields) <= 2:
        raise InputError(f"{where} is not a bearer key: give NAME KEY, or a key without spaces")
    key = fields[-1]
    if hash_match := _HASHED.fullmatch(key):
        digest = bytes.fromhex(hash_match[1])
    elif len(key) >= _LEAST_KEY_CHARS and key.isascii() and key.isprintable():
        digest = key_digest(key)
    else:
        raise InputError(
            f"{where} is not a bearer key: give at least {_LEAST_KEY_CHARS} ASCII characters"
            " without spaces, or sha256: and 64 hexadecimal digits"
        )
    if len(fields) == 1:
        # a key without a name is named by half of its hash, which does not reveal the key
        return KeyHolder(digest.hex()[:32], digest, reads_all)
    if not _NAME.fullmatch(fields[0]):
        raise InputError(
            f"{where}: give a name of at most 40 letters, digits, dots, dashes and underscores"
        )
    return KeyHolder(fields[0], digest, reads_all)


def read_keys(path: Path) -> tuple[KeyHolder, ...]:
    """Read the keys in a file, which must contain at least one."""
    where = f"--key-file {path}"
    try:
        lines = [line.strip() for line in path.read_text("utf-8-sig").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a text file"
        raise InputError(f"{where}: cannot be read ({reason})") from error
    holders = tuple(
        key_holder(line, f"{where}, line {number}")
        for number, line in enumerate(lines, 1)
        if line and not line.startswith("#")
    )
    if not holders:
        raise InputError(f"{where}: the file contains no key")
    return holders
