"""What does looking further do about claims in doubt: are they settled, and is it right?

The documents of all RAMDocs' questions are one corpus, of which the search finds the best few for a
question. Each question is asked as the loop asks it, once for each setting of ``look_further``.
Claims in doubt are those of the first answer that the documents found at first dispute; they are
followed to the evidence that the run ends with. Whether a claim is right is known where it holds
an answer that people gave. Replies are kept in the file of --cache, so that a run that was stopped
goes on, and a first answer is paid for once.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, get_args

import click

from conflictscore.benchmarks.ramdocs.benchmark import exact_match
from conflictscore.errors import ConflictScoreError
from conflictscore.graph.create import run_context
from conflictscore.graph.self_correction import build_self_correction_graph
from conflictscore.graph.settings import LoopSettings, Model
from conflictscore.metric import balance
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.state import LookFurther, run_of
from conflictscore.records import Claim, ClaimEvidence, Document, EvidenceLabel, Run
from conflictscore.retrieval.corpus import CorpusRetriever
from conflictscore.storage.cache import ContentCache
from measurements.break_even import drawn
from measurements.obedient_model import obedient_model
from measurements.people_labels import SETS, LabelledQuestion
from measurements.retrieval_recall import read_corpus

__all__ = ["Outcome", "looked", "main", "outcome"]

_ROW = "{:<12}{:>10}{:>9}{:>6}{:>8}{:>7}{:>7}{:>10}{:>8}{:>10}{:>10}{:>8}{:>10}"
_FIELDS = (
    *("look further", "questions", "in doubt", "tied", "rightly", "wrongly", "open"),
    *("corrected", "harmed", "searches", "documents", "calls", "tokens"),
)


class _Asked:
    """People's labels of the documents of one question, whichever search found them."""

    identity, name = None, "people"

    def __init__(self, asked: LabelledQuestion) -> None:
        self._asked = asked
        self._gives = {d["text"]: str(d["metadata"]["gives"]) for d in asked.question.documents}

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        """See :class:`~conflictscore.labelers.protocol.Labeler`."""
        label = self._asked.label(claim.text, self._gives.get(document.text, ""))
        return EvidenceLabel(claim=claim.number, document=document.number, label=label)


class Outcome(NamedTuple):
    """What the runs of one setting came to.

    Attributes:
        setting: Of ``look_further``.
        counts: By field of the table; ``rightly`` and ``wrongly`` are claims in doubt whose
            evidence ends on the side that people know to be right or wrong, ``open`` the others.
    """

    setting: str
    counts: Counter[str]

    def line(self) -> str:
        """A row of the table."""
        return _ROW.format(self.setting, *(f"{self.counts[name]:,}" for name in _FIELDS[1:]))


async def looked(
    labelled: Iterable[LabelledQuestion],
    corpus: CorpusRetriever,
    setting: LookFurther,
    *,
    model: Model | None,
    labeler: str = "people",
    cache: ContentCache | None = None,
) -> list[tuple[LabelledQuestion, Run]]:
    """Ask the questions with one setting.

    Args:
        labelled: The questions.
        corpus: What is searched.
        setting: Of ``look_further``.
        model: What answers; ``obedient`` is a scripted model that follows the evidence.
        labeler: ``people``, or the name of a labeler.
        cache: Where replies and verdicts are kept; None keeps none.
    """
    runs = []
    scripted = obedient_model(labelled, from_shown=True) if model == "obedient" else None
    settings = LoopSettings(
        labeler=None if labeler == "people" else labeler,  # type: ignore[arg-type]
        prompts=scripted.prompts if scripted else None,
        cache=cache or False,
        look_further=setting,
    )
    context = run_context(scripted or model, corpus, settings)
    for asked in labelled:
        judge = _Asked(asked) if labeler == "people" else context.labeler
        graph = build_self_correction_graph(replace(context, labeler=judge))
        runs.append((asked, run_of(await graph.ainvoke({"question": asked.question.question}))))
    return runs


