"""Reads the transcripts of a run's folder, in the format that ``harness.transcripts`` describes."""

import hashlib
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from conflictscore.errors import InputError

FOLDER = "transcripts"
GZIP = 16 + zlib.MAX_WBITS
"""The window size with which zlib reads and writes the gzip format."""
_HASH_CHARS = 16
"""The number of hexadecimal digits of a hash.

They are 64 bits. Among a million texts, two have the same hash in one of 37 million runs.
"""
# The name of a file of transcripts: "session-1.jsonl.gz".
_SESSION = re.compile(r"session-[0-9]{1,9}\.jsonl\.gz")


class TornTranscriptError(InputError):
    """A transcript was not closed, perhaps because the run was killed.

    All complete lines of the transcript were read.
    """


def hash_of(text: str) -> str:
    """Return the hash by which calls refer to a text that is stored only once."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return digest[:_HASH_CHARS]


def session_files(folder: Path) -> list[Path]:
    """Return the transcript files in a run's folder, in the order of its sessions.

    Files with other names, such as a copy made by hand, are ignored.
    """
    files = (folder / FOLDER).glob("session-*.jsonl.gz")
    return sorted((path for path in files if _SESSION.fullmatch(path.name)), key=session_number)


def session_number(path: Path) -> int:
    """Return the number in the name of a transcript file."""
    return int(path.name.split("-")[1].split(".")[0])


def read_transcript(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the calls of a session with their full texts, in the order in which the calls ended.

    Raises:
        TornTranscriptError: The file ends in the middle of a line. All complete lines have been
            yielded.
        InputError: The file cannot be read, or a line is damaged; the message names the line.
    """
    texts: dict[str, str] = {}
    for number, line in _lines(path):
        where = f"{path}, line {number}"
        try:
            fields = json.loads(line)
            if "text" in fields:
                texts[fields["text"]] = fields["is"]
                if hash_of(fields["is"]) != fields["text"]:
                    raise InputError(f"{where}: damaged (the text was changed)")
                continue
            call = {
                **fields,
                "key": _joined(fields["key"], texts),
                "parameters": json.loads(_joined(fields["parameters"], texts)),
                "messages": [
                    {**message, "content": _joined(message["content"], texts)}
                    for message in fields["messages"]
                ],
                "reply": _joined(fields["reply"], texts),
            }
        except (ValueError, RecursionError):
            raise InputError(f"{where}: damaged (not JSON)") from None
        except KeyError as error:
            raise InputError(f"{where}: damaged (field {error} is missing)") from None
        except (TypeError, AttributeError):
            raise InputError(f"{where}: damaged (not a call of a transcript)") from None
        yield call


def check_whole(path: Path) -> None:
    """Read a transcript to its end; raise the errors of :func:`read_transcript`."""
    for _ in read_transcript(path):
        pass


def _joined(parts: Sequence[str | Mapping[str, str]], texts: Mapping[str, str]) -> str:
    return "".join(part if isinstance(part, str) else texts[part["ref"]] for part in parts)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the complete lines with their numbers; raise an error if the file was not closed."""
    decompress = zlib.decompressobj(wbits=GZIP)
    rest, number = b"", 0
    try:
        with path.open("rb") as file:
            # 64 KiB at a time, so that a transcript need not fit into memory
            for chunk in iter(lambda: file.read(1 << 16), b""):
                *lines, rest = (rest + decompress.decompress(chunk)).split(b"\n")
                for line in lines:
                    number += 1
                    yield number, line
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except zlib.error:
        raise InputError(f"{path}: damaged after line {number} (not gzip)") from None
    if decompress.unused_data:
        raise InputError(f"{path}: damaged after line {number} (further bytes after the end)")
    if rest or not decompress.eof:
        raise TornTranscriptError(
            f"{path}: incomplete after line {number}, because the run was killed or is still"
            " running; the lines before that are complete"
        )
