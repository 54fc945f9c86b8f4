"""Determines how an answer fails to report every conflict (section 5.3 and Table 9).

In the paper a person classified 160 answers. Here, the decisions behind recall settle as many as
they can, by Table 9's descriptions, and a model classifies the rest.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum

from conflictscore.benchmarks.harness.records import QuestionResult, Verdict
from conflictscore.benchmarks.judging import Judge, read_choice
from conflictscore.benchmarks.natconfqa.data import AnswerPair, NatConfQuestion
from conflictscore.benchmarks.natconfqa.judges import Decomposition, Judgement
from conflictscore.errors import ContextWindowError, ProviderError
from conflictscore.prompts import material, material_line
from conflictscore.reporting.figure_text import percent
from conflictscore.reporting.plain_table import Card

TOLD = "all conflicts told"
"""The measure: whether the answer reports every conflict of its question."""
ERROR_TEMPLATE = "natconfqa_error"

_REPLY_TOKENS = 160


class ErrorType(StrEnum):
    """The ways in which an answer fails to report a conflict, in the paper's order."""

    CHOOSES = "chooses"
    """It gives one answer, and leaves out conflicting ones."""
    GENERALIZES = "generalizes"
    """It merges several answers into a vaguer one."""
    RESOLVES = "resolves"
    """It gives several conflicting answers as if they were compatible."""
    REFRAINS = "refrains"
    """It gives no answer."""
    OTHER = "other"


_PUBLISHED = {
    ErrorType.CHOOSES: 0.42,
    ErrorType.GENERALIZES: 0.17,
    ErrorType.RESOLVES: 0.13,
    ErrorType.REFRAINS: 0.05,
}
"""Shares of the 80 wrong answers among 160, by four models with default prompting; others are not
reported."""


async def told_in_full(
    question: NatConfQuestion, answer: str, judgement: Judgement, judge: Judge
) -> Verdict:
    """Whether the answer reports every conflict and, if not, how it is wrong.

    If the decisions on the answer settle it, a rule decides. An answer ``refrains`` if it gives
    neither a reference answer nor any other short answer. It ``chooses`` if it gives a reference
    answer, but at most one side of each unreported conflict. The judge is asked about all others.

    If a decision is missing, the verdict has an error instead of a value. Otherwise its explanation
    begins with the type of error, if there is one.
    """
    conflicts_told = [verdict.value for verdict in judgement.reference_conflicts]
    if all(conflicts_told):
        return Verdict(value=True)
    references_given = [verdict.value for verdict in judgement.references]
    if None in (*conflicts_told, *references_given) or judgement.decomposition is None:
        return Verdict(value=None, error="; ".join(judgement.errors))
    untold = [
        pair
        for pair, is_told in zip(question.conflicts, conflicts_told, strict=True)
        if not is_told
    ]
    if kind := _error_by_rule(untold, references_given, judgement.decomposition):
        return Verdict(value=False, explanation=f"{kind}: by rule")
    prompt = judge.prompts.render(
        ERROR_TEMPLATE,
        question=material_line(question.question),
        references="\n".join(f"- {material_line(reference)}" for reference in question.answers),
        answer=material(answer),
    )
    try:
        kind, why = await judge.ask(prompt, _read, _REPLY_TOKENS)
    except (ProviderError, ContextWindowError) as error:
        return Verdict(value=None, error=str(error))
    return Verdict(value=False, explanation=f"{kind}: {why}")


def _error_by_rule(
    untold: Iterable[AnswerPair], references_given: Sequence[float | None], parts: Decomposition
) -> ErrorType | None:
    """The type of error according to the decisions; None if the judge must be asked."""
    if not any(references_given):
        return None if parts.answers else ErrorType.REFRAINS
    if any(references_given[first] and references_given[second] for first, second in untold):
        return None
    return ErrorType.CHOOSES


def error_tables(question_results: Sequence[QuestionResult]) -> tuple[Card, ...]:
    """The wrong answers of each method by type; empty if the run did not ask for types."""
    counts: dict[str, Counter[str]] = {}
    judged_answers: Counter[str] = Counter()
    for question_result in question_results:
        for method, method_result in question_result.methods.items():
            verdict = method_result.verdicts.get(TOLD)
            if verdict is not None and verdict.value is not None:
                judged_answers[method] += 1
                kind = (verdict.explanation or "").partition(":")[0]
                counts.setdefault(method, Counter()).update([] if verdict.value else [kind])
    if not counts:
        return ()
    rows = [
        (
            method,
            f"{by_type.total():,} of {judged_answers[method]:,}",
            *(_share(by_type[kind], by_type.total()) for kind in ErrorType),
        )
        for method, by_type in counts.items()
    ]
    paper = (f"{percent(_PUBLISHED[kind])}" if kind in _PUBLISHED else "" for kind in ErrorType)
    return (
        Card(
            title="Wrong answers by type of error, % of the wrong",
            columns=("method", "wrong", *ErrorType),
            rows=(*rows, ("in the paper", "80 of 160", *paper)),
            note="wrong: not every conflict is reported. A person assigned the paper's types"
            " (section 5.3) to four models' answers with default prompting; here rules and the"
            " judge assign them",
            faint=frozenset({len(rows)}),
        ),
    )


def _read(reply: str) -> tuple[ErrorType, str]:
    kind, why = read_choice(reply, "ERROR", ErrorType, note="WHY")
    return kind, why or "no reason"


def _share(count: int, total: int) -> str:
    return f"{percent(count / total)} ({count:,})" if total else "none"
