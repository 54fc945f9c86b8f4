"""Whether answers of other words make the same claims."""

from collections.abc import Iterator, Sequence
from typing import Any

from conflictscore.benchmarks.harness.methods.asker import Asker
from conflictscore.benchmarks.harness.methods.registry import BASELINE, method_of
from conflictscore.benchmarks.harness.records import QuestionResult
from conflictscore.errors import ProviderError
from conflictscore.records import Document, Label


async def same_claims(asker: Asker, one: str, other: str) -> dict[str, Any]:
    """Whether each of two answers supports every claim of the other, by the run's labeler.

    The first claim that is not supported decides, so the rest is not paid for.

    Raises:
        ProviderError: An answer was not taken apart, or a claim has no label.
    """
    for answer, source in ((one, other), (other, one)):
        report = await asker.score(answer, [Document(number=1, text=source)])
        if report.error is not None:
            raise ProviderError(report.error, provider=asker.context.decomposer.name)
        for claim in report.claims:
            (pair,) = claim.labels
            if pair.label is Label.UNLABELLED:
                raise ProviderError(str(pair.error), provider=asker.context.labeler.name)
            if pair.label is not Label.SUPPORTS:
                return {"same": False, "claim": claim.claim.text, "label": pair.label.value}
    return {"same": True}


def reworded_pairs(
    result: QuestionResult, compare: Sequence[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    """The answers that differ in words from the baseline's, and those of further pairs of methods.

    An answer that is judged by another thing than the baseline's is compared with none.
    """
    known = {
        name: ended.answer.text
        for name, ended in result.methods.items()
        if ended.answer is not None and not method_of(name).own_judge
    }
    for one, other in [*((BASELINE, name) for name in known), *compare]:
        if {one, other} <= known.keys() and result.reworded(one, other):
            yield known[one], known[other]
