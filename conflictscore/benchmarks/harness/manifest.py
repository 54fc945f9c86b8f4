"""What a run was made with: whether it can be gone on with is told by its manifest."""

import hashlib
import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import ValidationError

from conflictscore.benchmarks.harness.validation import first_fault
from conflictscore.errors import InputError
from conflictscore.records import Record
from conflictscore.retrieval.files import files_of

__all__ = [
    "FORMAT",
    "Manifest",
    "changed_versions",
    "differences",
    "read_manifest",
    "sha256_of_file",
    "sha256_of_tree",
    "versions",
]

FORMAT: Final = 1
"""The number of the run format, which is that of all files of a run folder."""

_PACKAGES = (
    "conflictscore",
    "bm25s",
    "langchain-core",
    "langchain-openai",
    "langgraph",
    "numpy",
    "openai",
    "pydantic",
    "rensa",
    "scipy",
    "selectolax",
    "statsmodels",
    "tiktoken",
    "tokenizers",
    "xllamacpp",
)
"""Packages that answers, scores or figures pass through."""

_WIDTH, _LEAD = 40, 10
"""Characters of a value that a difference shows, and how many of them lie before what differs."""


class Manifest(Record):
    """What a run was made with; all of it is plain JSON, and none of it secret."""

    format: Literal[1] = FORMAT
    benchmark: str
    created: str
    """When the run was begun, in UTC and ISO 8601."""
    configuration: dict[str, Any]
    """All that decides the figures: methods, models, prompts, retrieval, sample, seed. What only
    decides how fast or how far a run goes (concurrency, rate limit, budgets) is no part of it."""
    hashes: dict[str, str]
    """SHA-256 of what is read, by name, such as ``data`` and ``recorded``."""
    versions: dict[str, str]
    """Of Python and packages, by name; for the reader, and compared by no rule."""


def differences(old: Manifest, new: Manifest) -> list[str]:
    """Why a run is not gone on with: one line a field of benchmark, configuration and hashes.

    ``created`` and ``versions`` may differ; for the latter see :func:`changed_versions`.

    Args:
        old: The manifest of the run.
        new: What it would be gone on with.

    Returns:
        Lines such as ``configuration.model.temperature 0.0 there and 0.7 now``, in the order of
        the manifest; empty where nothing differs.
    """
    return _changes(_what_decides(old), _what_decides(new))


def changed_versions(old: Manifest, new: Manifest) -> list[str]:
    """The packages of another version than when the run was begun, one line each."""
    return _changes(old.versions, new.versions)


def read_manifest(path: Path) -> Manifest:
    """The manifest in a file.

    Raises:
        InputError: There is no such file, it cannot be read, is damaged or no manifest, or has
            another format.
    """
    advice = "put back a copy of it, or give another folder"
    try:
        fields = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"{path.parent}: there is no run in it (no {path.name}); give the folder of a run"
        ) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path}: damaged, or of another program (not JSON); {advice}") from None
    if not isinstance(fields, dict) or "format" not in fields or "benchmark" not in fields:
        raise InputError(f"{path}: damaged, or of another program; {advice}")
    if fields["format"] != FORMAT:
        raise InputError(
            f"{path}: the run has format {_shown(fields['format'])}{_writer(fields)}, and this"
            f" conflictscore reads format {FORMAT}; go on with the version that began it, or give"
            " another folder"
        )
    try:
        return Manifest.model_validate(fields)
    except ValidationError as error:
        raise InputError(f"{path}: damaged ({first_fault(error)}); {advice}") from None


def sha256_of_file(path: str | Path) -> str:
    """The SHA-256 of a file, in hexadecimal.

    Raises:
        InputError: The file cannot be read.
    """
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None


def sha256_of_tree(paths: Sequence[str | Path]) -> str:
    """One SHA-256 of the files that ``--docs`` reads in files and folders, in hexadecimal.

    It depends on their content, their names inside the folders and the order of the paths, and
    not on where the folders are.

    Raises:
        InputError: A path does not exist, cannot be read, or is a file that ``--docs`` cannot use.
    """
    digest = hashlib.sha256()
    for given in map(Path, paths):
        for file in files_of(given, []):
            name = file.relative_to(given if given.is_dir() else given.parent).as_posix()
            digest.update(os.fsencode(name) + b"\0" + sha256_of_file(file).encode() + b"\n")
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """Of Python, and of the installed packages that a run's figures pass through."""
    return {"python": platform.python_version(), **dict(_installed())}


def _installed() -> Iterator[tuple[str, str]]:
    for name in _PACKAGES:
        try:
            yield name, version(name)
        except PackageNotFoundError:
            continue


def _writer(fields: Mapping[str, Any]) -> str:
    """Which version wrote a manifest, to go on after its format, where it says so."""
    named = fields.get("versions")
    number = named.get("conflictscore") if isinstance(named, dict) else None
    return f" of conflictscore {number}" if isinstance(number, str) else ""


def _what_decides(manifest: Manifest) -> dict[str, Any]:
    """By dotted field, what must be the same to go on."""
    fields = manifest.to_json()
    return dict(_leaves({name: fields[name] for name in ("benchmark", "configuration", "hashes")}))


def _leaves(value: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, inner in value.items():
        field = f"{above}{name}"
        if isinstance(inner, dict) and inner:
            yield from _leaves(inner, f"{field}.")
        else:
            yield field, inner


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    changes = []
    for field in {**old, **new}:
        if field not in new:
            changes.append(f"{field} {_shown(old[field])} there and missing now")
        elif field not in old:
            changes.append(f"{field} missing there and {_shown(new[field])} now")
        elif old[field] != new[field]:
            before, now = (json.dumps(side[field], ensure_ascii=False) for side in (old, new))
            same = takewhile(lambda pair: pair[0] == pair[1], zip(before, now, strict=False))
            start = max(0, sum(1 for _ in same) - _LEAD)
            changes.append(f"{field} {_cut(before, start)} there and {_cut(now, start)} now")
    return changes


def _shown(value: Any) -> str:
    return _cut(json.dumps(value, ensure_ascii=False), 0)


def _cut(text: str, start: int) -> str:
    """A long text from a place on, as far as a line has room for."""
    if len(text) <= _WIDTH:
        return text
    end = start + _WIDTH
    return f"{'...' if start else ''}{text[start:end]}{'...' if end < len(text) else ''}"
