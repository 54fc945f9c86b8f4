"""Control methods for ``regenerated-rag``, which asks again about a disputed claim.

The controls show the effect of asking a second time without evidence. The controls ask again only
if the first answer has a disputed claim, as ``regenerated-rag`` does; otherwise they keep the first
answer. If ``regenerated-rag`` gains more than the controls, the difference is due to the evidence.
"""

from dataclasses import replace
from typing import Any

from conflictscore.answering.answerer import Reconsideration, ending_notes
from conflictscore.benchmarks.harness.methods.asker import Asker
from conflictscore.benchmarks.harness.methods.method import Asked, BenchmarkMethod
from conflictscore.correcting.anew import claims_by_choice
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Answer, Attempt, Claim, ClaimEvidence

_RESAMPLE_SEED = 5000
"""The number that is added to the seed of a model to draw the second sample.

Within a run, the second sample's seed thus always differs from the first one's. In a repetition of
a run, ``setup`` adds 1000 to the seed. The offset in this module is larger. So if the run's seed is
below 4000, no second sample has the seed of a first sample in a repetition.
"""


def _first(request: Asked) -> Attempt:
    if request.first is None:
        raise ValueError("the control needs the loop's first answer, but the loop has not run")
    return request.first


def _disputed_claim(asker: Asker, first: Attempt) -> Claim | None:
    """Return the claim that ``regenerated-rag`` reconsiders, or None if no claim is disputed.

    If the run has a model choose the claim, the worst claim is returned instead, to save the call.
    """
    report = first.report
    if report is None or report.reconsider is None:
        return None
    choices = claims_by_choice(report)
    return report.evidence(choices.get(asker.context.reconsider, choices["worst"])).claim


def _kept(answer: Answer) -> dict[str, Any]:
    return {"answer": answer.to_json(), "notes": []}


async def _look_without_evidence(asker: Asker, request: Asked) -> dict[str, Any]:
    """Ask the model to reconsider the same claim, but show no evidence for or against it."""
    first, context = _first(request), asker.context
    claim = _disputed_claim(asker, first)
    if claim is None:
        return _kept(first.answer)
    reconsideration = Reconsideration(
        request.question.question,
        request.question.options,
        first.answer,
        ClaimEvidence(claim=claim, labels=()),
        request.documents,
        weighed=context.option_probabilities,
    )
    # the meter is required, but not read: the run's ledger counts the calls
    answer, notes = await reconsideration.ask(context.generator, context.prompts, UsageMeter())
    notes += ending_notes([answer.early_ending], "answer again")
    return {"answer": answer.to_json(), "notes": notes}


async def _ask_once_more(asker: Asker, request: Asked) -> dict[str, Any]:
    """Send the prompt of the first answer again, unchanged, to draw a second sample."""
    first = _first(request)
    if _disputed_claim(asker, first) is None:
        return _kept(first.answer)
    context = replace(asker.context, generator=_resampled(asker.context.generator))
    again = Asker(context, asker.usage, asker.reply_tokens)
    return await again.answer_from(request.question, request.documents)


def _resampled(model: LanguageModel) -> LanguageModel:
    """Return the model with a different seed, if it accepts one, and with a separate cache key.

    With the same cache key, the cache would return the first sample. Each repetition of a run has
    its own key too, in which ``sample`` is a number (see ``setup``).
    """
    seed: dict[str, Any] = {}
    if "seed" in type(model.chat).model_fields:
        seed = {"seed": _RESAMPLE_SEED + (getattr(model.chat, "seed", None) or 0)}
    parameters = model.parameters or {}
    sample = f"{parameters['sample']} again" if "sample" in parameters else "again"
    return replace(
        model,
        chat=model.chat.model_copy(update=seed),
        parameters={**parameters, **seed, "sample": sample},
    )


RESAMPLE = BenchmarkMethod(
    name="resample",
    ask=_ask_once_more,
    looks_again=True,
    caveat="resample sends the first prompt again if a claim is disputed, which shows the gain of"
    " merely asking twice. At temperature 0, resample only shows how much the endpoint's replies"
    " vary.",
)

PLACEBO = BenchmarkMethod(
    name="placebo",
    ask=_look_without_evidence,
    looks_again=True,
    caveat="placebo asks the model to reconsider without showing it evidence. If regenerated-rag"
    " gains more than placebo, the difference is due to the evidence.",
)
