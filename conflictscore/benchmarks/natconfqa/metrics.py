"""Computes precision, recall and F1 of answers and of conflicts (section 4.3, formulas 1 to 4).

The paper leaves some points open. We decide the open points as follows:

- A fraction with denominator 0 is undefined and left out of means. So if an answer gives no short
  answers, the precision of answers is undefined. If an answer names no conflicts, the precision of
  conflicts is undefined. Recall is undefined if the references contain nothing to find. No other
  rule explains the paper's Table 8. In this table, Gemini 2.5 Pro with the conflict-aware prompt
  has a mean F1 of 100, but a mean recall of 80.
- F1 is undefined if precision or recall is undefined. As in the authors' code, F1 is also undefined
  if both are 0. An answer whose F1 is undefined is left out of the mean. In our own measure ``f1
  with zeros``, F1 is 0 if precision and recall are both 0. For conflicts, both kinds of F1 cover
  only answers that name a conflict, so read F1 together with recall.
- As in the authors' code, the conflicts of an answer are found pair by pair: the judge is asked
  about each pair of its short answers. Our own measure ``conflicts precision as listed`` is
  computed from the pairs that the judge lists when it splits the answer. Listing the pairs takes no
  additional call.
- If a decision about an answer is missing, the measure has no value, and the answer is counted as
  unjudged.
"""

from collections.abc import Iterable, Mapping, Sequence

from conflictscore.benchmarks.harness.records import Verdict
from conflictscore.benchmarks.natconfqa.data import AnswerPair, NatConfQuestion
from conflictscore.benchmarks.natconfqa.judges import Judgement

_KINDS = ("conflicts", "answers")
_ZEROS = "f1 with zeros"  # this measure and the next are our own; see above
_AS_LISTED = "conflicts precision as listed"
MEASURES = (
    *(f"{kind} {part}" for kind in _KINDS for part in ("recall", "precision", "f1", _ZEROS)),
    _AS_LISTED,
)
"""The measures of the benchmark.

The first measure has a value for every answer, since each question has a conflict to report.
Precision and F1 are undefined if the reply contains no short answer, or names no conflict.
"""


def verdicts_of(question: NatConfQuestion, judgement: Judgement) -> dict[str, Verdict]:
    """Compute the verdicts for those :data:`MEASURES` that are defined for the answer.

    Returns:
        The verdicts by measure, with values in [0, 1]. For precision and recall, the explanation
        states the counts, such as ``2 of 3``, and what was not found. Measures that are undefined
        for the answer are absent. If a decision is missing, the verdict has an error instead of a
        value.
    """
    parts, error = judgement.decomposition, judgement.error
    answers = parts.answers if parts else ()
    answer_pairs = pair_names(parts.conflicts if parts else (), answers)
    undecided = next((verdict.error for verdict in judgement.undecided_pairs), None)
    reference_pairs = pair_names(question.conflicts, question.answers)
    return with_f1(
        {
            "conflicts recall": _share(judgement.reference_conflicts, reference_pairs),
            "conflicts precision": _share(judgement.conflicts, answer_pairs, error or undecided),
            "answers recall": _share(judgement.references, question.answers),
            "answers precision": _share(judgement.answers, answers, error),
            _AS_LISTED: _share(
                judgement.listed_conflicts, pair_names(judgement.listed, answers), error
            ),
        }
    )


def with_f1(shares: Mapping[str, Verdict | None]) -> dict[str, Verdict]:
    """Add the F1 of answers and of conflicts, and drop undefined measures, which are None."""
    verdicts = dict(shares)
    for kind in _KINDS:
        precision, recall = shares[f"{kind} precision"], shares[f"{kind} recall"]
        with_zeros = _f1(precision, recall)
        verdicts[f"{kind} {_ZEROS}"] = with_zeros
        verdicts[f"{kind} f1"] = None if _is_zero(precision) and _is_zero(recall) else with_zeros
    return {name: verdict for name in MEASURES if (verdict := verdicts.get(name)) is not None}


def _is_zero(verdict: Verdict | None) -> bool:
    return verdict is not None and verdict.value == 0


def pair_names(pairs: Iterable[AnswerPair], answers: Sequence[str]) -> list[str]:
    """Return a name such as ``one / other`` for each pair of answers."""
    return [f"{answers[first]} / {answers[second]}" for first, second in pairs]


def _share(
    verdicts: Sequence[Verdict], names: Sequence[str], error: str | None = None
) -> Verdict | None:
    errors = dict.fromkeys(why for why in (error, *(v.error for v in verdicts)) if why)
    if errors:
        return Verdict(value=None, error="; ".join(errors))
    if not verdicts:
        return None
    missing = [name for v, name in zip(verdicts, names, strict=True) if not v.value]
    hits = len(verdicts) - len(missing)
    rest = f"; not: {', '.join(missing)}" if missing else ""
    return Verdict(value=hits / len(verdicts), explanation=f"{hits} of {len(verdicts)}{rest}")


def _f1(precision: Verdict | None, recall: Verdict | None) -> Verdict | None:
    """Compute F1; it is None if one input is undefined, and 0 if one input is 0."""
    if precision is None or recall is None:
        return None
    errors = dict.fromkeys(verdict.error for verdict in (precision, recall) if verdict.error)
    if precision.value is None or recall.value is None:
        return Verdict(value=None, error="; ".join(errors))
    # 2pr / (p + r) could underflow to 0, or exceed both p and r by a rounding error
    both_above_zero = precision.value and recall.value
    return Verdict(value=2 / (1 / precision.value + 1 / recall.value) if both_above_zero else 0.0)
