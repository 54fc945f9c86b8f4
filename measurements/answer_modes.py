"""What the cheap ways to score an answer lose and save (the paper's Limitations).

json: every claim against every document, each pair in a call. whole-answer: the answer is its only
claim. salient: the three claims that the documents say most about. per-claim: one claim and all
documents in a call. matrix: up to 8 claims and 16 documents in a call.

--data: answers are made of claims that people labelled on the same documents. A document supports
an answer as a whole where it supports a claim of it, and contradicts it where it only contradicts
some. The judge is simulated: it knows people's labels, errs at one rate on a document alone, and at
another with many in a prompt. So --errs 0 0 shows what is lost though no label is wrong. Prompts
and replies go over the wire, and their tokens are counted; taking the answer apart is not. --nli
has the bundled model judge the texts as they are instead, a document at a time.

--rated: answers of models, taken apart by sentences, judged by the bundled model.

right: labels that are people's. CS-C, CS-R: means over answers. off: how far the score of an answer
is from that by people's labels of all pairs, on average; off json: from that by the same judge on
single pairs. same: answers with a claim in conflict by both that and people's labels, or by
neither. calls, tokens: an answer; x: tokens as a share of json's.
"""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any, NamedTuple

import click

from conflictscore.benchmarks.conflict_detection.data import read_data
from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup, in_tables
from conflictscore.benchmarks.validity.judged_answers import (
    JudgedAnswer,
    wikicontradict_answers,
)
from conflictscore.errors import ConflictScoreError, InputError
from conflictscore.labelers.batch import BatchName
from conflictscore.labelers.batch_judge import BatchJudge
from conflictscore.labelers.json_judge import JsonJudge
from conflictscore.labelers.nli.labeler import open_nli
from conflictscore.labelers.protocol import Labeler
from conflictscore.labelers.registry import LABELERS
from conflictscore.labelers.table import most_telling, telling
from conflictscore.metric import conflictscore_count, conflictscore_ratio
from conflictscore.models.spec import open_model
from conflictscore.prompts import PromptSet
from conflictscore.records import Claim, ClaimEvidence, Document, EvidenceLabel, Label
from measurements.erring_judge import ErringJudge
from measurements.screening import Table, label_tables
from measurements.service_load import started

__all__ = ["main"]

_PAIRWISE, _WHOLE, _SALIENT = "json", "whole-answer", "salient"
_ALONE = (_PAIRWISE, _WHOLE, _SALIENT)
"""A document at a time."""
_BATCHES: tuple[BatchName, ...] = ("per-claim", "matrix")
_MOST_SALIENT = LABELERS[_SALIENT].claims.max_claims or 0
_COLUMNS = (
    *("mode", "right", "CS-C", "CS-R", "off CS-C", "off CS-R", "off json: CS-C", "CS-R", "same"),
    *("calls", "tokens", "x"),
)
_ROW = "{:<13}{:>7}{:>7}{:>7}{:>10}{:>10}{:>16}{:>7}{:>7}{:>8}{:>9}{:>7}"
_SIDES = (Label.SUPPORTS, Label.CONTRADICTS)


class _Answer(NamedTuple):
    """An answer in each of the ways that it is judged.

    Attributes:
        claims: All of them.
        whole: The answer as one claim.
        salient: The indices of the claims that its documents say most about.
        documents: What it is held against.
        truth: People's labels, a row a claim; empty where nobody labelled it.
    """

    claims: list[Claim]
    whole: Claim
    salient: list[int]
    documents: list[Document]
    truth: list[list[Label]]

    def asked(self, mode: str) -> Table:
        """What is judged of it."""
        truth: list[list[Label | None]] = [[*row] for row in self.truth]
        if mode == _WHOLE:
            return Table([self.whole], self.documents, [[*self.whole_truth]] if truth else [])
        if mode == _SALIENT:
            kept = [self.claims[place] for place in self.salient]
            return Table(kept, self.documents, [truth[place] for place in self.salient if truth])
        return Table(self.claims, self.documents, truth)

    @property
    def whole_truth(self) -> list[Label]:
        """People's labels of the whole answer: partial support is support (paper, section 3)."""
        return [
            next((side for side in _SIDES if side in column), Label.IRRELEVANT)
            for column in zip(*self.truth, strict=True)
        ]


