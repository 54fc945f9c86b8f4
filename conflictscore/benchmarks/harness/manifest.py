"""The manifest of a run: its settings, which decide whether the run can be resumed."""

import hashlib
import json
import os
import platform
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import ValidationError

from conflictscore.benchmarks.json_lines import fault_in_words
from conflictscore.errors import InputError
from conflictscore.records import Record
from conflictscore.retrieval.document_files import files_of
from conflictscore.storage import manifests as storage

FORMAT: Final = 2
"""The format version of all files in a run folder.

In format 1, failed steps have no failure kind, and there are no transcripts. Runs of format 1 can
still be read and resumed.
"""
_READ_FORMATS = (1, 2)
"""The format versions that this version can read."""

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
"""The packages that affect answers, scores or figures.

The versions of these packages are recorded to explain why two runs with equal settings differ, for
example because a new version of a tokenizer cuts documents elsewhere.
"""


class Manifest(Record):
    """The benchmark, configuration and versions of a run, as plain JSON without secrets."""

    format: Literal[1, 2] = FORMAT
    benchmark: str
    created: str
    """When the run was started, in UTC, in ISO 8601 format."""
    configuration: dict[str, Any]
    """Everything that affects the figures: methods, models, prompts, retrieval, sample, seed.

    Settings that only affect how fast or how far a run goes (concurrency, rate limit, budgets) are
    omitted.
    """
    hashes: dict[str, str]
    """The SHA-256 hash of each input, by name, such as ``data`` and ``recorded``."""
    versions: dict[str, str]
    """The versions of Python and of packages, by name.

    The versions inform readers, but are not compared when a run is resumed.
    """
    compare: tuple[tuple[str, str], ...] = ()
    """The pairs of methods that ``--compare`` last named; empty if the paper's pairs are used.

    The pairs decide which figures are shown, not whether the run can be resumed.
    """


def differences(old: Manifest, new: Manifest) -> list[str]:
    """Explain why a run cannot be resumed: one line per differing setting or hash.

    The benchmark's name is compared too, but ``created`` and ``versions`` may differ.
    """
    there, now_fields = (_what_decides(manifest.to_json()) for manifest in (old, new))
    if old.format == 1:  # a run of format 1 keeps its manifest when it is resumed
        now_fields = _as_format_1(now_fields, there)
    return storage.differences(there, now_fields)


def _what_decides(fields: Mapping[str, Any]) -> dict[str, Any]:
    decides = {name: fields[name] for name in ("benchmark", "configuration", "hashes")}
    # earlier versions recorded these settings of a guard and a method, which no longer exist;
    # their runs can still be resumed
    former_settings = ("guard_margin", "resample_temperature")
    configuration = {k: v for k, v in fields["configuration"].items() if k not in former_settings}
    return decides | {"configuration": configuration}


def _as_format_1(fields: Mapping[str, Any], old: Mapping[str, Any]) -> dict[str, Any]:
    """Convert fields to what format 1 would have recorded, so that runs of format 1 can be resumed.

    Format 1 recorded fewer hashes. For a retriever, format 1 recorded only the name of the class,
    or nothing.
    """
    retrieval = dict(fields["configuration"].get("retrieval") or {})
    identity = retrieval.pop("retriever", None)
    if "retriever" in (old["configuration"].get("retrieval") or {}):
        class_path = identity["class"] if identity else "NoneType"
        retrieval["retriever"] = class_path.rpartition(".")[2]
    hashes = {name: value for name, value in fields["hashes"].items() if name in old["hashes"]}
    configuration = {**fields["configuration"], "retrieval": retrieval}
    if "retrieval" not in old["configuration"]:
        del configuration["retrieval"]
    return {**fields, "configuration": configuration, "hashes": hashes}


def read_manifest(path: Path) -> Manifest:
    """Read the manifest from a file."""
    try:
        fields = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"{path.parent}: contains no run (no {path.name}); give the folder of a run"
        ) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError):  # deeply nested JSON exceeds Python's recursion limit
        raise InputError(f"{path}: damaged, or written by another program (not JSON)") from None
    if not isinstance(fields, dict) or "format" not in fields or "benchmark" not in fields:
        raise InputError(f"{path}: damaged, or written by another program")
    if fields["format"] not in _READ_FORMATS:
        package_versions = fields.get("versions")
        writer = (
            package_versions.get("conflictscore", "?")
            if isinstance(package_versions, dict)
            else "?"
        )
        raise InputError(
            f"{path}: the run has format {storage.shown(fields['format'])}, written by"
            f" conflictscore {writer}, but this version reads formats up to {FORMAT}; resume the"
            " run with the version that started it, or give another folder"
        )
    try:
        return Manifest.model_validate(fields)
    except ValidationError as error:
        raise InputError(f"{path}: damaged ({fault_in_words(error)})") from None


def sha256_of_file(path: str | Path) -> str:
    """Return the SHA-256 hash of a file, in hexadecimal."""
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None


def found_in(search: str | None, docs: Sequence[str | Path]) -> dict[str, str]:
    """Return the hashes of the files that are searched for documents, by name in the manifest.

    The hash ``docs`` depends on the contents of the files, on their names relative to the folders,
    and on the order of the paths, but not on where the folders are.
    """
    hashes = {}
    if docs:
        digest = hashlib.sha256()
        for docs_path in map(Path, docs):
            for file in files_of(docs_path, []):
                name = file.relative_to(
                    docs_path if docs_path.is_dir() else docs_path.parent
                ).as_posix()
                # a name contains no null byte, so other names and contents cannot give this text
                digest.update(os.fsencode(name) + b"\0" + sha256_of_file(file).encode() + b"\n")
        hashes["docs"] = digest.hexdigest()
    kind, _, path = (search or "").partition(":")
    if kind.strip() == "recorded":
        hashes["recording"] = sha256_of_file(path.strip())
    return hashes


def now(timespec: Literal["seconds", "microseconds"] = "seconds") -> str:
    """Return the current time in UTC, in ISO 8601 format.

    Records of steps need microseconds: their times decide which of two records is newer.
    """
    return datetime.now(UTC).isoformat(timespec=timespec)


def versions() -> dict[str, str]:
    """Return the versions of Python and of the installed packages that affect a run's figures."""
    versions_by_name = {"python": platform.python_version()}
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):  # some packages belong to extras
            versions_by_name[name] = version(name)
    return versions_by_name
