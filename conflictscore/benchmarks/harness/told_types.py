"""How well methods tell the type of the conflict."""

from collections.abc import Sequence

from conflictscore.benchmarks.harness.figures import TypeAccuracy
from conflictscore.benchmarks.harness.methods.registry import method_of
from conflictscore.benchmarks.harness.records import QuestionResult
from conflictscore.benchmarks.harness.statistics import proportion
from conflictscore.records import ConflictType

__all__ = ["told_types"]


def told_types(
    results: Sequence[QuestionResult], methods: Sequence[str]
) -> tuple[TypeAccuracy, ...]:
    """A figure for each of these methods that tells a type; none where people told no type.

    Args:
        results: One a question.
        methods: The methods of the run, in their order.
    """
    known = [(r, r.question.conflict_type) for r in results if r.question.conflict_type]
    if not known:
        return ()
    return tuple(
        _type_accuracy(
            method, [(true, r.predicted[method]) for r, true in known if method in r.predicted]
        )
        for method in methods
        if method_of(method).tells_type
    )


def _type_accuracy(
    method: str, told: Sequence[tuple[ConflictType, ConflictType | None]]
) -> TypeAccuracy:
    """Of people's type and the method's, by question."""
    there = [kind for kind in ConflictType if any(kind in pair for pair in told)]
    return TypeAccuracy(
        method=method,
        accuracy=proportion(sum(true is said for true, said in told), len(told)),
        untold=sum(said is None for _, said in told),
        confusion={true: {said: told.count((true, said)) for said in there} for true in there},
    )
