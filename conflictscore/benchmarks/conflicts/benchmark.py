"""CONFLICTS as the harness runs it."""

from pathlib import Path

from conflictscore.benchmarks.conflicts.data import ConflictsQuestion, read_conflicts
from conflictscore.benchmarks.conflicts.judges import (
    BEHAVIOUR,
    GROUNDING,
    RECALL,
    STAND_INS,
    TEMPLATES,
    judge_answer,
)
from conflictscore.benchmarks.harness.benchmark import Benchmark, Form
from conflictscore.benchmarks.harness.manifest import sha256_of_file
from conflictscore.benchmarks.harness.methods.registry import COMMON_METHODS
from conflictscore.benchmarks.harness.records import Question
from conflictscore.benchmarks.harness.stand_ins import cited_text

__all__ = ["conflicts"]

_STRATEGIES = (
    "pipeline",
    "taxonomy-aware",
    "oracle",
)
_CITED = {
    "free_form_rag": "cited_rag",
    "free_form_control_rag": "conflicts_control_rag",
    "free_form_regenerate": "conflicts_regenerate",
    "free_form_regenerate_typed": "conflicts_regenerate_typed",
    "decompose": "conflicts_decompose",
}
"""All methods are asked for citations, and claims are told without them: otherwise grounding could
not be compared, and ``rag`` would not be the paper's *vanilla*."""
_ANSWERS = tuple(name for name in _CITED if name.startswith("free_form_"))


def conflicts(data: Path, form: Form, seed: int) -> Benchmark:
    """CONFLICTS in free form, judged by expected behaviour, answer recall and grounding.

    Args:
        data: The official file, or the shortened one.
        form: ``free-form``.
        seed: Unused; the questions are taken as they stand.

    Raises:
        InputError: The file cannot be used.
    """
    read = read_conflicts(data)
    right = sum(question.gold is not None for question in read.questions)
    notes = [
        f"answer recall is judged on questions with a right answer that people wrote: {right} of"
        f" {len(read.questions)} in the file",
        "grounding: sentences that cite nothing, or a document that does not exist, are not"
        " supported; all methods are asked for citations, in wordings of this benchmark",
    ]
    if read.empty_documents:
        notes.append(f"search results without text, left out: {read.empty_documents}")
    return Benchmark(
        name="conflicts",
        form=form,
        questions=tuple(map(_question, read.questions)),
        measures=(BEHAVIOUR, RECALL, GROUNDING),
        graded=frozenset({GROUNDING}),
        judge=judge_answer,
        stand_ins={**STAND_INS, **dict.fromkeys(_ANSWERS, cited_text)},
        templates=TEMPLATES,
        wording=_CITED,
        offered=(*COMMON_METHODS, *_STRATEGIES),
        hashes={"data": sha256_of_file(data)},
        notes=tuple(notes),
    )


def _question(question: ConflictsQuestion) -> Question:
    return Question(
        id=question.id,
        question=question.question,
        correct=(question.gold,) if question.gold else (),
        category=question.conflict_type.value,
        documents=tuple(
            document.model_dump(mode="json", include={"text", "title", "url", "metadata"})
            for document in question.documents
        ),
        conflict_type=question.conflict_type,
    )
