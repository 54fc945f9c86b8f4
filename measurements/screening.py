"""What ``screened`` saves against ``json``, and whether it disputes the same claims.

Answers of six claims are judged against ten documents. Claims and documents are texts that people
labelled, and the judge is simulated: it knows people's labels, and errs at one rate on single pairs
and at a higher one in a batch, either wherever it errs on the pair alone and on more (shared), or
without regard to it (apart). Prompts and replies go over the wire, and their tokens are counted.
Labels are placed in two ways: ten are drawn from the claim's own, so that as many are irrelevant as
in the set (drawn); or the claim has its own labels on as many documents, and the others, which are
there for other claims, are irrelevant (sparse). With --faults, the endpoint then fails. With
--model, that model judges the texts as they are, claims on the same documents together; with --out
its calls are kept, and the same command resumes.

disputed: claims with a contradiction, in conflict or refuted, by json. same: claims that both
dispute or neither does. found: disputed claims that screened disputes too. more: claims that
screened disputes and json does not, of those that it disputes. again: "same" of json and of a
judge of single pairs that errs apart from it, as often. right: claims that are disputed exactly
where people's labels dispute them, by json, the screen alone, and screened. conflicts: "same" of
claims with both sides. calls, tokens: of screened, as a share of json's; tokens in and out.
"""

import asyncio
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import click
import httpx2

from conflictscore.benchmarks.conflict_detection.data import balanced, read_data, with_siblings
from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup, in_tables
from conflictscore.errors import ConflictScoreError
from conflictscore.labelers.batch_judge import BatchJudge
from conflictscore.labelers.json_judge import JsonJudge
from conflictscore.labelers.protocol import Labeler
from conflictscore.labelers.screened import Screened
from conflictscore.labelers.table import label_table
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.spec import open_model
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import Claim, ClaimEvidence, Document, Label, Usage
from conflictscore.storage.record_file import RecordFile
from measurements.erring_judge import ErringJudge
from measurements.kept_calls import KeptCalls
from measurements.scheduler_overhead import FAULTS
from measurements.service_load import started

__all__ = ["Judged", "Table", "label_tables", "main"]

_CLAIMS, _DOCUMENTS = 6, 10
_AT_ONCE = 4
"""Answers that are judged side by side."""
_COLUMNS = (
    *("set", "labels", "errs", "most", "disputed", "same", "found", "more", "again"),
    *("right: json", "screen", "screened", "conflicts", "calls", "tokens"),
)
_ROW = "{:<14}{:<8}{:<17}{:>5}{:>10}{:>7}{:>7}{:>7}{:>7}{:>13}{:>8}{:>10}{:>11}{:>7}{:>8}"


class Table(NamedTuple):
    """An answer's claims, its documents, and people's labels: a row a claim."""

    claims: list[Claim]
    documents: list[Document]
    truth: list[list[Label | None]]


class Judged(NamedTuple):
    """What a labeler made of answers, and what that took."""

    rows: list[tuple[ClaimEvidence, ...]]
    usage: Usage
    seconds: float

    @property
    def claims(self) -> list[list[Label]]:
        """The labels of every claim."""
        return [[pair.label for pair in claim.labels] for row in self.rows for claim in row]

    @property
    def tokens(self) -> int:
        """In and out."""
        return self.usage.input_tokens + self.usage.output_tokens


