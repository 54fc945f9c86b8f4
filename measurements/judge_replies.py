"""Ask a model, as the labeler `choice` does, about the pairs that labelers are compared on.

Each reply is appended to OUT/choice.jsonl at once with the log-probability of every label, so the
same command resumes after Ctrl-C. Pairs are asked in random order, so that the replies of a run
that was stopped, or given --pairs, are a sample of all. measurements.embedded_stack reads them.
"""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console

from conflictscore.benchmarks.conflict_detection.detect import ResumableRows, content_of
from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup
from conflictscore.errors import ConflictScoreError, ProviderError
from conflictscore.labelers.prompting import as_shown
from conflictscore.models.fitting import fit_documents
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.spec import open_model
from conflictscore.models.usage import UsageMeter
from conflictscore.progress import CountBar
from conflictscore.prompts import PromptSet, material
from conflictscore.records import Label, Record, Usage
from measurements.validation_sample import (
    answers_sample,
    by_lot,
    places_of,
    sample_options,
    validation_sample,
)

__all__ = ["Reply", "main"]

_FORMAT = 1
_ROOM_TOKENS = 1024
"""For everything in the prompt but the document and the rules."""
_LETTERS = ("A", "B", "C")
_LABELS = (Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT)


class Reply(Record):
    """Reply of the model about a pair."""

    set: str
    group: str
    document: int
    content: str
    """Hash of the claim and the document."""
    gold: Label
    logprobs: dict[Label, float]
    quote: str = ""
    usage: Usage
    seconds: float


async def _ask(model: LanguageModel, prompts: PromptSet, group: ClaimGroup, number: int) -> Reply:
    document = group.documents[number - 1]
    if document.label is None:
        raise ValueError("a pair without a label is not part of the sample")
    meter, begun, rules = UsageMeter(), time.perf_counter(), prompts.render("label_rules")
    fitted = fit_documents(
        [group.shown[number - 1]], model, prompts, around=rules, reply_tokens=_ROOM_TOKENS
    )
    logprobs: dict[str, float] = await model.ask_letter(
        prompts.render(
            "label_choice",
            rules=rules,
            document=as_shown(fitted.documents[0]),
            claim=material(group.claim),
        ),
        _LETTERS,
        dict,
        prompts=prompts,
        meter=meter,
    )
    return Reply(
        set=group.set,
        group=group.id,
        document=number,
        content=content_of(group, number),
        gold=document.label,
        logprobs={label: logprobs[x] for label, x in zip(_LABELS, _LETTERS, strict=True)},
        usage=meter.usage,
        seconds=round(time.perf_counter() - begun, 3),
    )


@click.command(help=__doc__)
@sample_options
@click.option("--model", default="local", show_default=True, help="Model spec.")
@click.option("--base-url", help="An OpenAI-compatible endpoint.")
@click.option("--answers", default=0, help="Also so many claims of RAMDocs, as statements.")
@click.option("--pairs", type=click.IntRange(min=1), help="Stop after so many pairs.")
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path))
def main(
    data: tuple[Path, ...],
    model: str,
    base_url: str | None,
    groups: int,
    answers: int,
    pairs: int | None,
    seed: int,
    out: Path,
) -> None:
    """See the module."""
    try:
        sample = validation_sample(data, groups, seed)
        ordered = by_lot(sample, seed) + by_lot(answers_sample(data, answers, seed), seed)
        judge, prompts = open_model(model, base_url=base_url), PromptSet.load()
        setup = {
            "judge_variants": _FORMAT,  # the name of the format, older than this module
            "variant": "choice",
            "model": judge.name,
            "templates": prompts.sha256_of("label_choice"),
            "rules": prompts.sha256_of("label_rules"),
        }
        with ResumableRows.open(out / "choice.jsonl", Reply, setup) as rows:
            failed = asyncio.run(_collect(judge, prompts, places_of(ordered)[:pairs], rows))
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error
    if failed:
        raise click.ClickException(
            f"{len(failed)} pairs could not be judged ({failed[0]}); the same command asks again"
        )


async def _collect(
    model: LanguageModel,
    prompts: PromptSet,
    places: Sequence[tuple[ClaimGroup, int]],
    rows: ResumableRows[Reply],
) -> list[ProviderError]:
    """Ask about the pairs that have no reply yet, one call at a time; returns the failures."""
    known = {(row.set, row.content) for row in rows.rows}
    missing = [one for one in places if (one[0].set, content_of(*one)) not in known]
    failed: list[ProviderError] = []
    with CountBar(Console(stderr=True), "judging", "replies") as bar:
        for count, (group, number) in enumerate(missing, start=1):
            try:
                rows.append(await _ask(model, prompts, group, number))
            except ProviderError as error:
                failed.append(error)
            bar.show(count, len(missing), f"{len(failed)} failed" if failed else "")
    return failed


if __name__ == "__main__":
    main()
