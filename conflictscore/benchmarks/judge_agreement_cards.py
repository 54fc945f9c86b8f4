"""Shows the comparison of a judge with annotators as tables for a terminal."""

from collections.abc import Iterator

from conflictscore.benchmarks.harness.figures import Interval, Proportion
from conflictscore.benchmarks.judge_agreement import RatingAgreement
from conflictscore.reporting.figure_text import in_brackets, one_line, percent, points, span
from conflictscore.reporting.plain_table import Card, card_of


def agreement_cards(figures: RatingAgreement, judge: str) -> Iterator[Card]:
    """Yield a table of agreement, two tables of ratings, and tables of method differences."""
    left_out = "; ".join(f"{count:,} {reason}" for reason, count in figures.left_out.items())
    yield card_of(
        f"{figures.name}'s judge compared with people: {one_line(judge)}",
        ("", "%", "95 % interval", "n"),
        [
            ("equal ratings", *_share(figures.agreement)),
            (
                "equal ratings, interval by resampling questions",
                *_interval(figures.agreement_by_question),
            ),
            ("always the most frequent rating by people", *_share(figures.commonest)),
        ],
        "\n".join(
            [
                f"Cohen's kappa {_kappa(figures.kappa)}"
                + (
                    f", with linear weights {_kappa(figures.kappa_linear)}"
                    if figures.kappa_linear is not None
                    else ""
                ),
                f"{figures.answers:,} answers, {figures.unrated:,} of them not rated by the judge",
                *([f"rows left out: {left_out}"] if left_out else []),
            ]
        ),
        free_text=True,
    )
    yield card_of(
        "Ratings",
        ("people", *(f"judge: {rating}" for rating in figures.confusion)),
        [(people, *row.values()) for people, row in figures.confusion.items()],
    )
    yield card_of(
        "Bias by rating",
        (
            "rating",
            "people %",
            "judge %",
            "judge minus people, points",
            "95 % interval",
            "recall %",
        ),
        [
            (
                bias.rating,
                percent(bias.people.value),
                percent(bias.judge.value),
                points(bias.difference.value),
                span(points(bias.difference.low), points(bias.difference.high)),
                percent(bias.recall.value),
            )
            for bias in figures.bias
        ],
        "recall: among the answers that people gave this rating, the share to which the judge "
        "gave it too; intervals are computed by resampling questions",
    )
    yield from _difference_cards(figures)


def _difference_cards(figures: RatingAgreement) -> Iterator[Card]:
    """Yield a note on how well the judge shows differences, and a table of method pairs.

    The number of questions that a study needs is inversely proportional to the square of the
    difference. So if the judge shows the share d of a true difference, the study needs about 1 / d²
    times as many questions as with annotators.
    """
    retained_share = figures.retained_difference
    if retained_share.value is not None:
        bounds = in_brackets(percent(retained_share.low), percent(retained_share.high))
        yield Card(
            "How much of the true difference between methods is visible in the judge's verdicts",
            note=f"{percent(retained_share.value)} %{bounds} of a true difference in correct"
            " answers is visible (the judge's true positive rate minus its false positive rate)"
            + (
                "\nWith this judge, a study needs about"
                f" {1 / retained_share.value**2:.1f} times as many questions as with"
                " ratings by people"
                if retained_share.value > 0
                else "\nThe judge shows none of the differences that people see"
            ),
        )
    if figures.differences:
        yield card_of(
            "Differences between methods in correct answers",
            # the space at the end of the second "95 %" keeps the names of the columns apart
            ("method", "against", "people, points", "95 %", "judge, points", "95 % ", "questions"),
            [
                (
                    pair.method,
                    pair.against,
                    *_difference(pair.people),
                    *_difference(pair.judge),
                    pair.people.n,
                )
                for pair in figures.differences
            ],
        )


def _share(share: Proportion) -> tuple[str, str, int]:
    return percent(share.value), span(percent(share.low), percent(share.high)), share.n


def _interval(interval: Interval) -> tuple[str, str, int]:
    bounds = span(percent(interval.low), percent(interval.high))
    return percent(interval.value), bounds, interval.n


def _difference(interval: Interval) -> tuple[str, str]:
    return points(interval.value), span(points(interval.low), points(interval.high))


def _kappa(kappa: float | None) -> str:
    return "none" if kappa is None else f"{kappa:.3f}"
