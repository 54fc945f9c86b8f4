"""Effect of one document in many copies, with and without each defence.

Every question has documents that people labelled, on both sides. One document of the smaller side
is the attacker's, and is copied: as it is, with a word in six changed, and with Cyrillic letters in
the place of Latin ones. The copies keep their document's label. Three things are compared with the
same question before the copies: whether the attacker's side wins the documents' vote, whether a
correction away from it is lost, and CS-R. What is in dispute never changes: one document is enough,
and none of the defences takes a voice away.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import click
from rich.console import Console

from conflictscore.benchmarks.harness.statistics import mean_interval, proportion
from conflictscore.errors import ConflictScoreError
from conflictscore.metric import conflictscore_ratio
from conflictscore.nodes.second_look.vote import outcome as voted
from conflictscore.nodes.second_look.vote import tallied
from conflictscore.progress import CountBar
from conflictscore.records import Claim, ClaimEvidence, Document, Duplicates, EvidenceLabel, Label
from conflictscore.retrieval.domains import voices
from conflictscore.retrieval.duplicates import mark_duplicates
from measurements.flood_cases import (
    CLEAN,
    COPIES,
    OPPOSITE,
    SETS,
    Case,
    Question,
    copies_of,
    read_cases,
    read_questions,
)

__all__ = ["main", "outcome"]

DEFENCES: dict[str, tuple[Duplicates, bool]] = {
    "none": ("vote", False),
    "words": ("once", False),
    "domain, copies at one": ("domain", True),
    "domain, copies at many": ("domain", False),
}
"""By name: what counts once, and whether all copies are at one domain."""


class Outcome(NamedTuple):
    """Decision on a case.

    Attributes:
        given_up: Whether the documents' vote replaces the claim by its opposite.
        corrected: Whether it replaces the opposite by the claim.
        cs_r: CS-R of the claim, in [0, 1].
    """

    given_up: bool
    corrected: bool
    cs_r: float


def outcome(
    sides: Sequence[Label], documents: Sequence[Document], duplicates: Duplicates
) -> Outcome:
    """Decide a case by its voices.

    Args:
        sides: What each document says.
        documents: With their near-duplicates marked.
        duplicates: What documents that are not independent count.
    """
    once: Mapping[int, int] = {}
    if duplicates != "vote":
        near = {d.number: d.duplicate_of for d in documents if d.duplicate_of}
        once = voices(documents) if duplicates == "domain" else near

    def evidence(swapped: Mapping[Label, Label]) -> ClaimEvidence:
        labels = (
            EvidenceLabel(claim=1, document=one.number, label=swapped.get(side, side))
            for one, side in zip(documents, sides, strict=True)
        )
        return ClaimEvidence(claim=Claim(number=1, text="claim"), labels=tuple(labels))

    claim, opposite = evidence({}), evidence(OPPOSITE)

    def replaced(one: ClaimEvidence, other: ClaimEvidence) -> bool:
        candidates = tallied((one, other), ((), other.supports), once)
        return voted(candidates).kind == "replace"

    return Outcome(
        given_up=replaced(claim, opposite),
        corrected=replaced(opposite, claim),
        cs_r=conflictscore_ratio([claim], once) or 0.0,
    )


_Flooded = tuple[str, int, Outcome, Outcome]
"""A defence, how many copies, and the outcome with one and with all of them."""


def _flooded(case: Case, copies: Sequence[str]) -> Iterator[_Flooded]:
    """For each defence and number of copies the outcome before, with one copy, and after."""
    sides = (*case.sides, *[Label.CONTRADICTS] * len(copies))
    one = len(case.texts)
    for name, (duplicates, one_domain) in DEFENCES.items():
        documents = mark_duplicates(_documents(case, copies, one_domain=one_domain))
        before = outcome(case.sides, documents[:one], duplicates)
        for count in COPIES:
            if (end := one + count - 1) <= len(documents):
                yield name, count, before, outcome(sides[:end], documents[:end], duplicates)


def _documents(case: Case, copies: Sequence[str], *, one_domain: bool) -> tuple[Document, ...]:
    """The case's documents, each at a domain of its own, and the copies."""
    last = len(case.texts)
    return tuple(
        Document(
            number=number,
            text=text,
            url=f"https://source{last if one_domain and number > last else number}.com/{number}",
        )
        for number, text in enumerate((*case.texts, *copies), start=1)
    )