class _Scores(NamedTuple):
    cs_c: list[float]
    cs_r: list[float]

    @classmethod
    def of(cls, rows: Sequence[Sequence[ClaimEvidence]]) -> "_Scores":
        return cls(
            [conflictscore_count(row) or 0.0 for row in rows],
            [conflictscore_ratio(row) or 0.0 for row in rows],
        )

    def off(self, other: "_Scores") -> list[float]:
        """The mean distance of CS-C and of CS-R."""
        return [
            fmean(abs(a - b) for a, b in zip(mine, its, strict=True))
            for mine, its in zip(self, other, strict=True)
        ]

    def same(self, other: "_Scores") -> float:
        """Answers with a claim in conflict by both, or by neither."""
        pairs = zip(self.cs_c, other.cs_c, strict=True)
        return fmean((mine > 0) is (its > 0) for mine, its in pairs)


@click.command(help=__doc__)
@click.option("--data", multiple=True, metavar="FILE", help="*_groups.jsonl")
@click.option("--split", help="Only the claims of this split, such as dev.")
@click.option(
    "--errs",
    "rates",
    multiple=True,
    type=(float, float),
    default=((0.0, 0.0), (0.05, 0.05), (0.05, 0.1), (0.05, 0.2)),
    show_default=True,
    help="Shares of wrong labels, on a document alone and with many in a prompt.",
)
@click.option("--nli", is_flag=True, help="The bundled model judges, instead of a simulated one.")
@click.option("--rated", metavar="FILE", help="WikiContradict's human_eval.jsonl.")
@click.option("--claims", default=6, show_default=True, help="The most claims of an answer.")
@click.option("--least", default=4, show_default=True, help="The least claims of an answer.")
@click.option("--answers", default=100, show_default=True, help="The most of a set, by lot.")
@click.option("--seed", default=0, show_default=True)
def main(
    data: tuple[str, ...],
    split: str | None,
    rates: tuple[tuple[float, float], ...],
    nli: bool,
    rated: str | None,
    claims: int,
    least: int,
    answers: int,
    seed: int,
) -> None:
    """See the module."""
    chance = Random(seed)  # noqa: S311 - a draw, not a secret

    def few(file: str, found: list[_Answer]) -> list[_Answer]:
        if not found:
            raise InputError(f"{file}: there is no answer with {least} claims and two documents")
        return chance.sample(found, min(answers, len(found)))

    try:
        sets: dict[str, tuple[bool, list[_Answer]]] = {}
        for file in data:
            made = list(_made(read_data([file], split=split), least, claims, chance))
            sets[Path(file).stem] = (nli, few(file, made))
        if rated:
            sets["WikiContradict"] = (
                True,
                few(rated, _written(wikicontradict_answers(rated), least)),
            )
        for name, (by_nli, chosen) in sets.items():
            _say(name, chosen)
            if by_nli:
                labeler: Labeler = open_nli()
                _compare("nli", chosen, dict.fromkeys(_ALONE, labeler))
                continue
            for pair, batch in rates:
                _simulated(pair, batch, chosen)
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error


def _made(groups: Sequence[ClaimGroup], least: int, most: int, chance: Random) -> Iterator[_Answer]:
    """Answers of claims on the same documents that people labelled, all of them."""
    labelled = [group for group in groups if None not in group.labels]
    for table in in_tables(labelled, len(labelled)):
        if len(table) < least or len(table[0].documents) < 2:
            continue
        chosen = chance.sample(table, min(most, len(table)))
        truth = [[label for label in group.labels if label] for group in chosen]
        texts = [group.claim for group in chosen]
        yield _answer(texts, " ".join(texts), table[0].shown, truth)


def _written(answers: Sequence[JudgedAnswer], least: int) -> list[_Answer]:
    """Answers of models, by sentences."""
    return [
        _answer([one.claim for one in answer.claims], answer.whole.claim, answer.whole.shown, [])
        for answer in answers
        if len(answer.claims) >= least and len(answer.documents) > 1
    ]


def _answer(
    texts: Sequence[str], whole: str, documents: list[Document], truth: list[list[Label]]
) -> _Answer:
    claims = [Claim(number=number, text=text) for number, text in enumerate(texts, start=1)]
    salient = most_telling(telling(claims, documents), _MOST_SALIENT)
    return _Answer(claims, Claim(number=1, text=whole), salient, documents, truth)


