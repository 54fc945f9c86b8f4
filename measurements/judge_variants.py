"""The letter of `choice`, asked for in other ways, on the pairs of docs/benchmarks.md.

\b
choice       as it is
reversed     the labels behind the letters in reversed order
claim-first  the claim before the document
quoted       the model first quotes what tells most, then gives its letter
neighbours   with three examples: of each label the people's pair with the nearest claim
question     with the question that the claim answers, where the set has one

Each reply is appended to OUT/VARIANT.jsonl at once with the log-probability of every label, so that
the same command resumes where it was stopped. measurements.judge_report reads them, and computes
votes and offsets without a call. Pairs come by lot, so that what is there of a run that was
stopped, or given --pairs, is a sample of all. The variants that are named together are asked one
after the other about each pair: what they share of a prompt is read once by the server, and counts
for the first.
"""  # noqa: D301 - click reads \b as "keep these lines"

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import NamedTuple

import click
from langchain_core.messages import HumanMessage
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
from conflictscore.prompts import PromptSet, material, material_line
from conflictscore.records import Document, Label, Record, Usage
from measurements.validation_sample import (
    Neighbours,
    answers_sample,
    by_lot,
    places_of,
    sample_options,
    validation_sample,
)

__all__ = ["VARIANTS", "Asker", "Reply", "main"]

_FORMAT = 1
_TEMPLATES = Path(__file__).with_name("judge_templates")
_QUOTE_TOKENS = 40
_ROOM_TOKENS = 1024
"""For all that stands around the document beside the rules."""
_USUAL = (Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT)


class Variant(NamedTuple):
    """A way to ask for a letter.

    Attributes:
        template: Its name.
        labels: What A, B and C mean in it.
        also: Further templates that its replies depend on.
    """

    template: str
    labels: tuple[Label, Label, Label] = _USUAL
    also: tuple[str, ...] = ()


VARIANTS: Mapping[str, Variant] = {
    "choice": Variant("label_choice"),
    "reversed": Variant("reversed", (_USUAL[2], _USUAL[1], _USUAL[0])),
    "question": Variant("question"),
    "quoted": Variant("quoted", also=("quote",)),
    "claim-first": Variant("claim_first"),
    "neighbours": Variant("neighbours", also=("example",)),
}
"""In the order in which they are asked: those that share most of their prompt side by side."""


class Reply(Record):
    """What a variant says of a pair."""

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


class Asker:
    """Asks a model for its letter on a pair, in any of the ways."""

    def __init__(self, model: LanguageModel, neighbours: Neighbours) -> None:
        """Take what is asked, and the examples that may be shown."""
        self._model, self._defaults = model, PromptSet.load()
        self._rules = self._defaults.render("label_rules")
        self._examples = cache(neighbours.of)

    def setup(self, name: str) -> dict[str, object]:
        """What the replies in a variant's file are made with."""
        variant = VARIANTS[name]
        used = _set_of(variant.template).sha256_of(variant.template, *variant.also)
        rules = self._defaults.sha256_of("label_rules")
        made = {"model": self._model.name, "templates": used, "rules": rules}
        return {"judge_variants": _FORMAT, "variant": name, **made}

    async def ask(self, name: str, group: ClaimGroup, number: int) -> Reply:
        """Ask about a document of a claim.

        Raises:
            ConfigurationError: A setting is wrong, so that nothing can be asked.
            ProviderError: This pair could not be judged.
        """
        variant, document = VARIANTS[name], group.documents[number - 1]
        if document.label is None:
            raise ValueError("a pair without people's label is none of the sample")
        meter, begun, quote = UsageMeter(), time.perf_counter(), ""
        fields = {
            "rules": self._rules,
            "document": self._shown(group.shown[number - 1]),
            "claim": material(group.claim),
        }
        wanted = _placeholders(name)
        if "question" in wanted:
            fields["question"] = material_line(group.question)
        if "examples" in wanted:
            fields["examples"] = self._shown_examples(group.claim, variant.labels)
        if "quote" in wanted:
            quote = await self._quote(fields, meter)
            fields["quote"] = material_line(quote)
        logprobs: dict[str, float] = await self._model.ask_letter(
            _set_of(variant.template).render(variant.template, **fields),
            ("A", "B", "C"),
            dict,
            prompts=self._defaults,
            meter=meter,
        )
        return Reply(
            set=group.set,
            group=group.id,
            document=number,
            content=content_of(group, number),
            gold=document.label,
            logprobs=dict(zip(variant.labels, (logprobs[x] for x in "ABC"), strict=True)),
            quote=quote,
            usage=meter.usage,
            seconds=round(time.perf_counter() - begun, 3),
        )

    async def _quote(self, fields: Mapping[str, str], meter: UsageMeter) -> str:
        """What the model quotes, however it ends: a quotation that is cut off still tells."""
        prompt = _own_templates().render("quote", **fields)
        message = await self._model.reply([HumanMessage(prompt)], {"max_tokens": _QUOTE_TOKENS})
        meter.answered(message)
        return " ".join(str(message.text).split()).strip('"“”')

    def _shown(self, document: Document) -> str:
        fitted = fit_documents(
            [document],
            self._model,
            self._defaults,
            around=self._rules,
            reply_tokens=_ROOM_TOKENS,
        )
        return as_shown(fitted.documents[0])

    def _shown_examples(self, claim: str, labels: Sequence[Label]) -> str:
        letters = dict(zip(labels, "ABC", strict=True))
        return "\n\n".join(
            _own_templates().render(
                "example",
                document=material_line(one.excerpt),
                claim=material_line(one.claim),
                letter=letters[one.label],
            )
            for one in self._examples(claim)
        )


