"""Questions about lamps, answered twice, for reports and exports."""

from collections.abc import Sequence
from typing import Any

from conflictscore.benchmarks.harness.conflict_types import ConflictType
from conflictscore.benchmarks.harness.methods.registry import LOOP, METHODS
from conflictscore.benchmarks.harness.records import (
    Guard,
    MethodResult,
    Question,
    QuestionResult,
    Verdict,
)
from conflictscore.benchmarks.harness.report.page.report_run import ReportRun
from conflictscore.benchmarks.harness.transition_counts import figures
from conflictscore.records import (
    Answer,
    Claim,
    ClaimEvidence,
    ConflictReport,
    Document,
    EvidenceLabel,
    Label,
    Usage,
)
from tests.benchmarks.harness.recorded import unpriced

RAG, CONTROL = "rag", "control-rag"
REGENERATED, GUARDED = "regenerated-rag", "guarded-rag"
TYPED, PIPELINE = "taxonomy-aware", "pipeline"

SNIPPET = "the lamp  was lit\nin 1874"
"""A judge's quote, whose white space and case differ from the document's."""

_MEASURES = (("accuracy",), ("truthful", "informative"), ("recall",))
"""The measures by which a run's questions are judged."""

PWN = "window.__pwned = true"
HOSTILE = (
    f'</script></style></title><script>{PWN}</script><img src=x onerror="{PWN}">'
    f'" onmouseover="{PWN}" \u202eright to left\u202c \x1b[2J \ud800 {{{{ 7 * 7 }}}}'
)
"""Text with which a document or a model might take over the page."""


def documents(count: int) -> tuple[Document, ...]:
    """Documents, each with the snippet in its middle."""
    half = "The keeper wrote the log by hand every night. " * 10
    return tuple(
        Document(
            number=number,
            text=f"{half}The lamp was lit in 1874, says volume {number}. {half}",
            title=f"Log, volume {number}",
            url=f"https://log.test/{number}",
        )
        for number in range(1, count + 1)
    )


def evidence(sides: str = "SCI", claim: str = "The lamp was lit in 1871.") -> ClaimEvidence:
    """A claim, with one letter per document: supports, contradicts, irrelevant, unlabelled."""
    kinds = {"S": Label.SUPPORTS, "C": Label.CONTRADICTS, "I": Label.IRRELEVANT}
    return ClaimEvidence(
        claim=Claim(number=1, text=claim),
        labels=tuple(
            EvidenceLabel(
                claim=1,
                document=number,
                label=kinds.get(side, Label.UNLABELLED),
                snippet=SNIPPET if side in "SC" else None,
                snippet_found=True if side in "SC" else None,
                reasoning="The years were compared." if side in "SC" else None,
                error=None if side in kinds else "the judge did not answer",
            )
            for number, side in enumerate(sides, start=1)
        ),
    )


def _report(sides: str) -> ConflictReport:
    found = evidence(sides)
    for_it, against = len(found.supports), len(found.contradicts)
    return ConflictReport(
        cs_c=float(found.conflicting),
        cs_r=against / (for_it + against) if for_it + against else 0.0,
        coverage=1.0,
        claims=(found,),
    )


def _lamp(name: str, sides: str, about: dict[str, Any], **fields: Any) -> QuestionResult:
    """A question with documents on these sides, whose first answer has a conflict."""
    question = {"id": name, "question": f"When was the lamp of {name} lit?", "category": "Lamps"}
    given = {
        "question": Question(**{**question, **about}),
        "documents": documents(len(sides)),
        "conflict": True,
        "reconsidered": evidence(sides),
    }
    return QuestionResult(**{**given, **fields})


