"""At which label accuracy does each method begin to help?

Questions whose documents people labelled are run with those labels in place of a labeler's, as they
are and spoiled: evenly at several rates, and by the confusion tables of ``nli`` and ``choice``.
Labels cost nothing, and every reply is kept in the folder of --out: a first answer is paid for
once, a run that was stopped goes on, and more questions, rates or methods pay for what is new. A
rule is chosen on one half of the questions and reported on the other (--half).
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import click
from rich.console import Console

from conflictscore.benchmarks.harness.definition import Benchmark
from conflictscore.benchmarks.harness.methods.registry import BASELINE, METHODS
from conflictscore.benchmarks.harness.question_sample import shortened
from conflictscore.benchmarks.harness.records import QuestionResult
from conflictscore.benchmarks.harness.report.bench_progress import BenchProgress
from conflictscore.benchmarks.harness.statistics import mcnemar, mean_interval
from conflictscore.benchmarks.ramdocs.benchmark import exact_match
from conflictscore.benchmarks.running import run_benchmark
from conflictscore.errors import ConflictScoreError
from conflictscore.graph.keywords import Model
from conflictscore.storage.cache import ContentCache
from measurements.obedient_model import obedient_model
from measurements.people_labels import (
    SETS,
    TABLES,
    LabelledQuestion,
    PeopleLabeler,
    Spoiler,
    as_benchmark,
)

__all__ = [
    "Condition",
    "Moved",
    "break_even",
    "chart",
    "drawn",
    "main",
    "moved",
    "studied",
]

METHOD_NAMES = (
    *("regenerated-rag", "guarded-rag", "typed-rag", "revised-rag"),
    "madam-rag",
)
_ROW = "{:<14}{:>9}{:>6}{:>11}{:>8}{:>8}{:>9}{:>20}"


class Moved(NamedTuple):
    """Effect of a method on the first answers.

    Attributes:
        n: Questions on which both the first answer and the method's were judged.
        corrected: Wrong answers that became right.
        harmed: Right answers after which the right one is not named any more.
        difference: Mean of what changed with its 95 % interval, in percent of the questions; a
            hedge of a right answer counts as a loss.
        p_value: Of corrected against harmed, two-sided, by the exact McNemar test.
        hedged: Right answers after which a wrong one is named beside the right one.
    """

    n: int
    corrected: int
    harmed: int
    difference: str
    p_value: float
    hedged: int = 0


class Condition(NamedTuple):
    """One way of spoiling labels, with what came of it.

    Attributes:
        name: The rate, or whose confusion table it was.
        accuracy: Share of the labels of first answers that are people's own; None where there are
            none.
        methods: By method; one that did not end on a question is absent.
    """

    name: str
    accuracy: float | None
    methods: dict[str, Moved]


def drawn(labelled: Sequence[LabelledQuestion], count: int, seed: int) -> list[LabelledQuestion]:
    """So many questions by seed; a larger number draws the same ones, and more."""
    order = list(labelled)
    random.Random(seed).shuffle(order)  # noqa: S311 - a draw, not a secret
    return order[:count]


def studied(
    name: str,
    labelled: Sequence[LabelledQuestion],
    spoiler: Spoiler,
    out: Path,
    *,
    methods: Sequence[str],
    model: Model | None,
    passage_tokens: int | None = None,
    at_once: int = 1,
    console: Console | None = None,
) -> tuple[QuestionResult, ...]:
    """Run the methods with these labels, or go on with the run.

    Args:
        name: Of the set.
        labelled: The questions.
        spoiler: What becomes of people's labels.
        out: Where runs and replies are kept.
        methods: Besides ``rag``, with which they are compared.
        model: What answers; ``obedient`` is a scripted model that follows the evidence.
        passage_tokens: To what documents are cut; None leaves them whole.
        at_once: Questions that are run side by side.
        console: Where progress is shown; None shows none.
    """
    benchmark: Benchmark = as_benchmark(name, labelled, (BASELINE, *methods))
    if passage_tokens:
        benchmark = shortened(benchmark, passage_tokens)
    shape = f"{spoiler.seed}-{'-'.join(m.removesuffix('-rag') for m in methods)}"
    progress = BenchProgress(
        console or Console(quiet=True),
        enabled=console is not None,
        total=len(labelled),
        measure=benchmark.measures[0],
    )
    with progress:
        cut = [
            one._replace(question=question)
            for one, question in zip(labelled, benchmark.questions, strict=True)
        ]
        scripted = obedient_model(cut) if model == "obedient" else None
        run = run_benchmark(
            benchmark,
            out / f"{name}-{spoiler.name}-{shape}{'-obedient' if scripted else ''}",
            model=scripted or model,
            prompts=scripted.prompts if scripted else None,
            methods=methods,
            labeler=PeopleLabeler(labelled, spoiler),
            cache=ContentCache(out / "replies.sqlite"),
            concurrency=at_once,
            listener=progress,
        )
    return run.results


def moved(results: Iterable[QuestionResult], method: str) -> Moved | None:
    """Effect of a method on the first answers, by exact match; None where it ended on none."""
    known = []
    for result in results:
        before, after = (result.methods.get(name) for name in (BASELINE, method))
        if before and after and before.answer and after.answer:
            asked, text = result.question, after.answer.text
            found = exact_match(text, asked.correct, asked.incorrect)
            known.append((before.value("exact match"), after.value("exact match"), found.given))
    known = [one for one in known if None not in one[:2]]
    if not known:
        return None
    corrected = sum(not one and bool(other) for one, other, _ in known)
    lost = [bool(given) for one, other, given in known if one and not other]
    harmed = lost.count(False)
    difference = mean_interval([100.0 * (bool(other) - bool(one)) for one, other, _ in known])
    bounds = "" if difference.low is None else f" ({difference.low:+.0f} to {difference.high:+.0f})"
    shown = f"{difference.value:+.0f} %{bounds}"
    p_value = mcnemar(corrected, harmed)
    return Moved(len(known), corrected, harmed, shown, p_value, hedged=lost.count(True))


def label_accuracy(
    results: Iterable[QuestionResult], labelled: Iterable[LabelledQuestion]
) -> float | None:
    """How many labels of first answers are people's own, of all."""
    known = {one.question.id: one for one in labelled}
    right = []
    for result in results:
        first = result.methods.get(BASELINE)
        gives = {d.number: str(d.metadata.get("gives") or "") for d in result.documents}
        for evidence in first.report.claims if first and first.report else ():
            asked = known[result.question.id]
            right += [
                pair.label is asked.label(evidence.claim.text, gives[pair.document])
                for pair in evidence.labels
            ]
    return sum(right) / len(right) if right else None


