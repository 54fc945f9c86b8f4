"""Every claim held against its documents, by any labeler; and claims that a model writes."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup
from conflictscore.benchmarks.judging import Judge, at_once
from conflictscore.errors import ProviderError
from conflictscore.labelers.protocol import Labeler
from conflictscore.labelers.table import label_table
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.answer_replies import read_text
from conflictscore.prompts import material
from conflictscore.records import Claim, EvidenceLabel
from conflictscore.retrieval.cleaning import clean_text
from conflictscore.storage.cache import ContentCache
from conflictscore.threads import each

_CLAIM_TOKENS = 200
"""The most that a written claim may have."""


class Judged(NamedTuple):
    """A group with a verdict on each of its documents."""

    group: ClaimGroup
    labels: tuple[EvidenceLabel, ...]
    """One a document, in order; UNLABELLED where the labeler failed."""


async def detect(
    labeler: Labeler,
    groups: Sequence[ClaimGroup],
    *,
    meter: UsageMeter,
    cache: ContentCache | None = None,
    concurrency: int = 1,
    on_pair: Callable[[EvidenceLabel], None] = lambda label: None,
) -> list[Judged]:
    """Label all pairs of claim and document; claims are judged as they are.

    Args:
        labeler: The judge.
        groups: The claims with their documents.
        meter: Counts the calls, and the verdicts that came from the cache.
        cache: Where each verdict is kept the moment it is there: a run that is stopped in any way
            loses the calls in flight at most.
        concurrency: Claims at a time, at least 1.
        on_pair: Called after each verdict.
    """
    found: dict[tuple[str, str], Judged] = {}

    async def judge(group: ClaimGroup) -> None:
        claim = Claim(number=1, text=group.claim)
        [row] = await label_table(
            labeler, [claim], group.shown, meter=meter, cache=cache, on_label=on_pair
        )
        found[group.set, group.id] = Judged(group, row.labels)

    await each(groups, judge, concurrency)
    return [found[group.set, group.id] for group in groups]


async def written_claims(
    groups: Sequence[ClaimGroup], judge: Judge, on_claim: Callable[[], object]
) -> list[ClaimGroup]:
    """Have a model write claims from questions and answers, as the paper has GPT-4 do.

    Groups without a question keep their claims. The model's cache makes a second time free.

    Raises:
        ProviderError: A claim could not be written; the others are cached.
    """
    failures: list[ProviderError] = []

    async def worded(group: ClaimGroup) -> ClaimGroup:
        if not group.question:
            return group
        fields = {"question": material(group.question), "answer": material(group.answer)}
        prompt = judge.prompts.render("write_claim", **fields)
        try:
            said = await judge.ask(prompt, read_text, _CLAIM_TOKENS)
        except ProviderError as error:
            failures.append(error)
            return group
        on_claim()
        return group.model_copy(update={"claim": " ".join(clean_text(said).split())})

    written = await at_once([partial(worded, group) for group in groups])
    if failures:
        raise failures[0]
    return list(written)
