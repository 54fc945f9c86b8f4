"""Replies of a model in one small file, so that a study can be repeated without the model.

A study keeps every reply in the cache of its --out. This command puts those caches into one file of
compressed JSON lines, each a key, which is a hash of the call, and the reply; --replies takes them
back. A call with another prompt, model or endpoint has another key and is made anew.
"""

import json
import lzma
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import click

from conflictscore.errors import InputError
from conflictscore.storage.cache import ContentCache

__all__ = ["main", "packed", "unpacked"]


def packed(caches: Iterable[Path], file: Path) -> int:
    """Put the replies of these caches into a file; how many there are.

    Raises:
        InputError: One of the caches cannot be read.
    """
    kept: dict[str, str] = {}
    for path in caches:
        try:
            with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as base:
                rows = base.execute("SELECT key, value FROM cache").fetchall()
        except sqlite3.Error as error:
            raise InputError(f"{path}: no cache of replies ({error})") from error
        values = ((key, json.loads(value)) for key, value in rows)
        kept |= {key: value["text"] for key, value in values if "text" in value}
    lines = "".join(json.dumps([key, kept[key]]) + "\n" for key in sorted(kept))
    file.write_bytes(lzma.compress(lines.encode("ascii")))
    return len(kept)


def unpacked(file: Path, cache: ContentCache) -> None:
    """Take the replies of a file into a cache.

    Raises:
        InputError: The file cannot be read; the line names file and row.
    """
    for key, text in list(_replies(file)):
        cache.keep(key, {"text": text})


def _replies(file: Path) -> Iterator[tuple[str, str]]:
    try:
        lines = lzma.decompress(file.read_bytes()).decode("ascii").splitlines()
    except (OSError, lzma.LZMAError, UnicodeError) as error:
        raise InputError(f"{file}: no file of replies ({error})") from error
    for number, line in enumerate(lines, start=1):
        try:
            key, text = map(str, json.loads(line))
        except ValueError as error:
            raise InputError(f"{file}, row {number}: no reply") from error
        yield key, text


@click.command(help=__doc__)
@click.argument("caches", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.argument("file", type=click.Path(path_type=Path))
def main(caches: tuple[Path, ...], file: Path) -> None:
    """See the module."""
    try:
        number = packed(caches, file)
    except InputError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{number:,} replies in {file}, {file.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
