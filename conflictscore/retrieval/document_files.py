"""Finds the files below a path and reads the documents in each file."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from conflictscore.errors import InputError, NoDocumentsError
from conflictscore.records import Document
from conflictscore.retrieval.pages.page import UnreadableError
from conflictscore.retrieval.reading.box import shared_box
from conflictscore.retrieval.reading.by_ending import ENDINGS, PLAIN_ENDINGS, read_file
from conflictscore.retrieval.reading.texts import FileDocument, Note, NoteKind, Notes

_NOTES_SHOWN = 3
"""Maximum number of notes that an error message includes, so that it stays readable."""
_LARGEST = 20_000_000
"""Maximum size of a file to read, in bytes; chosen by hand. The process that reads files has
limited time and memory, and larger files are seldom text."""
_ENDINGS = ", ".join(ENDINGS)


@dataclass(frozen=True, slots=True)
class ReadResult:
    """The documents in files, numbered in the order of paths, and notes about the reading."""

    documents: tuple[Document, ...]
    notes: tuple[Note, ...]


def read_documents(paths: str | Path | Sequence[str | Path]) -> ReadResult:
    """Reads the files at these paths, including all files in folders and their subfolders.

    Each text file (.txt, .md), caption file (.srt, .vtt), notebook (.ipynb), email (.eml), web page
    (.html, .htm), book (.epub), text document (.docx, .odt, .rtf), workbook (.xlsx), presentation
    (.pptx) or PDF (with the extra ``docs``) becomes one document. In a .jsonl file, each line is a
    document: an object with ``text`` and, optionally, ``title``, ``url`` and other single values,
    which become metadata. In a .csv file, each row is a document, and the columns are named after
    these fields. Unusable lines and rows are left out; a note names each of them.

    All formats except plain text are read in a separate process with limited time and memory, since
    a hostile file can make a parser hang or use up all memory. In a folder, hidden files and files
    with unsupported extensions are skipped. Unusable files, linked folders, and links that lead out
    of the folder or to a file that would be skipped, are left out with a note. A folder that cannot
    be opened is an error, since nobody knows what it would have contained. A file that several
    paths lead to is read once.

    Raises:
        InputError: A path does not exist or cannot be read, or a file passed by name cannot be
            used. The message names the file.
        NoDocumentsError: None of the paths contains a readable document.
    """
    # a string is also a sequence of strings, and "/" alone would be the whole disk
    paths = [paths] if isinstance(paths, str | Path) else paths
    if not paths:
        raise InputError("no file or folder to read was given")
    documents: list[Document] = []
    notes: Notes = []
    real_paths: set[str] = set()
    for path in paths:
        for file in files_of(path, notes):
            if (real := os.path.realpath(file)) in real_paths:
                continue
            real_paths.add(real)
            try:
                file_documents, file_notes = _read_file(file, _shown(file))
            except UnreadableError as unusable:
                if file == Path(path):
                    raise InputError(f"{_shown(file)}: {unusable}") from None
                sentence = f"{_shown(file)}: {unusable}, left out"
                notes.append(Note(NoteKind.FILE_LEFT_OUT, sentence))
                continue
            notes += file_notes
            documents += (
                Document(number=number, **document._asdict())
                for number, document in enumerate(file_documents, len(documents) + 1)
            )
    if not documents:
        where = ", ".join(_shown(Path(path)) for path in paths)
        reasons = f" ({'; '.join(notes[:_NOTES_SHOWN])})" if notes else ""
        raise NoDocumentsError(f"nothing to read in {where}: files must end in {_ENDINGS}{reasons}")
    return ReadResult(tuple(documents), tuple(notes))


def _shown(path: Path) -> str:
    """Return the path with forward slashes, as text that every output encoding can represent."""
    return os.fsencode(path.as_posix()).decode("utf-8", "replace")


def files_of(path_given: str | Path, notes: Notes) -> Iterator[Path]:
    """Yield the files to read at a path, sorted by name; add a note if files are skipped.

    Raises:
        InputError: The path does not exist, cannot be read, or is a file with an unsupported
            extension.
    """
    path = Path(path_given)
    if not str(path_given):
        raise InputError("the path of a file or folder to read is empty")
    try:
        path.stat()
    except FileNotFoundError:
        raise InputError(f"{_shown(path)}: there is no such file or folder") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        # for example, the path may be too long for the system
        raise InputError(f"{_shown(path)[:200]}: cannot be read ({reason})") from None
    if path.is_dir():
        yield from _walk(path, notes)
    elif path.suffix.lower() not in ENDINGS:
        raise InputError(
            f"{_shown(path)}: its extension is not supported; files must end in {_ENDINGS}"
        )
    else:
        yield path


def _walk(folder: Path, notes: Notes) -> list[Path]:
    """Return a folder's readable files, sorted by path; links to folders are not followed."""
    visible: list[Path] = []
    linked: list[Path] = []
    for root, folders, names in os.walk(folder, onerror=_cannot_read):
        folders[:] = [name for name in folders if not name.startswith(".")]
        linked += [path for name in folders if (path := Path(root, name)).is_symlink()]
        visible += [Path(root, name) for name in names if not name.startswith(".")]
    readable = [path for path in visible if path.suffix.lower() in ENDINGS]
    top = os.path.realpath(folder)
    refused_links = _refused_links(top, filter(Path.is_symlink, readable))
    for reason, paths in refused_links.items():
        notes += _left_out(paths, reason)
    notes += _left_out(linked, "a link to a folder")  # a folder can contain a link to itself
    notes += _passed_over(folder, len(visible) - len(readable))
    return sorted({*readable}.difference(*refused_links.values()), key=lambda path: path.parts)


