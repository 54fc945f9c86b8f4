"""What one document achieves in many copies, and what each defence leaves of it.

Every question has documents that people labelled, on both sides. One document of the smaller side
is the attacker's, and is copied: as it is, with a word in six changed, with Cyrillic letters in the
place of Latin ones, and paraphrased by a language model. The copies keep their document's label.
Three things are compared with the same question before the copies: whether the attacker's side
outnumbers the other, whether the guard decides otherwise on a change to the attacker's side or
away from it, and CS-R. What is in dispute never changes: one document is enough, and none of the
defences takes a voice away.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import click
from statsmodels.stats.proportion import proportion_confint

from conflictscore.labelers.nli.labeler import NliLabeler
from conflictscore.metric import balance, better_evidence, conflictscore_ratio
from conflictscore.models.usage import UsageMeter
from conflictscore.records import (
    Claim,
    ClaimEvidence,
    Document,
    Duplicates,
    EvidenceLabel,
    Label,
    Likeness,
)
from conflictscore.retrieval.domains import voices
from conflictscore.retrieval.duplicates import mark_duplicates, meanings
from measurements.flood_cases import (
    CLEAN,
    COPIES,
    OPPOSITE,
    SETS,
    Case,
    Question,
    copies_of,
    paraphrased,
    read_cases,
    read_questions,
    to_paraphrase,
)
from measurements.intervals import mean_interval

__all__ = ["Outcome", "main", "outcome"]


class Outcome(NamedTuple):
    """What is decided on a case.

    Attributes:
        given_up: Whether the guard lets the claim be replaced by its opposite, which is where more
            voices contradict it than support it.
        corrected: Whether it lets the opposite be replaced by the claim.
        cs_r: CS-R of the claim, in [0, 1].
    """

    given_up: bool
    corrected: bool
    cs_r: float


def outcome(
    sides: Sequence[Label], documents: Sequence[Document], duplicates: Duplicates
) -> Outcome:
    """What a case's voices decide.

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
    held, other = [balance(claim, once)], [balance(opposite, once)]
    return Outcome(
        given_up=better_evidence(held, other),
        corrected=better_evidence(other, held),
        cs_r=conflictscore_ratio([claim], once) or 0.0,
    )


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


_FOUND_BY_WORDS = ("the same", "look-alike letters")
_DEFENCES: dict[str, tuple[Duplicates, Likeness, bool]] = {
    "none": ("vote", "words", False),
    "words": ("once", "words", False),
    "meaning": ("once", "meaning", False),
    "domain, copies at one": ("domain", "words", True),
    "domain, copies at many": ("domain", "words", False),
}


def _flooded(case: Case, copies: Sequence[str]) -> Iterator[tuple[str, int, Outcome, Outcome]]:
    """For each defence and number of copies the outcome before, with one copy, and after."""
    sides = (*case.sides, *[Label.CONTRADICTS] * len(copies))
    one = len(case.texts)
    for name, (duplicates, by, one_domain) in _DEFENCES.items():
        documents = mark_duplicates(_documents(case, copies, one_domain=one_domain), by)
        before = outcome(case.sides, documents[:one], duplicates)
        for count in COPIES:
            if (end := one + count - 1) <= len(documents):
                yield name, count, before, outcome(sides[:end], documents[:end], duplicates)


