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
    """``count / n`` in [0, 1]; None where ``n`` is 0."""
    low: float | None = None
    high: float | None = None


class Interval(Record):
    """A mean over questions with its 95 % bootstrap interval."""

    value: float | None
    """None where ``n`` is 0."""
    low: float | None = None
    high: float | None = None
    n: Annotated[int, Field(ge=0)] = 0


class MethodFigures(Record):
    """A method by every measure of the benchmark."""

    method: str
    questions: Annotated[int, Field(ge=0)]
    """Questions that the method ended on, answered or failed."""
    failed: Annotated[int, Field(ge=0)]
    """Questions without an answer."""
    measures: dict[str, Proportion | Interval]
    """By measure, over the answers that were judged: a share, or of a graded measure the mean."""
    unjudged: dict[str, int]
    """By measure, answers whose verdict could not be had; they are in no mean."""


class Paired(Record):
    """A method beside another on the questions that both were judged on, by one measure.

    By a graded measure, corrected is what has a better value and harmed what has a worse one.
    """

    method: str
    against: str = "rag"
    measure: str
    n: int
    both_right: int | None
    """None by a graded measure, as is ``both_wrong``."""
    both_wrong: int | None
    corrected: int
    """Wrong by the other, right by the method."""
    harmed: int
    """Right by the other, wrong by the method."""
    p_value: float | None
    """Two-sided: the exact McNemar test or, by a graded measure, the Wilcoxon signed-rank test with
    Pratt's treatment of zeros; 1 where nothing differs, None where ``n`` is 0."""
    p_holm: float | None = None
    """Holm-adjusted over all pairs and measures of the run; None where there is a single one."""
    difference: Interval
    """The difference method minus other, by question, for the given measure."""


class Transitions(Record):
    """Outcomes of the answers with conflict (section 6.4 of the ACL submission).

    Counted over the questions whose first answer has a claim with evidence on both sides and that
    the method ended on. In free form an answer is revised where its claims differ: those of each
    answer are not all supported by the other, by the run's labeler.
    """

    method: str
    measure: str
    conflict: int
    failed: int
    """Questions among these on which the method failed."""
    retained: Proportion
    """Share of the conflicts that did not fail."""
    revised: Proportion
    """The same, the other way round."""
    corrections: Proportion
    """Wrong to right, of the revised ones that were judged before and after."""
    harms: Proportion
    """Right to wrong, of the same."""
    neutral: Proportion
    """Neither, of the same."""
    unjudged: int
    """Revised ones without a verdict before or after; in none of the three."""
    harms_of_conflict: Proportion
    """Harms, of all conflicts that did not fail and were judged."""
    recovered_of_wrong: Proportion | None = None
    """Corrections, of those among them whose first answer was wrong; None by a graded measure."""
    by_wording: "Transitions | None" = None
    """The same where other words are a revision; None in multiple choice, and where no two answers
    were compared by their claims."""
    unread: int = 0
    """Answers in other words whose claims could not be compared; they count as revised."""


class CategoryFigures(Record):
    """One category of questions."""

    category: str
    questions: int
    measures: dict[str, dict[str, Proportion | Interval]]


class TypeAccuracy(Record):
    """How well a method tells the type of the conflict, on questions whose type people told."""

    method: str
    accuracy: Proportion
    """Over the questions that the method finished; one without a type is wrong."""
    untold: Annotated[int, Field(ge=0)]
    """Questions whose type the method could not name."""


class MethodScores(Record):
    """Mean ConflictScore of a method's answers, of those that were scored; lower is better."""

    method: str
    cs_c: Interval
    cs_r: Interval


class Cost(Record):
    """Cost of a run, as far as it is known."""

    usage: dict[str, Usage]
    """By the model's name."""
    by_step: dict[str, Usage]
    money: float | None
    """US dollars that were paid; None where the price of a model that was called is not known."""
    cold_money: float | None = None
    """US dollars had no reply come from a cache; None where a price, or the tokens of a kept reply,
    are not known."""
    uncounted_calls: int = 0
    """Calls answered from a cache of an earlier version, which does not know their tokens."""
    unknown_prices: tuple[str, ...] = ()
    """Models whose price is not known, called or answered for by a cache."""
    seconds: float
    """Seconds of all steps together; with questions in parallel, more than what passed."""
    net_corrections: dict[str, int] = Field(default_factory=dict)
    """Corrected less harmed against the baseline, by the benchmark's first measure."""
    cold_money_per_net_correction: dict[str, float | None] = Field(default_factory=dict)
    """Dollars for the method beyond the baseline, had no reply come from a cache, over its net
    corrections; None where these are not above 0 or the money is not known."""
    tokens_per_net_correction: dict[str, float | None] = Field(default_factory=dict)
    """The same in tokens, in and out."""


class Figures(Record):
    """All figures of a run."""

    questions: int
    """Questions of the run, ended or not."""
    ended: int
    """Questions on which every method of the run ended, and was judged or could not be."""
    failed: int
    """Questions on which at least one method failed."""
    measures: tuple[str, ...]
    """The measures, the first being what pairs and transitions are counted by:
    ``accuracy``, or ``truthful`` and ``informative``."""
    falling: tuple[str, ...] = ()
    """Graded measures where lower is better."""
    methods: tuple[MethodFigures, ...]
    paired: tuple[Paired, ...]
    compared: tuple[Paired, ...] = ()
    """Two methods other than the baseline, by every measure: the paper's second look against asking
    once with a word about conflicts (``regenerated-rag`` against ``control-rag``), or the pairs
    that were asked for."""
    transitions: tuple[Transitions, ...]
    categories: tuple[CategoryFigures, ...]
    types: tuple[TypeAccuracy, ...] = ()
    """Accuracy of the methods that name the type of the conflict."""
    scores: tuple[MethodScores, ...] = ()
    """Scores of the methods whose answers were scored."""
    coverage: Interval
    """Labelled pairs / pairs, by question, of the first answers."""
    cost: Cost

    @property
    def tests(self) -> tuple[Paired, ...]:
        """All pairs, in the order that they are shown; the family of Holm's adjustment."""
        return self.paired + self.compared

    def is_graded(self, measure: str) -> bool:
        """Whether a measure's values are numbers in [0, 1] rather than yes or no.

        Of a measure that no method was judged by, nothing is known, and it is not graded.
        """
        return any(isinstance(m.measures.get(measure), Interval) for m in self.methods)

    def falls(self, measure: str) -> bool:
        """Whether less is better by this measure."""
        return measure in self.falling

    def change_words(self, measure: str) -> tuple[str, str]:
        """Names of a change for the better and one for the worse, by this measure."""
        if self.falls(measure):
            return "lower", "higher"
        return ("higher", "lower") if self.is_graded(measure) else ("corrected", "harmed")
