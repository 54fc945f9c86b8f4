"""Effect of one document in many copies, with and without each defence.

Every question has documents that people labelled, on both sides. One document of the smaller side
is the attacker's, and is copied: as it is, with a word in six changed, with Cyrillic letters in the
place of Latin ones, and paraphrased by a language model. The copies keep their document's label.
Three things are compared with the same question before the copies: whether the attacker's side
wins the documents' vote, whether a correction away from it is lost, and CS-R. What is in dispute
never changes: one document is enough, and none of the defences takes a voice away.

What comes of each question is kept in ``--out`` the moment it is known, so that the same command
resumes where it was stopped. A change to how near-copies are told asks for another file.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import click
from rich.console import Console

from conflictscore.benchmarks.harness.statistics import mean_interval, proportion
from conflictscore.errors import ConflictScoreError
from conflictscore.labelers.nli.labeler import NliLabeler
from conflictscore.progress import CountBar
from conflictscore.storage.record_file import RecordFile
from measurements.flood_cases import (
    CLEAN,
    SETS,
    Case,
    copies_of,
    paraphrased,
    read_cases,
    read_questions,
    to_paraphrase,
)
from measurements.flood_outcomes import (
    DEFENCES,
    CleanQuestion,
    FloodedCase,
    KeptResults,
    Outcome,
    without_copies,
    work_out,
)

__all__ = ["main"]


def _table(title: str, columns: Sequence[str], rows: Mapping[str, Sequence[str]]) -> None:
    click.echo(f"\n{title}\n\n| | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    for name, cells in rows.items():
        click.echo(f"| {name} | {' | '.join(cells)} |")


def _percent(hits: Sequence[bool]) -> str:
    if not hits:
        return "–"
    share = proportion(sum(hits), len(hits))
    value, low, high = (100 * (one or 0.0) for one in (share.value, share.low, share.high))
    return f"{value:.0f} ({share.count}/{share.n}) {low:.0f}–{high:.0f}"


def _report_floods(floods: Mapping[str, Sequence[FloodedCase]]) -> None:
    """Print what every kind of flood turned, by defence."""
    for kind, flooded in floods.items():
        outcomes: dict[tuple[int, str], list[tuple[Outcome, Outcome]]] = defaultdict(list)
        for case in flooded:
            for defence, count, before, after in case.outcomes:
                outcomes[count, defence].append((before, after))
        shown: dict[str, Callable[[list[tuple[Outcome, Outcome]]], str]] = {
            "the vote gives the claim up": lambda pairs: _percent(
                [after.given_up for before, after in pairs if not before.given_up]
            ),
            "the vote no longer corrects its opposite": lambda pairs: _percent(
                [not after.corrected for before, after in pairs if before.corrected]
            ),
            "CS-R rises by": lambda pairs: _mean_within_bounds(
                [after.cs_r - before.cs_r for before, after in pairs]
            ),
        }
        for what, cell in shown.items():
            counts = sorted({count for count, _ in outcomes})
            rows = {
                f"{count} copies": [cell(outcomes[count, defence]) for defence in DEFENCES]
                for count in counts
            }
            _table(f"{kind}: {what}", list(DEFENCES), rows)


def _mean_within_bounds(values: Sequence[float]) -> str:
    mean = mean_interval(values)
    return " < ".join(f"{one:.3f}" for one in (mean.low, mean.value, mean.high) if one is not None)


def _report_clean(name: str, questions: Sequence[CleanQuestion]) -> None:
    """Print which documents that nobody copied each defence folds, and what that decides."""
    rows = {
        defence.partition(",")[0]: [
            _percent([one for question in questions for one in question.folded[defence]]),
            _percent([one for question in questions for one in question.opposed[defence]]),
            _percent(
                [
                    otherwise
                    for question in questions
                    if (otherwise := question.otherwise[defence]) is not None
                ]
            ),
        ]
        for defence in list(DEFENCES)[1:3]
    }
    columns = ["pairs folded", "of them on opposite sides", "questions decided otherwise"]
    _table(f"clean documents of {name}, {len(questions)} questions", columns, rows)


def _report_labels(floods: Mapping[str, Sequence[FloodedCase]]) -> None:
    """Print how often the bundled NLI model gives a copy its document's label."""
    rows = {
        kind: [_percent([one for c in flooded if c.contradicts for one in c.copies_contradict])]
        for kind, flooded in floods.items()
    }
    _table("the copies of a document that contradicts, by nli", ["contradict too"], rows)
    denials = [case.denial_contradicts for case in next(iter(floods.values()))]
    click.echo(f"\na source that denies every claim contradicts it, by nli: {_percent(denials)}")


