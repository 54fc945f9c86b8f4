"""Labels by reading, beside those of the labelers that run on this machine.

Each document is asked the question alone, as a second look does, and its short answer is compared
with the claim: alike is SUPPORTS, another CONTRADICTS, none IRRELEVANT. "Silenced": IRRELEVANT too
where the bundled NLI model says so with a probability from .6 on, whatever was answered.

RAMDocs: an answer that a document gives, drawn by lot, as a statement. NatConfQA: whether a claim
is true. People labelled the documents. Questions are cut as in measurements.second_look, whose kept
replies serve as --cache too: with --calls 0 those that it asked of every document are measured, and
nothing is asked. Gains over the local default: 95 % intervals by question.
"""

import asyncio
from contextlib import closing
from pathlib import Path
from statistics import fmean

import click
from rich.console import Console

from conflictscore.benchmarks.harness.question_sample import shortened
from conflictscore.benchmarks.harness.statistics import mean_interval
from conflictscore.errors import ConflictScoreError
from conflictscore.labelers.nli.adapted import NLI_MPNET
from conflictscore.labelers.nli.by_claim import open_nli_by_claim
from conflictscore.labelers.nli.labeler import NliLabeler
from conflictscore.labelers.protocol import Labeler
from conflictscore.labelers.table import label_table
from conflictscore.models import UsageMeter, open_model
from conflictscore.models.ledger import Ledger, attach
from conflictscore.nodes.second_look.readers import Reader, ask_documents
from conflictscore.nodes.second_look.statements import affirms, same_answer
from conflictscore.progress import CountBar
from conflictscore.prompts import PromptSet
from conflictscore.records import Claim, Label
from conflictscore.retrieval.documents import as_documents
from conflictscore.storage.cache import ContentCache
from measurements.break_even import drawn
from measurements.people_labels import SETS, LabelledQuestion, as_benchmark
from measurements.second_look import first_by_lot

__all__ = ["main", "read"]

_SIDES = {"true": Label.SUPPORTS, "false": Label.CONTRADICTS, "": Label.IRRELEVANT}
_SILENT = 0.6


def _claim_and_labels(asked: LabelledQuestion) -> tuple[str, list[Label]]:
    gives = [str(document["metadata"]["gives"]) for document in asked.question.documents]
    if "true" in (*asked.right, *asked.wrong):
        return asked.question.question.partition(": ")[2], [_SIDES[one] for one in gives]
    claim = first_by_lot(asked, 1)
    return claim, [asked.label(claim, one) for one in gives]


async def read(asked: LabelledQuestion, claim: str, reader: Reader) -> list[Label] | None:
    """Label a question's documents by what each answers alone; None where one was not asked."""
    question, documents = asked.question.question, as_documents(asked.question.documents)
    yes_no, labels = "true" in (*asked.right, *asked.wrong), dict[int, Label]()
    for some in (documents[:1], documents):  # most questions that are not kept end at the first
        answered = await ask_documents(question, some, reader, yes_no=yes_no)
        if answered.failed:
            return None
    # The bare answer: words that only the claim's frame has would be taken for another answer.
    claim = next(iter(asked.stated(claim)), claim)
    for rival in answered.rivals:
        said = rival.statement
        alike = affirms(said, question) if yes_no else same_answer(said, claim, question)
        labels |= dict.fromkeys(rival.given_by, Label.SUPPORTS if alike else Label.CONTRADICTS)
    return [labels.get(document.number, Label.IRRELEVANT) for document in documents]


async def _right(
    asked: LabelledQuestion, labelers: dict[str, Labeler], reader: Reader, cache: ContentCache
) -> dict[str, list[bool]]:
    """Whether each label is people's, by labeler, the default first; empty if not read whole."""
    text, gold = _claim_and_labels(asked)
    if (by_reading := await read(asked, text, reader)) is None:
        return {}
    claim, documents = Claim(number=1, text=text), as_documents(asked.question.documents)
    labels, likely = dict[str, list[Label]](), list[float]()
    for name, one in labelers.items():
        [row] = await label_table(one, [claim], documents, meter=UsageMeter(), cache=cache)
        labels[name] = [verdict.label for verdict in row.labels]
        likely = [(v.probabilities or {}).get(Label.IRRELEVANT, 0.0) for v in row.labels]
    labels["reading"] = by_reading
    labels["reading, silenced"] = [
        Label.IRRELEVANT if p >= _SILENT else said
        for p, said in zip(likely, by_reading, strict=True)
    ]
    return {k: [a is b for a, b in zip(said, gold, strict=True)] for k, said in labels.items()}


@click.command(help=__doc__)
@click.option("--data", required=True, help="ramdocs=FILE or natconfqa=FILE.")
@click.option("--questions", default=1000, show_default=True, help="At most, by lot.")
@click.option("--calls", type=click.IntRange(min=0), help="Ask the model at most so often.")
@click.option("--model", "spec", default="local", show_default=True)
@click.option("--cache", "file", required=True, type=click.Path(dir_okay=False, path_type=Path))
def main(data: str, questions: int, calls: int | None, spec: str, file: Path) -> None:
    """See the module."""
    name, _, path = data.partition("=")
    try:
        chosen = drawn(SETS[name](Path(path)), questions, 1)
        cut = shortened(as_benchmark(name, chosen, ()), 192).questions
        larger = NLI_MPNET.name if NLI_MPNET.fetched() else None
        labelers: dict[str, Labeler] = {"default": open_nli_by_claim(larger)}
        labelers |= {larger: NliLabeler.open(larger)} if larger else {}
        labelers["nli"] = NliLabeler.open()  # the last one silences
        rows = list[dict[str, list[bool]]]()
        with closing(ContentCache(file)) as cache, CountBar(Console(stderr=True), "", "") as bar:
            model = attach(open_model(spec, cache=cache), Ledger(max_calls=calls))
            for count, (known, question) in enumerate(zip(chosen, cut, strict=True), start=1):
                reader = Reader(model, PromptSet.load(), UsageMeter())
                asked = known._replace(question=question)
                if right := asyncio.run(_right(asked, labelers, reader, cache)):
                    rows.append(right)
                bar.show(count, len(chosen), name)
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error
    pairs = sum(len(row["nli"]) for row in rows)
    click.echo(f"{name}: {pairs} pairs of {len(rows)} questions of {len(chosen)}, read whole\n")
    click.echo("| labeler | right | odd questions | even questions | gain |\n|---|---|---|---|---|")
    for labeler in rows[0] if rows else ():
        counts = [sum(sum(row[labeler]) for row in part) for part in (rows, rows[::2], rows[1::2])]
        gain = mean_interval([fmean(row[labeler]) - fmean(row["default"]) for row in rows])
        bounds = f"{gain.value:+.3f} [{gain.low or 0:+.3f}, {gain.high or 0:+.3f}]"
        click.echo(f"| {labeler} | {' | '.join(map(str, counts))} | {bounds} |")


if __name__ == "__main__":
    main()
