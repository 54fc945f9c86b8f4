"""What a run is expected to take, as records, and the assumptions that this rests on."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from conflictscore.records import Record

__all__ = ["LEVELS", "Amount", "Assumptions", "Estimate", "Level", "Range", "StepAmount"]

Level = Literal["low", "expected", "high"]
LEVELS: tuple[Level, ...] = ("low", "expected", "high")

_Amount = Annotated[float, Field(ge=0)]


class Range(Record):
    """A figure that is not known yet: what to expect, and between which bounds."""

    low: _Amount
    expected: _Amount
    high: _Amount

    @model_validator(mode="after")
    def _in_order(self) -> "Range":
        if not self.low <= self.expected <= self.high:
            raise ValueError("low, expected and high must be in ascending order")
        return self

    def at(self, level: Level) -> float:
        """The figure by this level."""
        return {"low": self.low, "expected": self.expected, "high": self.high}[level]

    def __add__(self, other: "Range") -> "Range":
        return Range(
            low=self.low + other.low,
            expected=self.expected + other.expected,
            high=self.high + other.high,
        )


def _range(low: float, expected: float, high: float) -> Range:
    return Range(low=low, expected=expected, high=high)


class Assumptions(Record):
    """What a dry run cannot count.

    Where a source is named it gives the expected figure. All others are estimates of ours, from
    the form that the prompts ask replies to have.
    """

    conflict_rate: Range = _range(0.1, 248 / 779, 0.6)
    """Share of first answers with evidence on both sides. Source: the paper, section 6.4, on
    multiple choice; it moves with the corpus, and rises with the claims of an answer."""
    flipped: Range = _range(0.02, 24 / 248, 0.3)
    """Share of regenerated choices that are the other option. Source: the paper, section 6.4."""
    reworded: Range = _range(0.4, 0.8, 1.0)
    """Share of regenerated free-form answers whose text differs, and so of claims that are new."""
    claims: Range = _range(1.5, 3, 6)
    """Claims of a free-form answer of one to three sentences."""
    claim_tokens: Range = _range(12, 20, 35)
    answer_tokens: Range = _range(20, 50, 120)
    """Tokens of a free-form answer."""
    cited_tokens: Range = _range(40, 110, 240)
    """Tokens of an answer with citations, of one to six sentences."""
    type_tokens: Range = _range(8, 40, 90)
    """Tokens that name the type of a conflict, with a reason."""
    choice_tokens: Range = _range(2, 4, 12)
    """Tokens of a reply that chooses an option."""
    reconsidered_tokens: Range = _range(25, 60, 120)
    """Tokens of a reply that chooses anew and gives a reason."""
    verdict_tokens: Range = _range(80, 130, 220)
    """Tokens of a judge's JSON on one pair: the claim again, a quotation and a reason."""
    batched_verdict_tokens: Range = _range(20, 45, 80)
    """Tokens of a verdict on one pair in a reply on many: ids, a quotation and a few words."""
    justification_tokens: Range = _range(15, 35, 80)
    grade_tokens: Range = _range(20, 45, 110)
    """Tokens of a verdict on an answer, with its explanation."""
    thinking_tokens: Range = _range(100, 800, 4000)
    """Tokens that a reasoning model takes on top of each reply."""
    retried: Range = _range(0.0, 0.02, 0.1)
    """Share of replies that cannot be read and are asked for once more."""
    documents: Range = _range(4, 10, 10)
    """Documents of a question, where they are found only when it is asked."""
    document_tokens: Range = _range(80, 250, 500)
    """Tokens of such a document."""


class Amount(Record):
    """Calls, tokens and cost."""

    calls: Range
    input_tokens: Range
    output_tokens: Range
    cost: Range | None
    """US dollars; None where the price of a model that is called is not known."""

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost=None if self.cost is None or other.cost is None else self.cost + other.cost,
        )


class StepAmount(Amount):
    """What the calls to one model in one step are expected to take."""

    step: str
    model: str


class Estimate(Record):
    """What a run is expected to take from here on."""

    questions: Annotated[int, Field(ge=0)]
    """Questions with a step that is still to come."""
    assumed_documents: Annotated[int, Field(ge=0)]
    """Of these, questions whose documents are not known yet, so that their number and length are
    assumed; for the others they were counted."""
    parts: tuple[StepAmount, ...]
    """By step and model, in the order that they are asked."""
    by_step: dict[str, Amount]
    by_model: dict[str, Amount]
    total: Amount
    unknown_prices: tuple[str, ...]
    """Models whose price is not known, by name."""
    assumptions: Assumptions
