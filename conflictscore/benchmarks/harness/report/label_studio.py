"""Flips as Label Studio tasks, and the finished annotations back.

Formats: Label Studio's task import (a list of ``{"data": ...}``) and its JSON_MIN export (one flat
row an annotation, in which Label Studio's own ``id`` takes the place of a field of that name; ours
is therefore ``question_id``).
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from conflictscore.benchmarks.harness.methods.registry import BASELINE, METHODS
from conflictscore.benchmarks.harness.records import QuestionResult
from conflictscore.benchmarks.harness.report.flips import SECOND_LOOKS, flip_kind, justification
from conflictscore.benchmarks.harness.report.page.report_run import (
    AnswerVerdict,
    ChangeVerdict,
    FlipAnnotation,
    ReportRun,
    Review,
)
from conflictscore.errors import InputError
from conflictscore.records import Document, EvidenceLabel, Label
from conflictscore.reporting.files import write_whole
from conflictscore.storage.record_file import RecordLines

_DOCUMENT = "Document "
_CONFIG = Path(__file__).with_name("labeling_config.xml")
_SIDES = {Label.SUPPORTS: "supports the claim", Label.CONTRADICTS: "contradicts the claim"}


def tasks_of(runs: Sequence[ReportRun]) -> list[dict[str, Any]]:
    """A task for each flip, as Label Studio imports them."""
    return [
        {"data": data} for run in runs for result in run.results for data in _tasks(run, result)
    ]


def export_tasks(runs: Sequence[ReportRun], folder: Path) -> int:
    """Write ``tasks.json``, one task a flip, and the ``labeling_config.xml`` that shows it.

    Returns:
        How many tasks there are.
    """
    tasks = tasks_of(runs)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made a folder ({error.strerror})") from error
    text = json.dumps(tasks, ensure_ascii=False, indent=2, allow_nan=False)
    write_whole(folder / "tasks.json", text.encode(errors="replace"))
    write_whole(folder / "labeling_config.xml", _CONFIG.read_bytes())
    return len(tasks)


def read_annotations(path: Path) -> dict[str, dict[tuple[str, str], FlipAnnotation]]:
    """Read what reviewers said: Label Studio's JSON_MIN export, or a service's reviews.

    Tasks without an annotation are passed over. Of several annotations of a task by one reviewer,
    the one that was updated last counts.

    Args:
        path: The exported file, or one of :func:`review_row`s as JSON lines (``.jsonl``), of which
            a last one that is half written is passed over.

    Returns:
        Annotations by the question's id and the method, by the run's name. Tasks that conflictscore
        made before it exported every method's flips name none.
    """
    return annotations_in(_rows(path))


def annotations_in(
    rows: Iterable[tuple[str, Mapping[str, Any]]],
) -> dict[str, dict[tuple[str, str], FlipAnnotation]]:
    """As :func:`read_annotations`, from rows that each come with their place for errors."""
    newest: dict[tuple[str, tuple[str, str], str], tuple[str, Review]] = {}
    for where, row in rows:
        if "annotations" in row:
            raise InputError(f"{where}: this is the long export; export as JSON_MIN")
        run, question = (_text(row, field, where) for field in ("run", "question_id"))
        if row.get("annotation_id") is None:
            continue
        place = run, (question, str(row.get("method") or "")), _reviewer(row, where)
        updated, review = str(row.get("updated_at") or ""), _review(row, where)
        if place not in newest or updated >= newest[place][0]:
            newest[place] = updated, review
    found: dict[str, dict[tuple[str, str], dict[str, Review]]] = {}
    for (run, flip, reviewer), (_, review) in newest.items():
        found.setdefault(run, {}).setdefault(flip, {})[reviewer] = review
    return {
        run: {flip: FlipAnnotation(reviews=reviews) for flip, reviews in flips.items()}
        for run, flips in found.items()
    }


def _tasks(run: ReportRun, result: QuestionResult) -> Iterator[dict[str, Any]]:
    """A task for each change of answer; methods that share a step share it."""
    changed = [m for m in result.methods if m != BASELINE and result.flipped(m)]
    by_step = {METHODS[method].step or method: method for method in reversed(changed)}
    for method in reversed(by_step.values()):
        yield _task(run, result, method)


def _task(run: ReportRun, result: QuestionResult, method: str) -> dict[str, Any]:
    kind = flip_kind(result, method, run.first_measure, falls=run.falls)
    before, after = result.methods[BASELINE].answer, result.methods[method].answer
    looked = method in SECOND_LOOKS  # the others were shown no claim, and answered from everything
    question = result.question
    claims = result.claims_about(method) if looked else ()
    labels: dict[int, EvidenceLabel] = {}
    for pair in (pair for claim in claims for pair in claim.labels):
        if not _speaks(labels.get(pair.document)):
            labels[pair.document] = pair
    told = [d for d in result.documents if not looked or _speaks(labels.get(d.number))]
    reason = justification(result, method) if looked else after and after.justification
    return {
        "run": run.name,
        "question_id": question.id,
        "method": method,
        "category": question.category,
        "question": question.question,
        "options": "\n".join(question.options) or "(free form)",
        "gold": (
            question.options[question.gold]
            if question.options and question.gold is not None
            else "\n".join(question.correct) or "(there is none)"
        ),
        "kind": kind.value if kind else "",
        "before": before.text if before else "",
        "after": after.text if after else "",
        "justification": reason or "(none was given)",
        "claim": "\n".join(claim.claim.text for claim in claims),
        "documents": [
            {
                "source": _source(document, labels.get(document.number)),
                "text": document.text,
            }
            for document in told
        ],
        "document_choices": [
            {"value": f"{_DOCUMENT}{document.number}", "hint": document.title or document.url}
            for document in told
        ],
    }


def _source(document: Document, pair: EvidenceLabel | None) -> str:
    side = f", {_SIDES[pair.label]}" if pair else ""
    return f"{_DOCUMENT}{document.number}{side}: {document.title or document.url}"


def _speaks(pair: EvidenceLabel | None) -> bool:
    return pair is not None and pair.label in _SIDES


def review_row(run: str, flip: tuple[str, str], reviewer: str, said: Review) -> dict[str, Any]:
    """A review as a row of JSON_MIN."""
    return {
        "run": run,
        "question_id": flip[0],
        "method": flip[1],
        "annotation_id": uuid4().hex,
        "annotator": reviewer,
        "updated_at": datetime.now(UTC).isoformat(),
        "verdict": said.verdict.value,
        "decided_by": [f"{_DOCUMENT}{number}" for number in said.decided_by],
        "comment": said.comment,
    }


def _rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if path.suffix == ".jsonl" and path.is_file():
        for line in RecordLines(path):
            if line.text.strip().endswith(b"}"):
                where = f"{path}, line {line.number}"
                yield where, _mapping(_json(line.text, where), where)
        return
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as UTF-8 text ({error})") from error
    content = _json(text, str(path))
    if not isinstance(content, list):
        raise InputError(f"{path}: not a list of tasks; export as JSON_MIN")
    for number, row in enumerate(content, start=1):
        yield f"{path}, row {number}", _mapping(row, f"{path}, row {number}")


def _json(text: str | bytes, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InputError(f"{where}: not JSON; export from Label Studio as JSON_MIN") from None


def _review(answers: Mapping[str, Any], where: str) -> Review:
    verdicts = list(_values(answers.get("verdict")))
    known = {verdict.value: verdict for verdict in (*ChangeVerdict, *AnswerVerdict)}
    if len(verdicts) != 1 or verdicts[0] not in known:
        given = ", ".join(verdicts) or "nothing"
        names = ", ".join(known)
        raise InputError(f"{where}, field verdict: it is one of {names}, not {given[:80]!r}")
    return Review(
        verdict=known[verdicts[0]],
        decided_by=tuple(
            sorted({_number(value, where) for value in _values(answers.get("decided_by"))})
        ),
        comment="\n".join(_values(answers.get("comment"))).strip(),
    )


def _values(answer: Any) -> Iterator[str]:
    """The texts of an answer, which stand alone, in a list, or in an object by their kind."""
    if isinstance(answer, str):
        yield answer
    elif isinstance(answer, Mapping):
        yield from _values(answer.get("choices", answer.get("text")))
    elif isinstance(answer, list):
        for part in answer:
            yield from _values(part)


def _number(choice: str, where: str) -> int:
    known = re.fullmatch(f"{_DOCUMENT}([1-9][0-9]{{0,5}})", choice)
    if known is None:
        raise InputError(f"{where}, field decided_by: {choice[:80]!r} is not as 'Document 3'")
    return int(known[1])


def _reviewer(row: Mapping[str, Any], where: str) -> str:
    who = row.get("annotator")
    if not isinstance(who, str | int) or isinstance(who, bool) or who == "":
        raise InputError(f"{where}, field annotator: it does not say who annotated")
    return str(who)


def _mapping(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InputError(f"{where}: not an object; export from Label Studio as JSON_MIN")
    return value


def _text(data: Mapping[str, Any], field: str, where: str) -> str:
    value = data.get(field)
    if not isinstance(value, str) or not value:
        raise InputError(f"{where}, field {field}: missing; was this task made by conflictscore?")
    return value