@cache
def _own_templates() -> PromptSet:
    texts = {path.stem: path.read_text("utf-8").strip("\n") for path in _TEMPLATES.glob("*.txt")}
    return PromptSet(texts, name=_TEMPLATES.name)


def _set_of(template: str) -> PromptSet:
    """Ours, but for the template of `choice`, which is the package's."""
    own = _own_templates()
    return own if template in own.names else PromptSet.load()


def _placeholders(variant: str) -> frozenset[str]:
    template = VARIANTS[variant].template
    return _set_of(template).placeholders(template)


@click.command(help=__doc__)
@sample_options
@click.option("--variant", "variants", multiple=True, required=True, type=click.Choice([*VARIANTS]))
@click.option("--model", default="local", show_default=True, help="A spec.")
@click.option("--base-url", help="An OpenAI-compatible endpoint.")
@click.option("--answers", default=0, help="Claims of RAMDocs besides, as statements.")
@click.option("--pairs", type=click.IntRange(min=1), help="Stop after the first so many pairs.")
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path))
def main(
    data: tuple[Path, ...],
    variants: tuple[str, ...],
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
        sample, neighbours = validation_sample(data, groups, seed)
        ordered = by_lot(sample, seed) + by_lot(answers_sample(data, answers, seed), seed)
        places = places_of(ordered)[:pairs]
        asker = Asker(open_model(model, base_url=base_url), neighbours)
        with ExitStack() as files:
            rows = {
                name: files.enter_context(
                    ResumableRows.open(out / f"{name}.jsonl", Reply, asker.setup(name))
                )
                for name in VARIANTS
                if name in variants
            }
            failed = asyncio.run(_collect(asker, places, rows))
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error
    if failed:
        raise click.ClickException(
            f"{len(failed)} pairs could not be judged ({failed[0]}); the same command asks again"
        )


async def _collect(
    asker: Asker,
    places: Sequence[tuple[ClaimGroup, int]],
    rows: Mapping[str, ResumableRows[Reply]],
) -> list[ProviderError]:
    """Ask for what is missing, one call at a time; what failed."""
    missing = list(_missing(places, rows))
    failed: list[ProviderError] = []
    with CountBar(Console(stderr=True), "judging", "replies") as bar:
        for count, (name, group, number) in enumerate(missing, start=1):
            try:
                rows[name].append(await asker.ask(name, group, number))
            except ProviderError as error:
                failed.append(error)
            bar.show(count, len(missing), f"{len(failed)} failed" if failed else "")
    return failed


def _missing(
    places: Sequence[tuple[ClaimGroup, int]], rows: Mapping[str, ResumableRows[Reply]]
) -> Iterator[tuple[str, ClaimGroup, int]]:
    known = {
        name: {(row.set, row.content) for row in of_variant.rows}
        for name, of_variant in rows.items()
    }
    asked = {name for name in rows if "question" in _placeholders(name)}
    for group, number in places:
        for name in rows:
            done = (group.set, content_of(group, number)) in known[name]
            if not done and (group.question or name not in asked):
                yield name, group, number


if __name__ == "__main__":
    main()