def _refused_links(top: str, links: Iterable[Path]) -> dict[str, list[Path]]:
    """Return the links that must not be followed, by the reason."""
    outside, others = list[Path](), list[Path]()
    for link in links:
        if not _lies_in(top, link):
            outside.append(link)
        elif not _is_readable(link):
            others.append(link)
    return {
        "a link that leads out of the folder": outside,
        "a link to a hidden file or a file with another ending": others,
    }


def _left_out(paths: Sequence[Path], what: str) -> Iterator[Note]:
    for path in sorted(paths):
        yield Note(NoteKind.FILE_LEFT_OUT, f"{_shown(path)}: is {what}, left out")


def _passed_over(folder: Path, number: int) -> Iterator[Note]:
    if number:
        count = "1 file" if number == 1 else f"{number} files"
        sentence = f"{_shown(folder)}: skipped {count} whose names do not end in {_ENDINGS}"
        yield Note(NoteKind.FILES_PASSED_OVER, sentence)


def _lies_in(top: str, path: Path) -> bool:
    """Return whether a link points below ``top``, a folder whose path contains no links."""
    return Path(os.path.realpath(path)).is_relative_to(top)


def _is_readable(link: Path) -> bool:
    """Return whether the file that a link points to would be read if it lay in the folder itself.

    A link must not disguise a file that is skipped, such as ``.env`` or ``.git/config``.
    """
    file = Path(os.path.realpath(link))
    return not file.name.startswith(".") and file.suffix.lower() in ENDINGS


def _cannot_read(error: OSError) -> None:
    raise InputError(
        f"{_shown(Path(error.filename))}: the folder cannot be read ({error.strerror})"
    )


def _read_file(path: Path, url: str) -> tuple[list[FileDocument], Notes]:
    """Read a file's documents; ``url`` is their address in citations, which here is the path."""
    ending = path.suffix.lower()
    try:
        if not path.is_file():
            raise UnreadableError("is not a file")
        if path.stat().st_size > _LARGEST:
            raise UnreadableError(f"is larger than {_LARGEST // 1_000_000} MB")
        data = path.read_bytes()
    except OSError as error:
        raise UnreadableError(f"cannot be read ({error.strerror})") from None
    if ending in PLAIN_ENDINGS:
        return read_file(data, ending, url)
    return shared_box().read(data, ending, url)