@click.command(help=__doc__)
@click.option("--data", type=click.Path(path_type=Path), required=True, help="The data's folder.")
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="Where results are kept."
)
@click.option(
    "--limit",
    default=40,
    show_default=True,
    type=click.IntRange(0),
    help="Questions of each set to flood; 0 for all.",
)
@click.option(
    "--paraphrases",
    default=0,
    show_default=True,
    type=click.IntRange(0),
    help="Flood with four paraphrases each of so many documents instead.",
)
@click.option("--model", default="local", show_default=True, help="Model that paraphrases them.")
@click.option(
    "--clean",
    "sets",
    multiple=True,
    type=click.Choice(list(CLEAN)),
    default=list(CLEAN),
    help="Whose documents to look at that nobody copied; give it several times. Default: all.",
)
def main(
    data: Path, out: Path, limit: int, paraphrases: int, model: str, sets: tuple[str, ...]
) -> None:
    """See the module."""
    first = limit or None
    cases = [
        case for name, path in SETS.items() for case in [*read_cases(name, data / path)][:first]
    ]
    if not cases:
        raise click.ClickException(f"{data}: no question has documents on both sides")
    clean: dict[str, list[CleanQuestion]] = {}
    flooded: dict[str, list[FloodedCase]] = {}
    try:
        with RecordFile(out) as file:
            kept, labeler = KeptResults(file), NliLabeler.open()
            floods = _floods(cases, paraphrases, model)
            read = {
                name: [*read_questions(name, data / CLEAN[name], first)]
                for name in (() if paraphrases else sets)
            }
            total = sum(map(len, read.values())) + sum(map(len, floods.values()))
            done = 0
            with CountBar(Console(stderr=True), "working out", "questions") as bar:
                for kind, of_kind in floods.items():
                    flooded[kind] = []
                    for case, copies in of_kind:
                        flooded[kind].append(work_out(case, copies, labeler, kept))
                        bar.show(done := done + 1, total)
                for name, questions in read.items():
                    clean[name] = []
                    for question in questions:
                        clean[name].append(without_copies(question, kept))
                        bar.show(done := done + 1, total)
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error
    except KeyboardInterrupt:
        raise click.ClickException(f"stopped; the same command goes on from {out}") from None
    click.echo(f"{len(cases)} questions: {Counter(case.source for case in cases)}")
    _report(clean, flooded)


def _floods(
    cases: Sequence[Case], paraphrases: int, model: str
) -> dict[str, list[tuple[Case, list[str]]]]:
    """The copies of each case, by kind."""
    if paraphrases:
        made = asyncio.run(paraphrased(to_paraphrase(cases)[:paraphrases], model))
        return {"paraphrases": [*made.items()]}
    vocabulary = [word for case in cases for word in case.texts[-1].split()]
    copied = {case: copies_of(case, vocabulary) for case in cases}
    return {
        kind: [(case, kinds[kind]) for case, kinds in copied.items()] for kind in copied[cases[0]]
    }


def _report(
    clean: Mapping[str, Sequence[CleanQuestion]], floods: Mapping[str, Sequence[FloodedCase]]
) -> None:
    """Print every table."""
    for name, questions in clean.items():
        _report_clean(name, questions)
    _report_floods(floods)
    _report_labels(floods)


if __name__ == "__main__":
    main()
