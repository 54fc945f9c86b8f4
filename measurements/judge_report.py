"""How good each way to ask for a letter is, beside `choice` on the pairs that both were asked.

Read from what measurements.judge_variants kept in OUT, without a call. Each variant stands there as
it is; less the mean of each label (levelled); with a temperature and a bias a label that make
people's labels likeliest (offsets); with the two biases that bring most label accuracy and conflict
F1 (by worth); and averaged with `choice`. Whatever is fitted is fitted on the other sets. tokens:
read anew and written, a pair. seconds: of a pair, on a machine that may have had other work. What a
variant shares of a prompt with the one asked before it is read once and counts for that one.
"""

from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

import click

from conflictscore.errors import ConflictScoreError, InputError
from measurements.judge_variants import VARIANTS, Reply
from measurements.kept_scores import (
    Numbers,
    Pairs,
    Row,
    asked_of,
    averaged,
    chosen_offsets,
    fitted_offsets,
    kept_replies,
    levelled,
    measured,
    normalised,
    print_rows,
)
from measurements.validation_sample import (
    answers_sample,
    places_of,
    sample_options,
    validation_sample,
)

__all__ = ["main"]

_REFERENCE = "choice"


@click.command(help=__doc__)
@click.argument("out", metavar="OUT", type=click.Path(exists=True, path_type=Path))
@sample_options
@click.option("--answers", default=0, help="Report on so many claims of RAMDocs instead.")
def main(out: Path, data: tuple[Path, ...], groups: int, answers: int, seed: int) -> None:
    """See the module."""
    try:
        if answers:
            every = Pairs.of(places_of(answers_sample(data, answers, seed)))
        else:
            every = Pairs.of(places_of(validation_sample(data, groups, seed)[0]))
        choice, read = kept_replies(out / f"{_REFERENCE}.jsonl", every)
        if not asked_of(choice).any():
            raise InputError(f"{out}: {_REFERENCE} was asked about none of these pairs")
        for name in VARIANTS:
            if (file := out / f"{name}.jsonl").exists():
                said, replies = kept_replies(file, every)
                both = asked_of(choice) & asked_of(said)
                if both.any():
                    _report(name, every.where(both), choice[both], said[both])
                    _costs(read, replies)
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error


def _report(name: str, pairs: Pairs, choice: Numbers, said: Numbers) -> None:
    click.echo(f"\n{name}: {len(pairs.gold)} pairs of {len({*pairs.claims})} claims\n")
    print_rows(pairs, _rows(name, pairs, normalised(choice), normalised(said)), _REFERENCE)
    confusion = measured(pairs, said.argmax(axis=1)).labels.confusion
    click.echo("people's S, C, I against its own: " + "; ".join(map(str, confusion)))


def _rows(name: str, pairs: Pairs, choice: Numbers, said: Numbers) -> Iterator[Row]:
    always = asked_of(said)
    ways = {_REFERENCE: choice}
    if name != _REFERENCE:
        ways = {name: said, f"{name} and {_REFERENCE}": averaged(choice, said)}
        yield Row(_REFERENCE, choice.argmax(axis=1), always)
    for way, one in ways.items():
        yield Row(way, one.argmax(axis=1), always)
        if len({*pairs.sets}) > 1:
            yield Row(f"{way}, levelled", levelled(pairs, one).argmax(axis=1), always)
            yield Row(f"{way}, offsets", fitted_offsets(pairs, one).argmax(axis=1), always)
            yield Row(f"{way}, by worth", chosen_offsets(pairs, one), always)


def _costs(choice: list[Reply | None], replies: list[Reply | None]) -> None:
    """What a pair took, of those that both were asked about."""
    both = [
        (one, other)
        for one, other in zip(choice, replies, strict=True)
        if one is not None and other is not None
    ]
    for who, rows in ((_REFERENCE, [a for a, _ in both]), ("it", [b for _, b in both])):
        used = [one.usage for one in rows]
        tokens = fmean(u.input_tokens - u.cache_read_tokens + u.output_tokens for u in used)
        written = fmean(u.output_tokens for u in used)
        seconds = fmean(one.seconds for one in rows)
        click.echo(f"{who}: {tokens:.0f} tokens ({written:.0f} written), {seconds:.1f} s a pair")


if __name__ == "__main__":
    main()