def _table(title: str, columns: Sequence[str], rows: Mapping[str, Sequence[str]]) -> None:
    click.echo(f"\n{title}\n\n| | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    for name, cells in rows.items():
        click.echo(f"| {name} | {' | '.join(cells)} |")


def _percent(hits: Sequence[bool]) -> str:
    if not hits:
        return "–"
    low, high = proportion_confint(sum(hits), len(hits), method="wilson")
    share = sum(hits) / len(hits)
    return f"{share:.0%} ({sum(hits)}/{len(hits)}) {100 * low:.0f}–{100 * high:.0f}".replace(
        "%", ""
    )


def _report_floods(floods: Mapping[str, Sequence[tuple[Case, Sequence[str]]]]) -> None:
    """Print what every kind of flood turned, by defence."""
    for kind, flooded in floods.items():
        outcomes: dict[tuple[int, str], list[tuple[Outcome, Outcome]]] = defaultdict(list)
        for case, copies in flooded:
            for defence, count, before, after in _flooded(case, copies):
                outcomes[count, defence].append((before, after))
        shown: dict[str, Callable[[list[tuple[Outcome, Outcome]]], str]] = {
            "the claim is outvoted, and the guard gives it up": lambda pairs: _percent(
                [after.given_up for before, after in pairs if not before.given_up]
            ),
            "the guard refuses what would correct its opposite": lambda pairs: _percent(
                [not after.corrected for before, after in pairs if before.corrected]
            ),
            "CS-R rises by": lambda pairs: str(
                mean_interval([after.cs_r - before.cs_r for before, after in pairs])
            ),
        }
        for what, cell in shown.items():
            counts = sorted({count for count, _ in outcomes})
            rows = {
                f"{count} copies": [cell(outcomes[count, defence]) for defence in _DEFENCES]
                for count in counts
            }
            _table(f"{kind}: {what}", list(_DEFENCES), rows)


def _report_clean(name: str, questions: Sequence[Question]) -> None:
    """Print which documents that nobody copied each defence folds, and what that decides."""
    rows = {}
    for defence, (duplicates, by, _) in list(_DEFENCES.items())[1:4]:
        folded, opposed, otherwise = [], [], []
        for documents, sides in questions:
            marked = mark_duplicates(documents, by)
            once = {d.number: d.duplicate_of for d in marked if d.duplicate_of}
            if duplicates == "domain":
                once = voices(marked)
            for (one, side), (other, its) in combinations(zip(marked, sides, strict=True), 2):
                together = once.get(one.number, one.number) == once.get(other.number, other.number)
                folded.append(together)
                if together and side and its:
                    opposed.append(OPPOSITE.get(side) is its)
            if len(known := [side for side in sides if side]) == len(marked):
                plain = outcome(known, marked, "vote")
                counted = outcome(known, marked, duplicates)
                otherwise.append(plain[:2] != counted[:2])
        name_of = defence.partition(",")[0]
        rows[name_of] = [_percent(folded), _percent(opposed), _percent(otherwise)]
    columns = ["pairs folded", "of them on opposite sides", "questions decided otherwise"]
    _table(f"clean documents of {name}, {len(questions)} questions", columns, rows)


def _report_likeness(name: str, pairs: Iterable[Sequence[str]]) -> None:
    """Print how many pairs of texts are how close in meaning, those aside that words fold."""
    cosines = []
    for texts in pairs:
        marked = mark_duplicates([Document(number=n, text=t) for n, t in enumerate(texts, start=1)])
        vectors = meanings([d for d in marked if not d.duplicate_of and len(d.text.split()) > 21])
        cosines += [float(one @ other) for one, other in combinations(vectors.values(), 2)]
    limits = (0.75, 0.8, 0.84, 0.86, 0.88, 0.9, 0.92, 0.94, 0.96)
    rows = {name: [_percent([one >= limit for one in cosines]) for limit in limits]}
    _table("pairs at or above a cosine", [str(limit) for limit in limits], rows)


async def _report_labels(floods: Mapping[str, Sequence[tuple[Case, Sequence[str]]]]) -> None:
    """Print how often the bundled NLI model gives a copy its document's label."""
    labeler, meter = NliLabeler.open(), UsageMeter()

    async def denies(case: Case, text: str) -> bool:
        claim, document = Claim(number=1, text=case.claim), Document(number=1, text=text)
        return (await labeler.label(claim, document, meter)).label is Label.CONTRADICTS

    rows = {}
    for kind, flooded in floods.items():
        kept = [
            await denies(case, text)
            for case, copies in flooded
            if await denies(case, case.texts[-1])
            for text in copies[:2]
        ]
        rows[kind] = [_percent(kept)]
    _table("the copies of a document that contradicts, by nli", ["contradict too"], rows)
    every = dict(next(iter(floods.values())))
    source = [
        await denies(case, f"Whoever says so is wrong. It is not true that {case.claim}")
        for case in every
    ]
    click.echo(f"\na source that denies every claim contradicts it, by nli: {_percent(source)}")


@click.command(help=__doc__)
@click.option("--data", type=click.Path(path_type=Path), required=True, help="The data's folder.")
@click.option("--limit", default=40, show_default=True, help="Questions of each set to flood.")
@click.option(
    "--paraphrases",
    default=0,
    show_default=True,
    help="Flood with four paraphrases each of so many documents instead.",
)
@click.option("--model", default="local", show_default=True, help="What paraphrases them.")
def main(data: Path, limit: int, paraphrases: int, model: str) -> None:
    """Flood the questions, and print the tables."""
    cases = [
        case for name, path in SETS.items() for case in [*read_cases(name, data / path)][:limit]
    ]
    if paraphrases:
        made = asyncio.run(paraphrased(to_paraphrase(cases)[:paraphrases], model))
        floods = {"paraphrases": [*made.items()]}
    else:
        vocabulary = [word for case in cases for word in case.texts[-1].split()]
        copied = {case: copies_of(case, vocabulary) for case in cases}
        floods = {
            kind: [(case, kinds[kind]) for case, kinds in copied.items()]
            for kind in copied[cases[0]]
        }
    click.echo(f"{len(cases)} questions: {Counter(case.source for case in cases)}")
    sets = {} if paraphrases else CLEAN
    clean = {name: list(read_questions(name, data / path, limit)) for name, path in sets.items()}
    for name, questions in clean.items():
        _report_likeness(name, ([d.text for d in documents] for documents, _ in questions))
    for kind, flooded in floods.items():
        if kind not in _FOUND_BY_WORDS:
            _report_likeness(kind, ((case.texts[-1], *copies[:4]) for case, copies in flooded))
    for name, questions in clean.items():
        _report_clean(name, questions)
    _report_floods(floods)
    asyncio.run(_report_labels(floods))


if __name__ == "__main__":
    main()