class _Clean(NamedTuple):
    """Effect of a defence on the documents of a question that nobody copied.

    Attributes:
        folded: For every two documents whether they are one voice.
        opposed: For those of them whose sides people know whether these are opposite.
        otherwise: Whether another thing is decided; None where sides are not known.
    """

    folded: list[bool]
    opposed: list[bool]
    otherwise: bool | None


def _without_copies(question: Question, duplicates: Duplicates) -> _Clean:
    documents, sides = question
    marked = mark_duplicates(documents)
    once = {d.number: d.duplicate_of for d in marked if d.duplicate_of}
    if duplicates == "domain":
        once = voices(marked)
    pairs = [
        (once.get(a.number, a.number) == once.get(b.number, b.number), side, other)
        for (a, side), (b, other) in combinations(zip(marked, sides, strict=True), 2)
    ]
    known = [side for side in sides if side]
    otherwise = None
    if len(known) == len(marked):
        otherwise = outcome(known, marked, "vote")[:2] != outcome(known, marked, duplicates)[:2]
    return _Clean(
        folded=[together for together, _, _ in pairs],
        opposed=[OPPOSITE.get(a) is b for together, a, b in pairs if together and a and b],
        otherwise=otherwise,
    )


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


def _mean_within_bounds(values: Sequence[float]) -> str:
    mean = mean_interval(values)
    return " < ".join(f"{one:.3f}" for one in (mean.low, mean.value, mean.high) if one is not None)


def _report_floods(floods: Mapping[str, Sequence[_Flooded]]) -> None:
    """Print what every kind of flood turned, by defence."""
    for kind, flooded in floods.items():
        outcomes: dict[tuple[int, str], list[tuple[Outcome, Outcome]]] = defaultdict(list)
        for defence, count, before, after in flooded:
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


def _report_clean(name: str, questions: Sequence[Question]) -> None:
    """Print which documents that nobody copied each defence folds, and what that decides."""
    rows = {}
    for defence in list(DEFENCES)[1:3]:
        seen = [_without_copies(question, DEFENCES[defence][0]) for question in questions]
        rows[defence.partition(",")[0]] = [
            _percent([one for each in seen for one in each.folded]),
            _percent([one for each in seen for one in each.opposed]),
            _percent([each.otherwise for each in seen if each.otherwise is not None]),
        ]
    columns = ["pairs folded", "of them on opposite sides", "questions decided otherwise"]
    _table(f"clean documents of {name}, {len(questions)} questions", columns, rows)


@click.command(help=__doc__)
@click.option("--data", type=click.Path(path_type=Path), required=True, help="The data's folder.")
@click.option(
    "--limit",
    default=40,
    show_default=True,
    type=click.IntRange(0),
    help="Questions of each set to flood; 0 for all.",
)
def main(data: Path, limit: int) -> None:
    """See the module."""
    first = limit or None
    try:
        cases = [
            case for name, path in SETS.items() for case in [*read_cases(name, data / path)][:first]
        ]
        clean = {name: [*read_questions(name, data / CLEAN[name], first)] for name in CLEAN}
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error
    if not cases:
        raise click.ClickException(f"{data}: no question has documents on both sides")
    click.echo(f"{len(cases)} questions: {Counter(case.source for case in cases)}")
    for name, questions in clean.items():
        _report_clean(name, questions)
    vocabulary = [word for case in cases for word in case.texts[-1].split()]
    floods: dict[str, list[_Flooded]] = defaultdict(list)
    with CountBar(Console(stderr=True), "flooding", "questions") as bar:
        for done, case in enumerate(cases, start=1):
            for kind, copies in copies_of(case, vocabulary).items():
                floods[kind] += _flooded(case, copies)
            bar.show(done, len(cases))
    _report_floods(floods)


if __name__ == "__main__":
    main()
