"""Outdated and misinformation stand in one row, as in the paper's table."""

from conflictscore.benchmarks.conflicts.benchmark import merged_tables
from conflictscore.benchmarks.conflicts.judges import BEHAVIOUR
from conflictscore.benchmarks.harness.conflict_types import ConflictType
from conflictscore.benchmarks.harness.records import MethodResult, Question, QuestionResult, Verdict
from conflictscore.records import Answer


def answered(kind: ConflictType, *, expected: bool | None) -> QuestionResult:
    verdict = Verdict(value=expected, error="no reply" if expected is None else None)
    method = MethodResult(answer=Answer(text="In 1874."), verdicts={BEHAVIOUR: verdict})
    question = Question(id=f"{kind}-{expected}", question="When?", conflict_type=kind)
    return QuestionResult(question=question, methods={"rag": method})


def test_two_types_are_one_row_and_the_others_are_not_in_it() -> None:
    outdated, wrong = ConflictType.OUTDATED, ConflictType.MISINFORMATION
    results = [
        answered(outdated, expected=True),
        answered(wrong, expected=True),
        answered(wrong, expected=False),
        answered(wrong, expected=None),
        answered(ConflictType.NO_CONFLICT, expected=False),
    ]
    [card] = merged_tables(results)
    assert card.rows == (("rag", "66.7", "20.8 to 93.9", "2", "3"),)
    assert merged_tables(results[-1:]) == []
