"""Parts of the campaign about storage: writers that are killed, full disks and damaged files."""

import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

from conflictscore.errors import ConflictScoreError
from conflictscore.storage.cache import ContentCache
from conflictscore.storage.record_file import RecordFile, RecordLines, json_line

__all__ = ["faults", "kills"]

_WRITER = """
import sys
from pathlib import Path
from conflictscore.storage.cache import ContentCache
from conflictscore.storage.record_file import RecordFile, json_line
folder = Path(sys.argv[1])
cache = ContentCache(folder / "cache.sqlite")
with RecordFile(folder / "records.jsonl") as file:
    number = sum(1 for _ in file.lines)
    file.resume()
    while True:
        file.append(json_line({"n": number, "pad": "x" * (number % 4999)}))
        cache.put({"n": number}, {"v": number})
        print(number, flush=True)
        number += 1
"""


def kills(chance: random.Random, folder: Path) -> Generator[str | None]:
    """A writer is killed at any instant; nothing that it had acknowledged is lost."""
    command = [sys.executable, "-c", _WRITER, str(folder)]
    while True:
        with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:  # noqa: S603 - our own
            assert writer.stdout is not None  # noqa: S101 - for the type checker
            try:
                first = int(writer.stdout.readline())
                time.sleep(chance.uniform(0, 0.05))
            finally:
                writer.kill()
            said = writer.stdout.read().split(b"\n")[:-1]
        last = int(said[-1]) if said else first
        lines = [json.loads(line.text)["n"] for line in RecordLines(folder / "records.jsonl")]
        cache = ContentCache(folder / "cache.sqlite")
        told = range(max(first, last - 20), last + 1)  # by this one: what was not told may be lost
        kept = [n for n in told if cache.get({"n": n}) == {"v": n}]
        cache.close()
        whole = lines == list(range(len(lines))) and len(lines) > last
        held = whole and len(kept) == len(told)
        yield None if held else f"killed after {last}: {len(lines)} lines, cached {kept}"


def faults(chance: random.Random, folder: Path) -> Generator[str | None]:
    """The disk fills at any byte, and cached values are damaged at any byte."""
    case = 0
    while True:
        case += 1
        here = folder / str(case)
        here.mkdir()
        yield _full_disk(chance, here)
        yield _damaged(chance, here / "cache.sqlite")


def _full_disk(chance: random.Random, folder: Path) -> str | None:
    records, path = 0, folder / "records.jsonl"
    cache = ContentCache(folder / "cache.sqlite")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with suppress(ConflictScoreError), RecordFile(path) as file:
        file.resume()
        resource.setrlimit(resource.RLIMIT_FSIZE, (chance.randrange(1, 200_000), before[1]))
        try:
            for number in range(60):
                cache.put({"n": number}, {"v": "x" * chance.randrange(9000)})
                file.append(json_line({"n": number, "pad": "x" * chance.randrange(9000)}))
                records += 1
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    cache.close()
    found = [json.loads(line.text)["n"] for line in RecordLines(path)]
    return None if found == list(range(records)) else f"a full disk: {len(found)} of {records}"


def _damaged(chance: random.Random, path: Path) -> str | None:
    data = bytearray(path.read_bytes())
    for _ in range(chance.randrange(1, 40)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    path.write_bytes(data)
    try:
        cache = ContentCache(path)
    except ConflictScoreError:
        return None
    found = [cache.get({"n": number}) for number in range(60)]
    cache.close()
    return None if all(one is None or isinstance(one, dict) for one in found) else "damaged: read"
