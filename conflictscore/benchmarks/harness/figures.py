"""The figures of a run as records, from which tables and exports are made.

They are computed by ``harness.counting``. A missing figure is None, never 0, and every proportion
comes with its counts.
"""

from typing import Annotated

from pydantic import Field

from conflictscore.records import Record, Usage


class Proportion(Record):
    """A count out of a total, with its Wilson 95 % interval."""

    count: Annotated[int, Field(ge=0)]
    n: Annotated[int, Field(ge=0)]
    value: float | None
    """``count / n`` in [0, 1]; None if ``n`` is 0."""
    low: float | None = None
    high: float | None = None


class Interval(Record):
    """A mean over questions with its 95 % bootstrap interval."""

    value: float | None
    """The mean; None if ``n`` is 0."""
    low: float | None = None
    high: float | None = None
    n: Annotated[int, Field(ge=0)] = 0


class MethodFigures(Record):
    """A method's figures on each measure of the benchmark."""

    method: str
    questions: Annotated[int, Field(ge=0)]
    """The number of questions that the method finished, answered or failed."""
    failed: Annotated[int, Field(ge=0)]
    """The number of questions without an answer."""
    measures: dict[str, Proportion | Interval]
    """For each measure, the share of right answers among judged ones; if graded, the mean."""
    unjudged: dict[str, int]
    """For each measure, the number of answers without a verdict, which no mean includes."""


class Paired(Record):
    """Two methods compared on one measure, over the questions judged for both.

    On a graded measure, a better value counts as corrected, and a worse one as harmed.
    """

    method: str
    against: str = "rag"
    measure: str
    n: int
    both_right: int | None
    """None for a graded measure, and so is ``both_wrong``."""
    both_wrong: int | None
    corrected: int
    """The number of questions that only the method answers right."""
    harmed: int
    """The number of questions that only the other method answers right."""
    p_value: float | None
    """The two-sided p-value.

    It is from the exact McNemar test or, for a graded measure, from the Wilcoxon signed-rank test
    with Pratt's treatment of zeros; 1 if nothing differs, None if ``n`` is 0.
    """
    p_holm: float | None = None
    """The p-value, Holm-adjusted over all pairs and measures of the run.

    None if there is just one.
    """
    difference: Interval
    """The mean difference over questions, method minus other, by this measure."""


class Transitions(Record):
    """Outcomes of the answers with a conflict (section 6.4 of the ACL submission).

    They cover the questions that the method finished and whose first answer has a claim with
    evidence on both sides. A free-form answer counts as revised if its claims differ: according to
    the run's labeler, the answers do not support all of each other's claims.
    """

    method: str
    measure: str
    conflict: int
    failed: int
    """The number of these questions on which the method failed."""
    retained: Proportion
    """The share of revised answers among the conflicts that did not fail."""
    revised: Proportion
    """The share of kept answers among the same conflicts."""
    corrections: Proportion
    """Wrong to right, among revised answers judged before and after."""
    harms: Proportion
    """Right to wrong, among the same."""
    neutral: Proportion
    """Neither, among the same."""
    unjudged: int
    """The number of revised answers without a verdict before or after.

    They are in none of the three.
    """
    harms_of_conflict: Proportion
    """The share of harmed answers among all conflicts that did not fail and were judged."""
    recovered_of_wrong: Proportion | None = None
    """The share of corrected answers among those with a wrong first answer; None if graded."""
    by_wording: "Transitions | None" = None
    """The same figures if every change of words counts as a revision.

    None in multiple choice, and if no answers were compared by their claims.
    """
    unread: int = 0
    """The number of reworded answers whose claims could not be compared; they count as revised."""


class CategoryFigures(Record):
    """The figures of one category of questions."""

    category: str
    questions: int
    measures: dict[str, dict[str, Proportion | Interval]]


class TypeAccuracy(Record):
    """How often a method names the right conflict type, on questions whose type people gave."""

    method: str
    accuracy: Proportion
    """For the questions that the method finished; one without a type is wrong."""
    untold: Annotated[int, Field(ge=0)]
    """The number of questions whose type the method could not name."""


class MethodScores(Record):
    """The mean ConflictScore of a method's scored answers; lower is better."""

    method: str
    cs_c: Interval
    cs_r: Interval


class Cost(Record):
    """The cost of a run, as far as it is known."""

    usage: dict[str, Usage]
    """Usage by model name."""
    by_step: dict[str, Usage]
    money: float | None
    """US dollars paid; None if the price of a called model is unknown."""
    cold_money: float | None = None
    """US dollars as if no reply had come from a cache.

    None if a price, or the tokens of a cached reply, are unknown.
    """
    uncounted_calls: int = 0
    """The number of calls answered from an earlier version's cache, which does not store tokens."""
    unknown_prices: tuple[str, ...] = ()
    """Models with unknown prices that were called, or whose replies came from a cache."""
    seconds: float
    """The total time of all steps, in seconds.

    If questions run in parallel, it exceeds the time that passed.
    """
    net_corrections: dict[str, int] = Field(default_factory=dict)
    """Corrected minus harmed relative to the baseline, by the benchmark's first measure."""
    cold_money_per_net_correction: dict[str, float | None] = Field(default_factory=dict)
    """US dollars per net correction.

    This is the method's uncached cost beyond the baseline, divided by its net corrections.

    None if net corrections are not above 0, or the cost is unknown.
    """
    tokens_per_net_correction: dict[str, float | None] = Field(default_factory=dict)
    """The same in input and output tokens."""


class Figures(Record):
    """All figures of a run."""

    questions: int
    """The number of questions of the run, finished or not."""
    ended: int
    """The number of questions that every method finished, with a verdict or an error for it."""
    failed: int
    """The number of questions on which at least one method failed."""
    measures: tuple[str, ...]
    """The measures: ``accuracy``, or ``truthful`` and ``informative``.

    The first one decides pairs and transitions.
    """
    falling: tuple[str, ...] = ()
    """Graded measures where lower is better."""
    methods: tuple[MethodFigures, ...]
    paired: tuple[Paired, ...]
    compared: tuple[Paired, ...] = ()
    """Pairs of methods other than the baseline, by every measure.

    They are the paper's second look against asking once with a mention of conflicts
    (``regenerated-rag`` against ``control-rag``), or the pairs that the user asked for.
    """
    transitions: tuple[Transitions, ...]
    categories: tuple[CategoryFigures, ...]
    types: tuple[TypeAccuracy, ...] = ()
    """The accuracy of methods that name the conflict type."""
    scores: tuple[MethodScores, ...] = ()
    """The scores of methods whose answers were scored."""
    coverage: Interval
    """The share of labelled pairs of the first answers, averaged over questions."""
    cost: Cost

    @property
    def tests(self) -> tuple[Paired, ...]:
        """All pairs in display order; they are the family for Holm's adjustment."""
        return self.paired + self.compared

    def is_graded(self, measure: str) -> bool:
        """Whether a measure's values are numbers in [0, 1] rather than yes or no.

        A measure by which no method was judged counts as not graded.
        """
        return any(isinstance(m.measures.get(measure), Interval) for m in self.methods)

    def falls(self, measure: str) -> bool:
        """Whether lower is better by this measure."""
        return measure in self.falling

    def change_words(self, measure: str) -> tuple[str, str]:
        """The words for a change for the better and for the worse, by this measure."""
        if self.falls(measure):
            return "lower", "higher"
        return ("higher", "lower") if self.is_graded(measure) else ("corrected", "harmed")
