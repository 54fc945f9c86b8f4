"""Reports written and scored, resumably: each step is kept the moment it is paid for."""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from conflictscore.benchmarks.reports.topics import Topic
from conflictscore.benchmarks.reports.writing import Report, Style, write_report
from conflictscore.benchmarks.resumable_rows import ResumableRows
from conflictscore.errors import ConfigurationError, ProviderError
from conflictscore.graph.scoring import ScoringGraph, build_scoring_graph
from conflictscore.labelers.asking import together
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.state import RunContext, ScorerInput
from conflictscore.records import Attempt, ConflictReport, Record, Usage

__all__ = ["ReportRow", "latest", "open_rows", "write_and_score"]


class ReportRow(Record):
    """What is known of a report after a step; a later row of the same report replaces it."""

    set: str
    topic: str
    """The topic's id within its set."""
    about: str
    """The topic."""
    style: Style
    report: Report | None = None
    """None where it could not be written."""
    score: ConflictReport | None = None
    """None where it was not scored yet, or its writing failed."""
    notes: tuple[str, ...] = ()
    """What the reader of the score should know."""
    error: str | None = None
    """Why the report, or its score, could not be had."""
    usage: Usage = Usage()
    """Of this step alone."""
    seconds: Annotated[float, Field(ge=0)] = 0.0

    @property
    def key(self) -> tuple[str, str, Style]:
        """What a report is told apart by."""
        return (self.set, self.topic, self.style)

    @property
    def done(self) -> bool:
        """Whether it is scored, or has no claim to score."""
        return self.score is not None and self.error is None


def open_rows(
    path: Path, context: RunContext
) -> "AbstractContextManager[ResumableRows[ReportRow]]":
    """The file of a run, begun or gone on with; see :meth:`ResumableRows.open`.

    Raises:
        InputError: It cannot be used, or its rows were made by other models or prompts.
    """
    identity = context.labeler.identity
    setup: dict[str, Any] = {
        "reports": 1,
        "writer": [context.generator.name, context.generator.endpoint],
        "decomposer": [context.decomposer.name, context.decomposer.endpoint],
        "labeler": context.labeler.name,
        "labeler_identity": None if identity is None else _hash(identity),
        "prompts": context.prompts.sha256_of(
            "document", "decompose", *(style.template for style in Style)
        ),
        "max_claims": context.max_claims,
        "duplicates_vote": context.duplicates_vote,
    }
    return ResumableRows.open(path, ReportRow, setup)


def latest(rows: Iterable[ReportRow]) -> dict[tuple[str, str, Style], ReportRow]:
    """The last row of each report."""
    return {row.key: row for row in rows}


async def write_and_score(
    topics: Sequence[Topic],
    styles: Sequence[Style],
    context: RunContext,
    rows: ResumableRows[ReportRow],
    *,
    concurrency: int = 4,
    on_report: Callable[[ReportRow], None] = lambda row: None,
) -> None:
    """Write and score every report that is not scored yet; what failed before is tried again.

    A report that was written in an earlier session is not written again.

    Args:
        topics: What about.
        styles: How; each topic in each.
        context: The generator writes, the decomposer takes reports apart, the labeler labels.
        rows: Where rows are, and are added.
        concurrency: Reports at a time, at least 1.
        on_report: Called with the last new row of each report.

    Raises:
        ConfigurationError: A setting is wrong, or the file cannot be written.
        BudgetError: A budget of the models is used up.
    """
    known = latest(rows.rows)
    waiting = (
        (topic, style, known.get((topic.set, topic.id, style)))
        for topic in topics
        for style in styles
    )
    graph = build_scoring_graph(context)

    async def work() -> None:
        for topic, style, row in waiting:
            if row is None or not row.done:
                on_report(await _report(topic, style, row, context, graph, rows))

    await together([work] * concurrency)


def _hash(identity: Mapping[str, Any]) -> str:
    return sha256(json.dumps(dict(identity), sort_keys=True).encode()).hexdigest()


async def _report(
    topic: Topic,
    style: Style,
    row: ReportRow | None,
    context: RunContext,
    graph: ScoringGraph,
    rows: ResumableRows[ReportRow],
) -> ReportRow:
    if row is None or row.report is None:
        row = await _written(topic, style, context)
        rows.append(row)
    if row.report is None:
        return row
    scored = await _scored(topic, row, row.report, graph)
    rows.append(scored)
    return scored


async def _written(topic: Topic, style: Style, context: RunContext) -> ReportRow:
    meter, since = UsageMeter(), time.perf_counter()
    report, error = None, None
    try:
        report = await write_report(
            topic, style, model=context.generator, prompts=context.prompts, meter=meter
        )
    except ProviderError as failure:
        error = f"the report could not be written: {failure}"
    return ReportRow(
        set=topic.set,
        topic=topic.id,
        about=topic.text,
        style=style,
        report=report,
        error=error,
        usage=meter.usage,
        seconds=round(time.perf_counter() - since, 3),
    )


async def _scored(topic: Topic, row: ReportRow, report: Report, graph: ScoringGraph) -> ReportRow:
    since = time.perf_counter()
    given: ScorerInput = {
        "answer": report.text,
        "documents": [{"text": d.text, "title": d.title, "url": d.url} for d in topic.documents],
    }
    state = await graph.ainvoke(given)
    [attempt] = [Attempt.model_validate(made) for made in state["attempts"]]
    if attempt.report is None:
        raise ConfigurationError("the scoring graph gave no score")
    return row.model_copy(
        update={
            "score": attempt.report,
            "notes": (*report.notes, *state["notes"]),
            "error": attempt.report.error,
            "usage": Usage.model_validate(state["usage"]),
            "seconds": round(time.perf_counter() - since, 3),
        }
    )
