"""Which calls label the claims of one answer, by how the labeler puts pairs into calls."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

from conflictscore.benchmarks.harness.estimate import Level
from conflictscore.benchmarks.harness.methods.registry import LOOP
from conflictscore.benchmarks.harness.plan import Plan, PlannedCall, PlannedLabeler, TokenCounts
from conflictscore.labelers.batches import MODES, Batches, BatchMode, NoRoom, batch_prompt
from conflictscore.labelers.prompting import as_shown, rules_of
from conflictscore.records import Claim, Document
from conflictscore.tokens import count_tokens

if TYPE_CHECKING:
    from conflictscore.models.language_model import LanguageModel

__all__ = ["planned_labels"]


def planned_labels(
    plan: Plan,
    claim: str,
    claims: float,
    documents: Sequence[Document],
    level: Level,
    count: TokenCounts,
) -> Iterator[PlannedCall]:
    """The calls on one answer; none where there is no labeler whose calls are counted.

    Args:
        plan: What is run.
        claim: A claim of the length that is assumed.
        claims: How many of them are without a label yet; below 1, how likely there is one.
        documents: The documents of the question, at least one.
        level: Which of the assumed figures to take.
        count: Counts tokens.
    """
    most = claims if plan.max_claims is None else min(claims, plan.max_claims)
    match plan.labeler:
        case "json" | "choice" | "whole-answer" as kind:
            yield from _pairs(plan, kind, claim, most, documents, level, count)
        case "per-document" | "per-claim" | "matrix" as kind:
            yield from _batches(plan, MODES[kind], claim, most, documents, level)


def _pairs(
    plan: Plan,
    kind: PlannedLabeler,
    claim: str,
    claims: float,
    documents: Sequence[Document],
    level: Level,
    count: TokenCounts,
) -> Iterator[PlannedCall]:
    """A call a pair."""
    template = "label_choice" if kind == "choice" else "label_json"
    reply = 1.0 if kind == "choice" else plan.assumptions.verdict_tokens.at(level)
    rules = plan.prompts.render(rules_of(template, plan.judge.endpoint))
    frame = plan.prompts.render(template, rules=rules, document="", claim="")
    around = count(frame, plan.judge) + count(claim, plan.judge)
    for document in documents:
        shown = count(as_shown(document), plan.judge)
        yield PlannedCall(LOOP, plan.judge, claims, around + shown, reply)


def _batches(
    plan: Plan,
    mode: BatchMode,
    claim: str,
    claims: float,
    documents: Sequence[Document],
    level: Level,
) -> Iterator[PlannedCall]:
    """The calls that the judge of many pairs would make; what a reply leaves open is not in it."""
    # dividing pairs needs of a model no more than what is planned with
    judge = cast("LanguageModel", plan.judge)
    alike = [Claim(number=n, text=claim) for n in range(1, max(1, round(claims)) + 1)]
    pairs = [(one, document) for one in alike for document in documents]
    verdict = plan.assumptions.batched_verdict_tokens.at(level)
    for part in Batches(mode, judge, plan.prompts).of(pairs):
        if isinstance(part, NoRoom):
            continue
        prompt = count_tokens(batch_prompt(part, mode, plan.prompts).text, plan.judge.name).n
        reply = verdict * len(part.pairs)
        yield PlannedCall(LOOP, plan.judge, min(1.0, claims), prompt, reply)