def outcome(setting: str, runs: Iterable[tuple[LabelledQuestion, Run]]) -> Outcome:
    """Count what runs with one setting came to."""
    counts: Counter[str] = Counter()
    for asked, run in runs:
        before, after = (_is_right(asked, text or "") for text in (run.first_answer, run.answer))
        counts["questions"] += 1
        counts["corrected"] += after and not before
        counts["harmed"] += before and not after
        counts["searches"] += sum(bool(search.query) for search in run.searches)
        counts["calls"] += run.usage.calls + run.usage.cached_calls
        counts["tokens"] += run.usage.input_tokens + run.usage.output_tokens
        new = {number for search in run.searches for number in search.found}
        counts["documents"] += len(new)
        for evidence in run.report.claims if run.report else ():
            kept = tuple(pair for pair in evidence.labels if pair.document not in new)
            first = evidence.model_copy(update={"labels": kept})
            if not first.contradicts:
                continue
            counts["in doubt"] += 1
            counts["tied"] += len(first.supports) == len(first.contradicts)
            counts[_settled(asked, evidence)] += 1
    return Outcome(setting, counts)


def _conflicts(asked: LabelledQuestion, corpus: CorpusRetriever) -> bool:
    """Whether what is found for a question gives a right and a wrong answer."""
    gives = {d["text"]: str(d["metadata"]["gives"]) for d in asked.question.documents}
    found = corpus.invoke(asked.question.question)
    given = {gives[one.page_content] for one in found if gives.get(one.page_content)}
    return not given.isdisjoint(asked.right) and bool(given - {*asked.right})


def _is_right(asked: LabelledQuestion, text: str) -> bool:
    return exact_match(text, asked.right, asked.wrong).exact


def _settled(asked: LabelledQuestion, evidence: ClaimEvidence) -> str:
    """Whether the evidence takes the side that people know to be right."""
    told = exact_match(evidence.claim.text, asked.right, asked.wrong)
    side = balance(evidence)
    if not side or bool(told.given) == bool(told.wrong):
        return "open"
    return "rightly" if (side > 0) == bool(told.given) else "wrongly"


@click.command(help=__doc__)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--top-k", default=4, show_default=True, help="Documents that a search finds.")
@click.option("--questions", default=100, show_default=True, help="Drawn by seed.")
@click.option("--seed", default=1, show_default=True)
@click.option(
    "--model",
    default="obedient",
    show_default=True,
    help="What answers; obedient is a scripted model that does what the evidence says.",
)
@click.option("--labeler", default="people", show_default=True, help="people, nli or another one.")
@click.option(
    "--conflicting",
    is_flag=True,
    help="Only questions whose first documents give a right and a wrong answer.",
)
@click.option("--settings", default=",".join(get_args(LookFurther)), show_default=True)
@click.option("--cache", type=click.Path(path_type=Path), help="Where replies are kept.")
def main(
    file: Path,
    top_k: int,
    questions: int,
    seed: int,
    model: str,
    labeler: str,
    conflicting: bool,
    settings: str,
    cache: Path | None,
) -> None:
    """See the module."""
    try:
        corpus = CorpusRetriever.from_documents(read_corpus(file).documents, top_k)
        known = SETS["ramdocs"](file)
        if conflicting:
            known = [asked for asked in known if _conflicts(asked, corpus)]
        labelled = drawn(known, questions, seed)
        kept: Any = ContentCache(cache) if cache else None
        click.echo(_ROW.format(*_FIELDS))
        for setting in _known(settings.split(",")):
            work = looked(labelled, corpus, setting, model=model, labeler=labeler, cache=kept)
            click.echo(outcome(setting, asyncio.run(work)).line())
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error


def _known(settings: Sequence[str]) -> list[LookFurther]:
    known = {str(name): name for name in get_args(LookFurther)}
    if unknown := [name for name in settings if name not in known]:
        raise click.UsageError(f"--settings {unknown[0]}: one of {', '.join(known)}")
    return [known[name] for name in settings]


if __name__ == "__main__":
    main()
