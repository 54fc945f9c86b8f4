"""Failures of storage: killed writers, full disks, damaged files, and failing servers."""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import suppress
from functools import partial
from pathlib import Path

from conflictscore.errors import ConflictScoreError
from conflictscore.middleware.service.kept_runs import KeptRuns
from conflictscore.storage.cache import ContentCache
from conflictscore.storage.postgres import PostgresTables
from conflictscore.storage.record_file import RecordFile, RecordLines, json_line
from tests.postgres_server import PostgresServer

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
    """Kill a writer at a random moment; nothing that it has acknowledged may be lost."""
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
        told = range(max(first, last - 20), last + 1)  # only acknowledged numbers are required
        kept = [n for n in told if cache.get({"n": n}) == {"v": n}]
        cache.close()
        whole = lines == list(range(len(lines))) and len(lines) > last
        held = whole and len(kept) == len(told)
        yield None if held else f"killed after {last}: {len(lines)} lines, cached {kept}"


def faults(chance: random.Random, folder: Path) -> Generator[str | None]:
    """Let the disk become full at a random byte, and damage cached values at a random byte."""
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


class _Server(PostgresServer):
    """A PostgreSQL server in a folder; with ``before``, a standby of that server."""

    def __init__(self, folder: Path, before: "_Server | None" = None) -> None:
        folder.mkdir()
        folder.chmod(0o777)
        super().__init__(folder, _USER)
        if before is None:
            self.make()
            self.start()
            return
        made = ["--username=tests", "--no-sync", f"--pgdata={folder}/data", "--write-recovery-conf"]
        command = [self._program("pg_basebackup"), *made, "-h", str(before._folder)]
        subprocess.run(command, check=True, capture_output=True, user=_USER)  # noqa: S603 - our own
        self.start()
        # From here on, the primary acknowledges only data that both servers have.
        before.ask("ALTER SYSTEM SET synchronous_standby_names = '*'")
        before.ask("SELECT pg_reload_conf()")
        while before.ask("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'") != "1":
            time.sleep(0.05)

    def ask(self, statement: str) -> str:
        """Run a statement that returns a single value, and return that value."""
        command = [self._program("psql"), "-h", str(self._folder), "-U", "tests", "-Atc", statement]
        done = subprocess.run([*command, "postgres"], capture_output=True, check=True)  # noqa: S603
        return done.stdout.decode().strip()

    def kill(self) -> None:
        """Kill all processes of the server at once, as if its machine had failed."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


_USER = None if os.getuid() else "nobody"
"""The user that runs the server, since PostgreSQL does not run as root; None for the current
user."""


def failover(chance: random.Random, folder: Path) -> Generator[str | None]:
    """Kill PostgreSQL's primary at a random moment; its standby must have all acknowledged data.

    The stores get a single address, which names both servers and selects the one that accepts
    writes.
    """
    folder.chmod(0o777)
    folders = [folder / "a", folder / "b"]
    primary = _Server(folders[0])
    asked = f"host={folders[0]},{folders[1]}&port=5432,5432&target_session_attrs=primary"
    tables = PostgresTables(f"postgresql://tests@/postgres?{asked}")
    cache = ContentCache(tables)
    runs = KeptRuns(most=1000, most_bytes=1 << 28, store=tables)
    case = 0
    try:
        while True:
            case += 1
            standby = _Server(folders[case % 2], primary)
            lost: list[str] = []
            runs.begin(f"run {case}", "me")
            cache.put({"n": case}, {"v": case})
            runs.finish(f"run {case}", {"run_id": f"run {case}"}, partial(lost.append, "x"))
            time.sleep(chance.uniform(0, 0.1))
            primary.kill()
            with suppress(ConflictScoreError):
                cache.get({"n": case})
            standby.ask("SELECT pg_promote()")
            until, kept = time.monotonic() + 60, list[str]()
            while len(kept) < case and not lost and time.monotonic() < until:
                with suppress(ConflictScoreError):
                    kept = [name for n in range(case) if runs.get(name := f"run {n + 1}", "me")]
                time.sleep(0.05)
            subprocess.run(["rm", "-rf", str(primary._folder)], check=True)  # noqa: S603, S607
            primary = standby
            whole = len(kept) == case or lost
            yield None if whole else f"{case - len(kept)} of {case} acknowledged runs are lost"
    finally:
        tables.close()
        primary.kill()