def choice(
    name: str,
    before: int,
    after: int | None,
    *,
    gold: int = 0,
    refused: bool = False,
    category: str = "Lamps",
    sides: str = "SCI",
    **changes: Any,
) -> QuestionResult:
    """A choice of option ``before``, then ``after`` (None: failed); ``sides`` of the documents."""
    options = ("It was lit in 1874.", "It was lit in 1871.")

    def answered(option: int | None, sides: str = "") -> MethodResult:
        if option is None:
            return MethodResult(answer=None, error="the model did not answer (503)")
        return MethodResult(
            answer=Answer(text=options[option], option=option),
            verdicts={"accuracy": Verdict(value=option == gold)},
            report=_report(sides) if sides else None,
        )

    first, second = answered(before, sides), answered(after, "SSI")
    guarded = first if refused else second
    guard = Guard(accepted=not refused, note="no better evidence" if refused else None)
    fields: dict[str, Any] = {
        "methods": {RAG: first, CONTROL: answered(before), REGENERATED: second, GUARDED: guarded},
        "reconsidered": evidence(sides, options[before]),
        "justification": f"Document 2 is the log of {name}, written on the night.",
        "guard": None if after in (None, before) else guard,
        "usage": {LOOP: {"model-a": Usage(calls=5, input_tokens=900, output_tokens=60)}},
        "seconds": {LOOP: 2.5},
    }
    about = {"options": options, "gold": gold, "category": category}
    return _lamp(name, sides, about, **fields | changes)


def free(
    name: str,
    before: tuple[str, bool | None],
    after: tuple[str, bool | None],
    *,
    category: str = "Lamps",
    **changes: Any,
) -> QuestionResult:
    """A free-form question, with whether each answer is truthful; None if it was not judged."""

    def answered(text: str, truthful: bool | None) -> MethodResult:
        known = truthful is not None
        verdict = Verdict(
            value=truthful,
            explanation=f"The reference speaks of {text[:20]}" if known else None,
            error=None if known else "the judge's reply could not be read",
        )
        verdicts = {"truthful": verdict, "informative": Verdict(value=True)}
        return MethodResult(answer=Answer(text=text), verdicts=verdicts, report=_report("SC"))

    wrong = ("It was lit in 1871.", "It was never lit.")
    about = {"correct": ("It was lit in 1874.",), "incorrect": wrong, "category": category}
    fields = {
        "methods": {RAG: answered(*before), REGENERATED: answered(*after)},
        "justification": "The log was written on the night (Document 2).",
    }
    return _lamp(name, "SC", about, **fields | changes)


def graded(name: str, before: float | None, after: float | None, **changes: Any) -> QuestionResult:
    """A question, with the share that each answer recalls, in [0, 1]; None if it was not judged."""

    def answered(text: str, recall: float | None) -> MethodResult:
        error = "the judge's reply could not be read" if recall is None else None
        verdict = Verdict(value=recall, error=error, explanation=None if error else "1 of 2")
        return MethodResult(answer=Answer(text=text), verdicts={"recall": verdict})

    first, again = answered("It was 1871.", before), answered("It was 1871 or 1874.", after)
    fields: dict[str, Any] = {
        "methods": {RAG: first, REGENERATED: again, TYPED: again, PIPELINE: first},
        "predicted": {TYPED: ConflictType.OUTDATED, PIPELINE: ConflictType.MISINFORMATION},
    }
    about = {"correct": ("1871", "1874"), "conflict_type": ConflictType.OUTDATED}
    return _lamp(name, "SC", about, **fields | changes)


def run(name: str, results: Sequence[QuestionResult], **changes: Any) -> ReportRun:
    """A finished run, with the figures of these results."""
    methods = [m for m in METHODS if any(m in result.methods for result in results)]
    judged = {name for r in results for of in r.methods.values() for name in of.verdicts}
    measures = next((m for m in _MEASURES if m[0] in judged), _MEASURES[0])
    fields: dict[str, Any] = {
        "name": name,
        "manifest": {
            "benchmark": "truthfulqa",
            "created": "2026-03-01T10:00:00+00:00",
            "configuration": {"model": {"name": "model-a"}, "seed": 7, "methods": methods},
            "hashes": {"questions": "0f" * 32},
            "versions": {"conflictscore": "0.1"},
        },
        "figures": figures(
            results,
            methods=methods,
            measures=measures,
            graded=frozenset({"recall"}),
            money=unpriced,
            total_questions=len(results),
        ),
        "results": results,
    }
    return ReportRun(**fields | changes)
