"""Records with the figures of a run, from which tables and exports are made.

The figures are computed by ``harness.transition_counts``. A figure that cannot be computed is None,
never 0, and every proportion comes with its counts.
"""

from typing import Annotated

from pydantic import Field

from conflictscore.records import Record, Usage


class Proportion(Record):
    """A count out of a total, with its Wilson 95 % interval."""

    count: Annotated[int, Field(ge=0)]
    n: Annotated[int, Field(ge=0)]
    value: float | None
    """The share ``count / n``, in [0, 1]; None if ``n`` is 0."""
    low: float | None = None
    high: float | None = None


class Interval(Record):
    """A mean over questions, or a ratio of two sums over questions, with a bootstrap interval."""

    value: float | None
    """The mean or the ratio; None if ``n`` is 0."""
    low: float | None = None
    """The lower bound of the 95 % interval.

    None if nothing can be said about the error, because all questions have the same value.
    """
    high: float | None = None
    n: Annotated[int, Field(ge=0)] = 0
    """The number of questions or groups; in :func:`~.statistics.ratio_interval`, the divisor."""


class MethodFigures(Record):
    """The figures of one method, by measure."""

    method: str
    questions: Annotated[int, Field(ge=0)]
    """The number of questions that the method finished, whether with an answer or a failure."""
    failed: Annotated[int, Field(ge=0)]
    """The number of questions without an answer."""
    measures: dict[str, Proportion | Interval]
    """For each measure, the share of correct answers among judged answers.

    For a graded measure, the number is the mean grade.
    """
    unjudged: dict[str, int]
    """For each measure, the number of unjudged answers, which are not part of any mean."""


class Paired(Record):
    """A comparison of two methods on one measure, over the questions on which both were judged.

    If the measure is graded, an answer with a better value counts as corrected, and an answer with
    a worse value counts as harmed.
    """

    method: str
    against: str = "rag"
    measure: str
    n: int
    both_right: int | None
    """The number of questions that both methods answer correctly; None for a graded measure."""
    both_wrong: int | None
    corrected: int
    """The number of questions that only ``method`` answers correctly."""
    harmed: int
    """The number of questions that only ``against`` answers correctly."""
    p_value: float | None
    """The p-value of a two-sided test.

    The test is the exact McNemar test or, for a graded measure, the Wilcoxon signed-rank test with
    Pratt's treatment of zeros. The p-value is 1 if nothing differs, and None if ``n`` is 0.
    """
    p_holm: float | None = None
    """The p-value after Holm's adjustment over all pairs and measures of the run.

    The adjusted p-value is None if the run has only one test.
    """
    difference: Interval
    """The difference in this measure, ``method`` minus ``against``, averaged over questions."""


class Transitions(Record):
    """The outcomes of a method on first answers with a conflict (ACL submission, section 6.4).

    The figures cover the questions that the method finished and whose first answer has a claim with
    evidence on both sides. A free-form answer counts as revised if its claims differ from those of
    the first answer. Claims differ if, according to the run's labeler, at least one of the two
    answers does not support every claim of the other.
    """

    method: str
    measure: str
    conflict: int
    """The number of questions that the figures cover."""
    failed: int
    """The number of covered questions on which the method gave no answer."""
    retained: Proportion
    """The share of unchanged answers.

    The total is the number of questions whose first answer has a conflict and on which the method
    did not fail.
    """
    revised: Proportion
    """The share of revised answers, out of the same total as ``retained``."""
    corrections: Proportion
    """The share of changes from wrong to right, among revised answers judged before and after."""
    harms: Proportion
    """The share of changes from right to wrong, among revised answers judged before and after."""
    neutral: Proportion
    """The share of unchanged verdicts, among revised answers judged before and after."""
    unjudged: int
    """The number of revised answers that lack a verdict before or after the revision.

    Such answers are left out of ``corrections``, ``harms`` and ``neutral``.
    """
    harms_of_conflict: Proportion
    """The share of harmed answers, among all (retained or revised) judged before and after."""
    recovered_of_wrong: Proportion | None = None
    """The share of corrected answers, among wrong first answers; None if the measure is graded."""
    by_wording: "Transitions | None" = None
    """These transitions, computed again with every change of wording counted as a revision.

    The figures are None for multiple-choice questions, or if no answers were compared by their
    claims.
    """
    unread: int = 0
    """The number of reworded answers whose claims could not be compared; they count as revised."""


