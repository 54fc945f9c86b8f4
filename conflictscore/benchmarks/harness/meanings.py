"""Determines whether two answers make the same claims although their wording differs.

A free-form answer has flipped if its claims have changed; a mere change of wording is not a flip.
Two answers make the same claims if, according to the run's labeler, each supports every claim of
the other.
"""

from collections.abc import Iterator
from typing import Any

from conflictscore.benchmarks.harness.methods.asker import Asker
from conflictscore.benchmarks.harness.methods.method_opening import method_of
from conflictscore.benchmarks.harness.methods.registry import BASELINE, COMPARED
from conflictscore.benchmarks.harness.records import QuestionResult
from conflictscore.errors import ProviderError
from conflictscore.records import Document, Label


async def same_claims(asker: Asker, first: str, second: str) -> dict[str, Any]:
    """Determine whether each of two answers supports every claim of the other.

    Returns the value to record for the step. The comparison stops at the first unsupported claim,
    to save calls. Two answers without any claim, such as two refusals, count as the same.

    Raises:
        ProviderError: An answer could not be split into claims, or a claim could not be labelled.
    """
    for answer, source in ((first, second), (second, first)):
        # the other answer is the only document, so its label says whether it supports the claim
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


def reworded_pairs(question_result: QuestionResult) -> Iterator[tuple[str, str]]:
    """Find all pairs of differently worded answers (as texts) whose claims must be compared.

    The answer of each method is paired with the answer of the baseline. The methods that are paired
    in ``COMPARED`` are paired here too. If a method's answers are judged by a separate criterion,
    these answers are not compared.
    """
    texts = {
        name: method_result.answer.text
        for name, method_result in question_result.methods.items()
        if method_result.answer is not None and not method_of(name).own_judge
    }
    pairs = [(BASELINE, name) for name in texts] + list(COMPARED)
    for first, second in pairs:
        if first in texts and second in texts and question_result.reworded(first, second):
            yield texts[first], texts[second]
