"""WikiContradict's annotations to Label Studio and back.

Formats: Label Studio's task import and its JSON export, both lists of tasks with ``data`` and
``annotations[].result[]``. Names of controls and what can be chosen are those of the supplement
(appendix A), so a project that was set up from there takes the tasks too.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click

from conflictscore.benchmarks.harness.report.label_studio import write_tasks
from conflictscore.benchmarks.wikicontradict.articles import (
    RESULT,
    Annotation,
    annotation,
    published,
    read_annotations,
)
from conflictscore.errors import ConflictScoreError, InputError

__all__ = ["AnnotatedBy", "export_tasks", "main", "read_export", "tasks"]

_CONFIG = Path(__file__).with_name("labeling_config.xml")
_TO = "wikitag"
_KINDS = {
    "wikitag_label_valid": "choices",
    "wikitag_label_samepassage": "choices",
    "taxonomy": "taxonomy",
    "confidence": "rating",
}
"""The kind of each control that is no box for text."""
_DERIVED = "Contradict type "
"""Fields that repeat what the taxonomy says; there is no control for them."""


class AnnotatedBy(NamedTuple):
    """An annotation, and whose it is."""

    annotator: str
    """Empty where the export does not say."""
    annotation: Annotation


def tasks(annotations: Iterable[Annotation]) -> list[dict[str, Any]]:
    """Annotations as Label Studio tasks: one a tagged paragraph, with all its annotations."""
    made: dict[str, dict[str, Any]] = {}
    for one in annotations:
        record = published(one)
        result = record.pop(RESULT)
        task = made.setdefault(json.dumps(record), {"data": record, "annotations": []})
        task["annotations"].append({"result": [*_results(result)]})
    return list(made.values())


def export_tasks(annotations: Iterable[Annotation], folder: Path) -> int:
    """Write ``tasks.json``, and the ``labeling_config.xml`` that shows it.

    Args:
        annotations: What to export.
        folder: Where to; it is made where there is none.

    Returns:
        How many tasks there are.

    Raises:
        InputError: The folder or a file cannot be written.
    """
    return write_tasks(tasks(annotations), folder, _CONFIG)


def read_export(path: str | Path) -> tuple[AnnotatedBy, ...]:
    """Read Label Studio's JSON export of such tasks, in its order.

    Cancelled annotations and tasks without one are passed over. Of several annotations of a task by
    one annotator, the one that was updated last counts.

    Raises:
        InputError: The file cannot be read, or is no such export; the line names task and field.
    """
    found: list[AnnotatedBy] = []
    for where, task in _tasks(Path(path)):
        data = _object(task.get("data"), f"{where}, field data")
        newest: dict[tuple[str, str], tuple[str, Annotation]] = {}
        for place, entry in _annotations(task, where):
            made = annotation(data, _fields(entry, place), place)
            updated = str(entry.get("updated_at") or entry.get("created_at") or "")
            who = _annotator(entry)
            key = (who, "" if who else place)
            if key not in newest or updated >= newest[key][0]:
                newest[key] = (updated, made)
        found += [AnnotatedBy(who, made) for (who, _), (_, made) in newest.items()]
    return tuple(found)


def _results(result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for name, value in result.items():
        if name.startswith(_DERIVED) or value == []:
            continue
        kind = _KINDS.get(name, "textarea")
        key = {"textarea": "text"}.get(kind, kind)
        listed = [value] if kind in ("textarea", "choices") else value
        yield {
            "id": name,
            "from_name": name,
            "to_name": _TO,
            "type": kind,
            "origin": "manual",
            "value": {key: listed},
        }


def _fields(entry: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The results of an annotation as ``annotationResult`` has them."""
    results = entry.get("result")
    if not isinstance(results, list):
        raise InputError(f"{where}, field result: not a list")
    fields: dict[str, Any] = {}
    for part in results:
        given = _object(part, f"{where}, field result")
        name, value = str(given.get("from_name")), given.get("value")
        value = _object(value, f"{where}, field {name}")
        if "taxonomy" in value or "rating" in value:
            fields[name] = value.get("taxonomy", value.get("rating"))
            continue
        texts = value.get("text", value.get("choices", []))
        texts = [texts] if isinstance(texts, str) else texts
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise InputError(f"{where}, field {name}: not a list of texts")
        earlier = [fields[name]] if name in fields else []
        fields[name] = "\n".join([*earlier, *texts])
    return fields


def _tasks(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    try:
        content = json.loads(path.read_text("utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as UTF-8 text ({error})") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON ({error}); export from Label Studio as JSON") from error
    if not isinstance(content, list):
        raise InputError(f"{path}: not a list of tasks; export from Label Studio as JSON")
    for number, task in enumerate(content, start=1):
        yield f"{path}, task {number}", _object(task, f"{path}, task {number}")


def _annotations(task: Mapping[str, Any], where: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    entries = task.get("annotations", [])
    if not isinstance(entries, list):
        raise InputError(f"{where}, field annotations: not a list; export as JSON, not JSON_MIN")
    for number, entry in enumerate(entries, start=1):
        place = f"{where}, annotation {number}"
        if not _object(entry, place).get("was_cancelled"):
            yield place, entry


def _annotator(entry: Mapping[str, Any]) -> str:
    who = entry.get("completed_by")
    if isinstance(who, Mapping):
        who = who.get("email") or who.get("id")
    return "" if who is None else str(who)


def _object(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InputError(f"{where}: not an object; export from Label Studio as JSON")
    return value


@click.group()
def main() -> None:
    """Take WikiContradict's annotations to Label Studio, and bring them back."""


@main.command("export")
@click.argument("annotations", type=click.Path(path_type=Path))
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
def _export(annotations: Path, folder: Path) -> None:
    """Write tasks.json and labeling_config.xml from ANNOTATIONS, published JSON lines."""
    try:
        count = export_tasks(read_annotations(annotations), folder)
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{count} tasks in {folder / 'tasks.json'}")


@main.command("import")
@click.argument("export", type=click.Path(path_type=Path))
@click.argument("annotations", type=click.Path(path_type=Path, dir_okay=False))
def _import(export: Path, annotations: Path) -> None:
    """Write ANNOTATIONS, published JSON lines, from Label Studio's JSON EXPORT."""
    try:
        read = read_export(export)
        lines = [json.dumps(published(one.annotation)) + "\n" for one in read]
        try:
            annotations.write_text("".join(lines), "ascii")
        except OSError as error:
            raise InputError(f"{annotations}: cannot be written ({error.strerror})") from None
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{len(read)} annotations in {annotations}")


if __name__ == "__main__":
    main()