@click.command(help=__doc__)
@click.option("--data", multiple=True, required=True, metavar="FILE", help="*_groups.jsonl")
@click.option(
    "--errs",
    "rates",
    multiple=True,
    type=(float, float),
    default=((0.03, 0.06), (0.05, 0.1), (0.05, 0.2), (0.1, 0.2)),
    show_default=True,
    help="Shares of wrong labels, alone and in a batch.",
)
@click.option("--most", "bounds", multiple=True, type=int, default=(2, 4), show_default=True)
@click.option("--answers", default=100, show_default=True, help="A row of the table.")
@click.option("--faults", is_flag=True, help="With 20 % malformed, 5 % HTTP 500, 5 % HTTP 429.")
@click.option("--model", help="A spec of a model that judges, instead of the simulated one.")
@click.option("--base-url", help="An OpenAI-compatible endpoint of --model.")
@click.option("--groups", default=12, show_default=True, help="Claims of a set, with --model.")
@click.option("--out", type=click.Path(path_type=Path), help="Where calls of --model are kept.")
@click.option("--seed", default=0, show_default=True)
def main(
    data: tuple[str, ...],
    rates: tuple[tuple[float, float], ...],
    bounds: tuple[int, ...],
    answers: int,
    faults: bool,
    model: str | None,
    base_url: str | None,
    groups: int,
    out: Path | None,
    seed: int,
) -> None:
    """See the module."""
    try:
        sets = {Path(file).stem.removesuffix("_groups"): read_data([file]) for file in data}
        if model is not None:
            every = [group for of_set in sets.values() for group in of_set]
            tables = list(_tables(every, groups, seed))
            if out is None:
                raise click.UsageError("--model needs --out, where its calls are kept")
            with RecordFile(out) as file:
                opened = open_model(model, base_url=base_url)
                kept = KeptCalls(file, opened.name)
                _real(kept.of(opened), kept, tables, bounds)
            return
        click.echo(_ROW.format(*_COLUMNS))
        for name, of_set in sets.items():
            for kind, labels in {"drawn": _drawn, "sparse": _sparse}.items():
                tables = _made(of_set, labels, answers, seed)
                for pair, batch in rates:
                    for shared in (True, False):
                        judge = _judge(tables, pair, batch, shared=shared)
                        _simulated([name, kind], judge, tables, bounds, faults=faults)
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error


def _drawn(own: Sequence[Label], chance: Random) -> list[Label]:
    return chance.choices(own, k=_DOCUMENTS)


def _sparse(own: Sequence[Label], chance: Random) -> list[Label]:
    few = list(own[:_DOCUMENTS])
    return chance.sample([*few, *[Label.IRRELEVANT] * (_DOCUMENTS - len(few))], _DOCUMENTS)


def _made(
    groups: Sequence[ClaimGroup],
    labels: Callable[[Sequence[Label], Random], list[Label]],
    answers: int,
    seed: int,
) -> list[Table]:
    """Answers of claims and documents of a set, numbered through, with labels placed anew."""
    chance = Random(seed)  # noqa: S311 - a draw, not a secret
    known = [(group, [one for one in group.labels if one is not None]) for group in groups]
    known = [(group, own) for group, own in known if own]
    texts = [document.text for group, _ in known for document in group.documents]
    tables = []
    for answer in range(answers):
        drawn = chance.choices(known, k=_CLAIMS)
        claims = [
            Claim(number=place + 1, text=f"Claim {answer * _CLAIMS + place}: {group.claim}")
            for place, (group, _) in enumerate(drawn)
        ]
        documents = [
            Document(number=place + 1, text=f"Source {answer * _DOCUMENTS + place}. {text}")
            for place, text in enumerate(chance.choices(texts, k=_DOCUMENTS))
        ]
        tables.append(Table(claims, documents, [[*labels(own, chance)] for _, own in drawn]))
    return tables


def _tables(groups: Sequence[ClaimGroup], size: int, seed: int) -> Iterator[Table]:
    """So many claims a set, those on the same documents together."""
    sample = with_siblings(balanced(groups, size, seed), groups, size, _CLAIMS, seed)
    for together in in_tables(sample, _CLAIMS):
        documents = together[0].shown
        claims = [Claim(number=n, text=one.claim) for n, one in enumerate(together, start=1)]
        yield Table(claims, documents, [[*one.labels] for one in together])