class CategoryFigures(Record):
    """The figures of one category of questions."""

    category: str
    questions: int
    measures: dict[str, dict[str, Proportion | Interval]]


class TypeAccuracy(Record):
    """How often a method names the right conflict type, among questions with an annotated type."""

    method: str
    accuracy: Proportion
    """The share of right types, among the questions that the method finished.

    If the method names no type, this counts as wrong.
    """
    untold: Annotated[int, Field(ge=0)]
    """The number of questions for which the method named no type."""


class MethodScores(Record):
    """The mean ConflictScore (CS-C and CS-R) of a method's scored answers; lower is better."""

    method: str
    cs_c: Interval
    cs_r: Interval


class Cost(Record):
    """The cost of a run, as far as it is known."""

    usage: dict[str, Usage]
    """The calls and tokens of each model, by name."""
    by_step: dict[str, Usage]
    money: float | None
    """The amount paid in US dollars; None if the price of a called model is unknown."""
    cold_money: float | None = None
    """The cost in US dollars if no reply had come from a cache.

    The cost is None if a price, or the number of tokens in a cached reply, is unknown.
    """
    uncounted_calls: int = 0
    """The number of replies that an earlier version cached without their token counts."""
    unknown_prices: tuple[str, ...] = ()
    """Models whose price is unknown, among those that were called or had replies in the cache."""
    seconds: float
    """The total time of all steps, in seconds.

    If questions run in parallel, this exceeds the elapsed time.
    """
    net_corrections: dict[str, int] = Field(default_factory=dict)
    """For each method, the number of answers that it corrected minus the number that it harmed.

    A method's answers are compared with the baseline's, by the first measure.
    """
    cold_money_per_net_correction: dict[str, float | None] = Field(default_factory=dict)
    """The cost in US dollars per net correction.

    The cost that the method adds to the baseline is divided by the method's net corrections. The
    added cost is computed as if nothing had been cached.

    The figure is None if there are no net corrections, or if the cost is unknown.
    """
    tokens_per_net_correction: dict[str, float | None] = Field(default_factory=dict)
    """The input and output tokens per net correction."""


class Figures(Record):
    """All figures of a run."""

    questions: int
    """The number of questions in the run, finished or not."""
    ended: int
    """The number of questions that every method finished, whether with a verdict or an error."""
    failed: int
    """The number of questions on which at least one method failed."""
    measures: tuple[str, ...]
    """The names of the measures, such as ``accuracy``, or ``truthful`` and ``informative``.

    The first measure is used for paired comparisons and transitions.
    """
    falling: tuple[str, ...] = ()
    """The graded measures for which lower is better."""
    methods: tuple[MethodFigures, ...]
    paired: tuple[Paired, ...]
    compared: tuple[Paired, ...] = ()
    """Comparisons with methods other than the baseline, on every measure.

    By default, ``regenerated-rag`` is compared with ``control-rag``, as in the paper, and with the
    controls ``resample`` and ``placebo``. The user can ask for other pairs.
    """
    transitions: tuple[Transitions, ...]
    categories: tuple[CategoryFigures, ...]
    types: tuple[TypeAccuracy, ...] = ()
    """For each method that names the conflict type, how often that type is right."""
    scores: tuple[MethodScores, ...] = ()
    """The mean scores of each method whose answers were scored."""
    coverage: Interval
    """The share of a first answer's claim-document pairs with a label, averaged over questions."""
    cost: Cost

    @property
    def tests(self) -> tuple[Paired, ...]:
        """All paired comparisons, in display order; Holm's adjustment covers all of them."""
        return self.paired + self.compared

    def is_graded(self, measure: str) -> bool:
        """Return whether the values of a measure are numbers in [0, 1] rather than yes or no.

        A measure counts as not graded if no method in these figures has it.
        """
        return any(isinstance(m.measures.get(measure), Interval) for m in self.methods)

    def falls(self, measure: str) -> bool:
        """Return whether lower values of this measure are better."""
        return measure in self.falling

    def change_words(self, measure: str) -> tuple[str, str]:
        """Return the words for answers with a better and with a worse value of this measure."""
        if self.falls(measure):
            return "lower", "higher"
        return ("higher", "lower") if self.is_graded(measure) else ("corrected", "harmed")