def break_even(conditions: Iterable[Condition], method: str) -> str:
    """From which label accuracy on a method corrects more than it harms, at all higher ones too."""
    begins = None
    known = [c for c in conditions if c.accuracy is not None and method in c.methods]
    for condition in sorted(known, key=lambda c: -(c.accuracy or 0)):
        its = condition.methods[method]
        if its.corrected <= its.harmed:
            break
        begins = condition.accuracy
    return "nowhere" if begins is None else f"from {begins:.2f}"


def chart(conditions: Sequence[Condition], methods: Sequence[str]) -> Iterator[str]:
    """Corrections and harms by method and label accuracy, as lines of text."""
    columns = sorted(conditions, key=lambda c: -(c.accuracy or 0))
    yield "label accuracy    " + "".join(
        f"{'none' if c.accuracy is None else f'{c.accuracy:.2f}':>12}" for c in columns
    )
    yield "labels spoiled    " + "".join(f"{c.name:>12}" for c in columns) + "   helps"
    for method in methods:
        cells = []
        for condition in columns:
            its = condition.methods.get(method)
            cells.append(f"{f'+{its.corrected} -{its.harmed}' if its else '':>12}")
        yield f"{method:<18}{''.join(cells)}   {break_even(conditions, method)}"


def _condition(
    spoiler: Spoiler,
    results: Sequence[QuestionResult],
    labelled: Sequence[LabelledQuestion],
    methods: Sequence[str],
) -> Condition:
    known = {method: its for method in methods if (its := moved(results, method))}
    return Condition(spoiler.name, label_accuracy(results, labelled), known)


