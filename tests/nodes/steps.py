"""What a step of the loop is given, made by hand: answers with their labels, settings, a state."""

from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime

from conflictscore.metric import conflict_report
from conflictscore.nodes.state import RunContext
from conflictscore.records import (
    Answer,
    Attempt,
    Claim,
    ClaimEvidence,
    ConflictReport,
    EvidenceLabel,
    Label,
    Revision,
    Way,
)

__all__ = ["attempt", "claim_with", "revision", "running", "scored", "setting"]

_LABELS = {
    "+": Label.SUPPORTS,
    "-": Label.CONTRADICTS,
    "0": Label.IRRELEVANT,
    "?": Label.UNLABELLED,
}


def claim_with(
    sides: str, text: str = "It was lit.", number: int = 1, at: tuple[int, int] | None = None
) -> ClaimEvidence:
    """A claim with one label a document: ``+``, ``-``, ``0`` for irrelevant, ``?`` for none."""
    return ClaimEvidence(
        claim=Claim(number=number, text=text, passage=at),
        labels=tuple(
            EvidenceLabel(
                claim=number,
                document=document,
                label=_LABELS[side],
                error="the judge was silent" if side == "?" else None,
            )
            for document, side in enumerate(sides, start=1)
        ),
    )


def scored(*claims: ClaimEvidence, **settings: Any) -> ConflictReport:
    """The scores of an answer with these claims."""
    return conflict_report(claims, **settings)


def attempt(report: ConflictReport | None, text: str = "In 1871.", **fields: Any) -> Attempt:
    """An answer with its scores; the first one unless ``round`` says otherwise."""
    answer = Answer(text=text, justification=fields.pop("justification", None))
    return Attempt(**{"round": 0, "answer": answer, "report": report, **fields})


def revision(before: str, after: str, start: int = 0, **fields: Any) -> Revision:
    """A passage, and what was to take its place."""
    known: dict[str, Any] = {"round": 1, "start": start, "end": start + len(before)}
    return Revision(**{**known, "before": before, "after": after, "way": Way.REPLACE, **fields})


def setting(**fields: Any) -> RunContext:
    """The settings of a run in which nobody is asked for anything."""
    nobody: Mapping[str, Any] = dict.fromkeys(("generator", "decomposer", "labeler", "prompts"))
    return RunContext(**{**nobody, **fields})


def running(context: RunContext, events: list[Any] | None = None) -> Runtime[RunContext]:
    """A run with this setting, which tells its events to a list."""
    told = [] if events is None else events
    return Runtime(context=context, stream_writer=told.append)
