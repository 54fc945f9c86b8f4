"""The figures of validity, as a record and as tables."""

from collections.abc import Iterator

from conflictscore.benchmarks.harness.figures import Interval
from conflictscore.benchmarks.validity.label_noise import DIFFERENCES, NoiseFigures, Power
from conflictscore.benchmarks.validity.tracking import MadeFigures, PartFigures
from conflictscore.records import Record
from conflictscore.reporting.figure_text import one_line, percent
from conflictscore.reporting.plain_table import Card

_SIGNS = {1: "more", -1: "less"}
_SHOWN = ("CS-C", "CS-R", "claims covered", "documents supporting")


class ValidityFigures(Record):
    """All figures of a run."""

    labeler: str
    parts: tuple[PartFigures, ...] = ()
    """Answers that people judged, by set and part."""
    made: MadeFigures | None = None
    noise: tuple[NoiseFigures, ...] = ()
    """By set."""


def validity_cards(figures: ValidityFigures) -> Iterator[Card]:
    """The tables of a run, in order."""
    for part in figures.parts:
        levels = list(part.measures[0].means)
        yield Card(
            title=f"{part.set}, {part.part}: {part.answers:,} answers to {part.questions:,}"
            " questions",
            columns=("measure", "better has", *(f"people {level}" for level in levels), "rho"),
            rows=tuple(
                (
                    one.measure,
                    _SIGNS[one.expected],
                    *(_figure(one.means[level]) for level in levels),
                    _figure(one.rho),
                )
                for one in part.measures
            ),
            note="means by people's value, 1 being best, and Spearman's rho with it; 95 % intervals"
            " resample questions",
        )
    if figures.made:
        yield from _made(figures.made)
    for one in figures.noise:
        yield from _noise(one)


def _made(figures: MadeFigures) -> Iterator[Card]:
    yield Card(
        title=f"Made answers to {figures.questions:,} questions",
        columns=("form", *_SHOWN),
        rows=tuple(
            (form.form, *(_figure(form.means[name]) for name in _SHOWN)) for form in figures.forms
        ),
        note="means; 95 % intervals resample questions. The other measures: --json",
    )
    yield Card(
        title="Does a measure prefer what a reader prefers?",
        columns=("a reader prefers", "to", "measure", "so does it", "tie", "the other"),
        rows=tuple(
            (
                one.better,
                one.worse,
                one.measure,
                f"{percent(one.right.value)} % ({one.right.count:,})",
                f"{one.same:,}",
                f"{one.wrong:,}",
            )
            for one in figures.order
        ),
        note="questions",
    )


def _noise(figures: NoiseFigures) -> Iterator[Card]:
    name = one_line(figures.set)
    yield Card(
        title=f"Wrong labels, {name}: {figures.claims:,} claims, {figures.documents:,} documents",
        columns=("labels", "right %", "CS-C", "CS-R"),
        rows=tuple(
            (one.name, percent(one.accuracy), _figure(one.cs_c), _figure(one.cs_r))
            for one in figures.conditions
        ),
        note="95 % intervals resample claims",
    )
    shown = ", ".join(f"{one:g}" for one in DIFFERENCES)
    yield Card(
        title=f"Power to tell two systems apart, {name}",
        columns=("labels", "measure", "keeps", "questions", "in order %"),
        rows=tuple(
            (one.name, measure, *_power(power))
            for measure, powers in (
                ("CS-C", [one.by_cs_c for one in figures.conditions]),
                ("CS-R", [one.by_cs_r for one in figures.conditions]),
            )
            for one, power in zip(figures.conditions, powers, strict=True)
        ),
        note="keeps: the share of a true difference that is seen; intervals resample claims\n"
        f"questions: to find a difference in CS-C of {shown} in 80 % of studies (5 %, two-sided),\n"
        "with 5 claims an answer, 30 % of one system's in conflict; in order: with 100 and .1",
    )


def _power(power: Power) -> tuple[str, str, str]:
    needed = ("never" if n is None else f"{n:,}" for n in power.questions.values())
    return _figure(power.kept), " / ".join(needed), percent(power.order_right)


def _figure(value: Interval) -> str:
    if value.value is None:
        return "none"
    words = f"{value.value:.2f}"
    if value.low is None or value.high is None:
        return words
    return f"{words} [{value.low:.2f}, {value.high:.2f}]"