def _say(name: str, answers: Sequence[_Answer]) -> None:
    pairs = sum(len(one.claims) * len(one.documents) for one in answers)
    claims = fmean(len(one.claims) for one in answers)
    documents = fmean(len(one.documents) for one in answers)
    click.echo(
        f"{name}: {len(answers)} answers of {claims:.1f} claims, {documents:.1f} documents,"
        f" {pairs:,} pairs"
    )


def _simulated(pair: float, batch: float, answers: Sequence[_Answer]) -> None:
    marked, truth, first = _marked(answers)
    judge = ErringJudge(truth, first, pair, batch, shared=False)
    with tempfile.TemporaryDirectory() as folder:
        judge.write(file := Path(folder) / "judge.json")
        endpoint = ["-m", "measurements.simulated_upstream", "--delay=0", f"--judge={file}"]
        with started(endpoint, "stdout") as address:
            model = open_model("gpt-4.1-mini", base_url=address, context_window=128_000)
            prompts = PromptSet.load()
            alone: Labeler = JsonJudge(model, prompts)
            labelers = dict.fromkeys(_ALONE, alone)
            labelers |= {mode: BatchJudge(model, prompts, mode) for mode in _BATCHES}
            _compare(f"wrong: {pair:g}, {batch:g}", marked, labelers)


def _marked(answers: Sequence[_Answer]) -> tuple[list[_Answer], Any, list[int]]:
    """The answers with marks by which the simulated judge knows what it is shown."""
    marked, first, sources = list[_Answer](), list[int](), 0
    truth = list[list[str]]()
    for answer in answers:
        rows = [*answer.truth, answer.whole_truth]
        begin = len(truth)
        truth += [[label.value for label in row] for row in rows]
        first += [sources] * len(rows)
        texts = [one.text for one in (*answer.claims, answer.whole)]
        named = [f"Claim {begin + place}: {text}" for place, text in enumerate(texts)]
        documents = [
            one.model_copy(update={"text": f"Source {sources + place}. {one.text}"})
            for place, one in enumerate(answer.documents)
        ]
        sources += len(documents)
        claims = [
            one.model_copy(update={"text": text})
            for one, text in zip(answer.claims, named, strict=False)
        ]
        whole = Claim(number=1, text=named[-1])
        marked.append(answer._replace(claims=claims, whole=whole, documents=documents))
    return marked, truth, first


def _compare(judge: str, answers: Sequence[_Answer], labelers: dict[str, Labeler]) -> None:
    """Print a row a mode."""
    click.echo(f"\n{judge}")
    click.echo(_ROW.format(*_COLUMNS))
    people = _people(answers) if all(one.truth for one in answers) else None
    pairwise: _Scores | None = None
    tokens = 0
    for mode, labeler in labelers.items():
        tables = [answer.asked(mode) for answer in answers]
        judged = label_tables(labeler, tables)
        scores = _Scores.of(judged.rows)
        if pairwise is None:
            pairwise, tokens = scores, judged.tokens
        held = people or pairwise
        cells = [
            _right(judged.claims, tables),
            *(f"{fmean(values):.3f}" for values in scores),
            *(f"{off:.3f}" if people else "" for off in scores.off(held)),
            *(f"{off:.3f}" for off in scores.off(pairwise)),
            _percent(scores.same(held)),
            f"{judged.usage.calls / len(answers):.1f}",
            f"{judged.tokens / len(answers):,.0f}",
            f"{judged.tokens / tokens:.2f}" if tokens else "",
        ]
        click.echo(_ROW.format(mode, *cells))


def _people(answers: Sequence[_Answer]) -> _Scores:
    """The scores by people's labels of all pairs."""

    def evidence(claim: Claim, labels: Sequence[Label]) -> ClaimEvidence:
        return ClaimEvidence(
            claim=claim,
            labels=tuple(
                EvidenceLabel(claim=claim.number, document=number, label=label)
                for number, label in enumerate(labels, start=1)
            ),
        )

    return _Scores.of([list(map(evidence, one.claims, one.truth)) for one in answers])


def _right(given: Sequence[Sequence[Label]], tables: Sequence[Table]) -> str:
    people = [row for table in tables for row in table.truth]
    if not people:
        return ""
    pairs = [
        one is its
        for labels, truth in zip(given, people, strict=True)
        for one, its in zip(labels, truth, strict=True)
    ]
    return _percent(fmean(pairs))


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


if __name__ == "__main__":
    main()
