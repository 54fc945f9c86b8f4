"""How much of a long answer a model passes over when it takes the answer apart into claims.

Long answers are put together from claims that people labelled (the groups of
``conflict-detection``): six to twelve sentences, every other answer in Markdown. A model takes each
apart as the loop does before it revises in place: once as a whole, and once more what no claim of
the first reply speaks of. With --out its replies are kept: a run that was stopped goes on.
"""

from pathlib import Path
from typing import NamedTuple

import click
from langchain_core.language_models import BaseChatModel

from conflictscore import create_self_correcting_rag
from conflictscore.benchmarks.harness.play import NotedPrompts
from conflictscore.errors import ConflictScoreError
from conflictscore.markdown import unclaimed
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.state import run_of
from conflictscore.prompts import PromptSet
from conflictscore.records import Claim, Document, EvidenceLabel, Label
from conflictscore.storage.cache import ContentCache
from measurements.intervals import mean_interval
from measurements.long_answers import LongAnswer, long_answers

__all__ = ["TakenApart", "main", "taken_apart"]


class TakenApart(NamedTuple):
    """What became of one answer.

    Attributes:
        first: The share of its characters that the claims of the first reply pass over, in [0, 1].
        left: The share that is still without a claim after the rest was asked for.
        sentences: How many it has.
        claimed: In how many of them a claim stands.
        error: Why the answer could not be taken apart at all; None where it could.
    """

    first: float
    left: float
    sentences: int
    claimed: int
    error: str | None


def taken_apart(
    answer: LongAnswer, model: str | BaseChatModel, cache: ContentCache | None = None
) -> TakenApart:
    """Take an answer apart as the loop does.

    Args:
        answer: The answer.
        model: The model, or its name as ``--model`` takes it.
        cache: Where its replies are kept.
    """
    prompts = NotedPrompts(PromptSet.load())
    graph = create_self_correcting_rag(
        model, labeler=_Irrelevant(), prompts=prompts, cache=cache or False, regeneration="revise"
    )
    run = run_of(
        graph.invoke(
            {
                "question": "What is known about these matters?",
                "documents": answer.documents[:1],
                "draft_answer": answer.text,
            }
        )
    )
    report = run.report
    if report is None:
        raise ConflictScoreError(run.reason or "the answer was not scored")
    asked_again = [
        str(fields["answer"])
        for name, fields in prompts.rendered.values()
        if name == "decompose_passage" and fields["answer"]
    ]
    places = [each.claim.passage for each in report.claims]
    spans = [(at := answer.text.index(text), at + len(text)) for text in answer.labels]
    said, stand = [each.claim.text for each in report.claims], list(filter(None, places))
    left = unclaimed(answer.text, said, stand) if run.attempts[0].unclaimed else ()
    return TakenApart(
        first=sum(map(len, asked_again)) / len(answer.text),
        left=sum(end - start for start, end in left) / len(answer.text),
        sentences=len(spans),
        claimed=sum(any(start <= at < end for at, _ in stand) for start, end in spans),
        error=report.error,
    )


class _Irrelevant:
    """Finds every document irrelevant, so that nothing is looked at again."""

    name, identity = "irrelevant", None

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        return EvidenceLabel(claim=claim.number, document=document.number, label=Label.IRRELEVANT)


@click.command(help=__doc__)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--answers", default=40, show_default=True)
@click.option("--seed", default=0, show_default=True)
@click.option("--model", default="local", show_default=True, help="Who takes the answers apart.")
@click.option("--out", type=click.Path(path_type=Path), help="Where its replies are kept.")
def main(files: tuple[Path, ...], answers: int, seed: int, model: str, out: Path | None) -> None:
    """See the module."""
    cache = None
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        cache = ContentCache(out / "replies.sqlite")
    try:
        made = long_answers(files, answers, seed)
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error
    found = list[TakenApart]()
    for number, answer in enumerate(made, start=1):
        found.append(one := taken_apart(answer, model, cache))
        click.echo(
            f"{number} of {len(made)} answers: {one.error or f'{one.first:.0%} passed over'},"
            f" {one.left:.0%} without a claim in the end",
            err=True,
        )
    read = [one for one in found if one.error is None]
    click.echo(f"{len(read)} of {len(made)} answers taken apart")
    if not read:
        return
    click.echo(f"asked for the rest of: {sum(one.first > 0 for one in read)}")
    click.echo(f"told of as taken apart in part: {sum(one.left > 0 for one in read)}")
    for name, shares in (
        ("passed over by the first reply", [one.first for one in read]),
        ("without a claim in the end", [one.left for one in read]),
    ):
        share = mean_interval(shares)
        click.echo(f"{name}: {share.value:.1%} ({share.low:.1%} to {share.high:.1%})")
    claimed, sentences = sum(one.claimed for one in read), sum(one.sentences for one in read)
    click.echo(f"sentences with a claim: {claimed} of {sentences}")


if __name__ == "__main__":
    main()