@click.command(help=__doc__)
@click.option(
    "--data",
    "data",
    multiple=True,
    required=True,
    help=f"A set and its published file, as NAME=FILE; NAME is one of {', '.join(SETS)}.",
)
@click.option(
    "--model",
    default="local",
    show_default=True,
    help="Model that answers; obedient is a scripted model that does what the evidence says.",
)
@click.option("--questions", default=30, show_default=True, help="Of each set, drawn by seed.")
@click.option("--seed", default=1, show_default=True)
@click.option("--rates", default="0,.1,.2,.3,.4,.5", show_default=True)
@click.option("--tables", default="nli,choice", show_default=True, help="Confusion tables.")
@click.option("--methods", default=",".join(m for m in METHOD_NAMES if m in METHODS))
@click.option("--passage-tokens", default=96, show_default=True, help="Documents are cut to that.")
@click.option(
    "--half", type=click.Choice(["first", "second"]), help="Of the questions drawn.  [default: all]"
)
@click.option("--at-once", default=1, show_default=True, help="Questions run side by side.")
@click.option("--out", type=click.Path(path_type=Path), required=True)
def main(
    data: tuple[str, ...],
    model: str,
    questions: int,
    seed: int,
    rates: str,
    tables: str,
    methods: str,
    passage_tokens: int,
    half: str | None,
    at_once: int,
    out: Path,
) -> None:
    """See the module."""
    named = [name.strip() for name in methods.split(",") if name.strip()]
    spoilers = [Spoiler(rate=float(rate)) for rate in rates.split(",") if rate.strip()]
    if unknown := [name for name in filter(None, tables.split(",")) if name not in TABLES]:
        raise click.UsageError(f"--tables {unknown[0]}: one of {', '.join(TABLES)}")
    spoilers += [Spoiler(table=name) for name in tables.split(",") if name]
    out.mkdir(parents=True, exist_ok=True)
    sets: dict[str, list[Condition]] = {}
    for one in data:
        name, _, file = one.partition("=")
        if name not in SETS:
            raise click.UsageError(f"--data {one}: give NAME=FILE, NAME one of {', '.join(SETS)}")
        conditions = sets.setdefault(name, [])
        try:
            labelled = drawn(SETS[name](Path(file)), questions, seed)
            if half is not None:
                middle = len(labelled) // 2
                labelled = labelled[:middle] if half == "first" else labelled[middle:]
            shown = "-".join(filter(None, (name, half, str(len(labelled)))))
            for spoiler in spoilers:
                results = studied(
                    shown,
                    labelled,
                    spoiler._replace(seed=seed),
                    out,
                    methods=named,
                    model=model,
                    passage_tokens=passage_tokens,
                    at_once=at_once,
                    console=Console(stderr=True, highlight=False),
                )
                conditions.append(_condition(spoiler, results, labelled, named))
        except ConflictScoreError as error:
            raise click.ClickException(str(error)) from error
        except KeyboardInterrupt:
            click.echo("stopped; the same command goes on", err=True)
            raise SystemExit(130) from None
        finally:
            _print(name, conditions, named)


def _print(name: str, conditions: Sequence[Condition], methods: Sequence[str]) -> None:
    if not conditions:
        return
    click.echo(f"\n{name}")
    head = ("method", "spoiled", "n", "corrected", "harmed", "hedged", "p", "difference")
    click.echo(_ROW.format(*head))
    for condition in conditions:
        for method, its in condition.methods.items():
            counted = (its.n, its.corrected, its.harmed, its.hedged)
            shown = (method.removesuffix("-rag"), condition.name, *counted)
            click.echo(_ROW.format(*shown, f"{its.p_value:.2g}", its.difference))
    click.echo()
    for line in chart(conditions, methods):
        click.echo(line)


if __name__ == "__main__":
    main()
