"""Checks that a run's folder can be read elsewhere: its templates and transcripts are complete."""

import json
from collections.abc import Iterator
from pathlib import Path

from conflictscore.benchmarks.harness.manifest import Manifest
from conflictscore.benchmarks.harness.transcript_files import (
    TornTranscriptError,
    check_whole,
    session_files,
)
from conflictscore.errors import InputError
from conflictscore.prompts import PromptSet

TEMPLATES = "templates.json"
_UNSEEN = "so readers of the folder cannot see which prompts were sent"


def notes_on_folder(folder: Path, manifest: Manifest) -> Iterator[str]:
    """Describe each file that is missing, changed, torn or damaged, one file per line.

    The figures do not depend on these files.

    Runs of format 1 have neither templates nor transcripts.
    """
    if manifest.format == 1:
        return
    yield from _notes_on_templates(folder / TEMPLATES, manifest)
    for path in session_files(folder):
        try:
            check_whole(path)
        except TornTranscriptError as torn:
            yield str(torn)
        except InputError as error:
            yield f"{error}; the figures do not depend on this file"


def _notes_on_templates(path: Path, manifest: Manifest) -> Iterator[str]:
    prompts = manifest.configuration.get("prompts") or {}
    try:
        texts = json.loads(path.read_bytes())
    except FileNotFoundError:
        if prompts:
            yield f"{path}: missing, {_UNSEEN}"
        return
    except (OSError, ValueError, RecursionError):
        yield f"{path}: damaged (not JSON), {_UNSEEN}"
        return
    if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
        yield f"{path}: damaged (it does not map names to templates)"
    elif PromptSet(texts, name="stored").sha256 != prompts.get("sha256"):
        yield f"{path}: a template is missing or was changed: the hash differs from the manifest's"