def _judge(tables: Sequence[Table], pair: float, batch: float, *, shared: bool) -> ErringJudge:
    truth: Any = [[label.value for label in row if label] for one in tables for row in one.truth]
    first = [place // _CLAIMS * _DOCUMENTS for place in range(len(truth))]
    return ErringJudge(truth, first, pair, batch, shared)


def _simulated(
    named: Sequence[str],
    judge: ErringJudge,
    tables: Sequence[Table],
    bounds: Sequence[int],
    *,
    faults: bool,
) -> None:
    """Print a row for each bound, and what the faults made of both labelers."""
    with tempfile.TemporaryDirectory() as folder:
        judge.write(file := Path(folder) / "judge.json")
        endpoint = ["-m", "measurements.simulated_upstream", "--delay=0", f"--judge={file}"]
        with started(endpoint, "stdout") as address:
            model = open_model("gpt-4.1-mini", base_url=address, context_window=128_000)
            alone, screen = _both(model)
            pairwise, screen_alone = (label_tables(one, tables) for one in (alone, screen))
            found = {most: label_tables(Screened(screen, alone, most), tables) for most in bounds}
        errs = f"{judge.pair:g}, {judge.batch:g} {'shared' if judge.shared else 'apart'}"
        for most, screened in found.items():
            again = _same(pairwise, _another(judge), _disputed)
            cells = [*_compared(pairwise, screened), again]
            cells += [_right(one, tables) for one in (pairwise, screen_alone, screened)]
            cells += [_same(pairwise, screened.claims, _conflicting), *_costs(pairwise, screened)]
            shown = [_percent(cell) for cell in cells]
            click.echo(_ROW.format(*named, errs, most, *shown))
        if faults:
            clean: dict[str, Judged] = {alone.name: pairwise, screen.name: screen_alone}
            screened = found[bounds[0]]
            for labeler, usage in ((0, pairwise.usage), (bounds[0], screened.usage)):
                with started([*endpoint, *FAULTS], "stdout") as address:
                    failing = open_model("gpt-4.1-mini", base_url=address, context_window=128_000)
                    _fail(failing, labeler, tables, usage.calls, address, clean)


def _both(model: LanguageModel) -> tuple[JsonJudge, BatchJudge]:
    prompts = PromptSet.load()
    return JsonJudge(model, prompts), BatchJudge(model, prompts, "screen")


def label_tables(labeler: Labeler, tables: Sequence[Table], at_once: int = _AT_ONCE) -> Judged:
    """Label the claims of answers against their documents, some answers side by side."""
    meter, slots = UsageMeter(), asyncio.Semaphore(at_once)

    async def one(table: Table) -> tuple[ClaimEvidence, ...]:
        async with slots:
            return await label_table(labeler, table.claims, table.documents, meter=meter)

    async def all_of_them() -> list[tuple[ClaimEvidence, ...]]:
        return await asyncio.gather(*map(one, tables))

    begun = time.perf_counter()
    rows = asyncio.run(all_of_them())
    return Judged(rows, meter.usage, time.perf_counter() - begun)


def _one_by_one(labeler: Labeler, tables: Sequence[Table], kept: KeptCalls) -> Judged:
    """The same, with progress; a call that was kept counts with the seconds that it took."""
    rows: list[tuple[ClaimEvidence, ...]] = []
    usage, saved, begun = Usage(), kept.saved, time.perf_counter()
    for table in tables:
        judged = label_tables(labeler, [table], at_once=1)
        rows, usage = [*rows, *judged.rows], usage + judged.usage
        told = f"{labeler.name}: {len(rows)} of {len(tables)} answers, {kept.made} calls made"
        click.echo(told, err=True)
    return Judged(rows, usage, time.perf_counter() - begun + kept.saved - saved)


def _disputed(labels: Iterable[Label | None]) -> bool:
    return Label.CONTRADICTS in labels


def _conflicting(labels: Iterable[Label | None]) -> bool:
    return {Label.CONTRADICTS, Label.SUPPORTS} <= {*labels}


def _another(judge: ErringJudge) -> list[list[Label]]:
    """The labels of single pairs by a judge that errs as often, on other pairs."""
    return [
        [
            Label(judge.verdict(claim, judge.documents[claim] + place, "pair", "another"))
            for place in range(len(row))
        ]
        for claim, row in enumerate(judge.truth)
    ]


def _same(
    pairwise: Judged,
    others: Iterable[Iterable[Label | None]],
    is_so: Callable[[Iterable[Label | None]], bool],
) -> float:
    both = [is_so(one) is is_so(other) for one, other in zip(pairwise.claims, others, strict=True)]
    return sum(both) / len(both)


def _compared(pairwise: Judged, screened: Judged) -> list[float]:
    """Claims that json disputes; and same, found and more, as shares."""
    pairs = zip(map(_disputed, pairwise.claims), map(_disputed, screened.claims), strict=True)
    counts = Counter(pairs)
    of_json = counts[True, True] + counts[True, False]
    of_screened = counts[True, True] + counts[False, True]
    return [
        of_json / counts.total(),
        (counts[True, True] + counts[False, False]) / counts.total(),
        counts[True, True] / max(1, of_json),
        counts[False, True] / max(1, of_screened),
    ]


def _right(judged: Judged, tables: Sequence[Table]) -> float:
    return _same(judged, (row for table in tables for row in table.truth), _disputed)


def _costs(pairwise: Judged, screened: Judged) -> list[float]:
    return [screened.usage.calls / pairwise.usage.calls, screened.tokens / pairwise.tokens]


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _fail(
    model: LanguageModel,
    most: int,
    tables: Sequence[Table],
    calls: int,
    address: str,
    clean: dict[str, Judged],
) -> None:
    """Judge at an endpoint that fails, and hold each label against its own stage's without faults.

    Args:
        model: The model there.
        most: The bound of ``screened``; 0 for ``json``.
        tables: What is judged.
        calls: How many calls that took without faults.
        address: Where it is.
        clean: What each stage said without faults, by its name.
    """
    alone, screen = _both(model)
    labeler = Screened(screen, alone, most) if most else alone
    judged = label_tables(labeler, tables)
    asked = httpx2.get(re.sub("/v1$", "/stats", address), trust_env=False).json()
    found: Counter[str] = Counter()
    for place, row in enumerate(judged.rows):
        for claim, evidence in enumerate(row):
            for document, pair in enumerate(evidence.labels):
                its = clean[pair.stage or alone.name].rows[place][claim].labels[document]
                unlabelled = pair.label is Label.UNLABELLED
                found["unlabelled" if unlabelled else str(pair.label is its.label)] += 1
    click.echo(
        f"  {labeler.name} with faults: {asked['calls']} requests for {calls} calls"
        f" ({asked['calls'] / calls:.2f} times; {asked['malformed']} malformed, {asked['500']} with"
        f" 500, {asked['429']} with 429); of {found.total()} pairs {found['True']} as without,"
        f" {found['unlabelled']} unlabelled with the error, {found['False']} wrong,"
        f" {sum(len(t.claims) * len(t.documents) for t in tables) - found.total()} lost"
    )


def _real(
    model: LanguageModel, kept: KeptCalls, tables: Sequence[Table], bounds: Sequence[int]
) -> None:
    """Have a real model judge, one answer after the other, and print what came of it."""
    alone, screen = _both(model)
    labelers: list[Labeler] = [alone, *(Screened(screen, alone, most) for most in bounds)]
    people = [label for table in tables for row in table.truth for label in row]
    click.echo(f"{len(tables)} answers, {len(people)} pairs")
    pairwise: Judged | None = None
    for labeler in labelers:
        judged = _one_by_one(labeler, tables, kept)
        labels = [label for row in judged.claims for label in row]
        known = [(a, b) for a, b in zip(labels, people, strict=True) if b is not None]
        share = sum(a is b for a, b in known) / len(known)
        stages = Counter(p.stage for row in judged.rows for claim in row for p in claim.labels)
        click.echo(
            f"{labeler.name}: {judged.usage.calls} calls, {judged.tokens} tokens,"
            f" {judged.seconds:.0f} s; labels right {_percent(share)} %, claims right"
            f" {_percent(_right(judged, tables))} % of {len(judged.claims)};"
            f" {dict(Counter(map(str, labels)))}; {dict(stages)}"
        )
        if pairwise is None:
            pairwise = judged
            continue
        disputed, same, found, more = map(_percent, _compared(pairwise, judged))
        calls, tokens = map(_percent, _costs(pairwise, judged))
        click.echo(
            f"  json disputes {disputed} % of claims; same {same}, found {found}, more {more};"
            f" conflicts {_percent(_same(pairwise, judged.claims, _conflicting))};"
            f" calls {calls}, tokens {tokens}"
        )


if __name__ == "__main__":
    main()
