"""Determines in what way an answer fails to report every conflict (section 5.3 and Table 9).

In the paper, a person classified 160 answers. In this module, rules classify as many answers as
they can, and a model classifies the remaining answers. The rules are based on the descriptions in
Table 9. They use the same decisions as recall: which of the listed answers a reply gives.

Limits without a stated reason were chosen by hand.
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
"""The measure of whether an answer reports every conflict of its question."""
ERROR_TEMPLATE = "natconfqa_error"

_REPLY_TOKENS = 160
"""The maximum number of tokens in the judge's reply: one word and a short explanation."""


class ErrorType(StrEnum):
    """The ways in which an answer can fail to report a conflict, in the order of the paper."""

    CHOOSES = "chooses"
    """The answer gives one of the conflicting answers, and omits the others."""
    GENERALIZES = "generalizes"
    """The answer merges several answers into a vaguer one."""
    RESOLVES = "resolves"
    """The answer gives several conflicting answers as if they were compatible."""
    REFRAINS = "refrains"
    """The answer does not answer the question."""
    OTHER = "other"


_PUBLISHED = {
    ErrorType.CHOOSES: 0.42,
    ErrorType.GENERALIZES: 0.17,
    ErrorType.RESOLVES: 0.13,
    ErrorType.REFRAINS: 0.05,
}
"""The share of each error type among the paper's 80 wrong answers.

In total, four models gave 160 answers to the default prompt. The paper reports no shares of the
remaining types.
"""


async def told_in_full(
    question: NatConfQuestion, answer: str, judgement: Judgement, judge: Judge
) -> Verdict:
    """Judge whether the answer reports every conflict and, if not, in what way it is wrong.

    Two rules classify an answer by the decisions that were made about it. If the answer gives
    neither a reference answer nor any other short answer, it ``refrains``. An answer ``chooses`` if
    it gives a reference answer, but at most one of the two conflicting answers of each conflict
    that it does not report. In all other cases, the judge determines the type of error.

    If a decision is missing, the verdict has an error instead of a value. Otherwise, if the
    answer is wrong, the explanation of the verdict begins with the type of error.
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
    """Return the type of error according to the rules, or None if the judge must be asked."""
    if not any(references_given):
        return None if parts.answers else ErrorType.REFRAINS
    if any(references_given[first] and references_given[second] for first, second in untold):
        return None
    return ErrorType.CHOOSES


def error_tables(question_results: Sequence[QuestionResult]) -> tuple[Card, ...]:
    """Tabulate each method's wrong answers by type of error.

    There is no table if the run did not determine types of error.
    """
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
    paper = (percent(_PUBLISHED[kind]) if kind in _PUBLISHED else "" for kind in ErrorType)
    return (
        Card(
            title="Wrong answers by type of error, in % of the wrong answers",
            columns=("method", "wrong", *ErrorType),
            rows=(*rows, ("in the paper", "80 of 160", *paper)),
            note="wrong: not every conflict is reported. In the paper (section 5.3), a person"
            " assigned the types to answers of four models with default prompts. Here, rules"
            " and the judge assign them",
            faint=frozenset({len(rows)}),
        ),
    )


def _read(reply: str) -> tuple[ErrorType, str]:
    kind, why = read_choice(reply, "ERROR", ErrorType, note="WHY")
    return kind, why or "no reason"


def _share(count: int, total: int) -> str:
    return f"{percent(count / total)} ({count:,})" if total else "none"
