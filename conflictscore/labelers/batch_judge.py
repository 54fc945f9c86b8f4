"""The LLM judge of many pairs in one call.

A verdict is taken only where its ids are those of one pair that was asked for; what a reply leaves
open is asked again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from conflictscore.errors import ProviderError, UnreadableReplyError
from conflictscore.labelers.batches import (
    MODES,
    TEMPLATES,
    Batch,
    Batches,
    BatchMode,
    BatchName,
    BatchPrompt,
    NoRoom,
    batch_prompt,
)
from conflictscore.labelers.judging import unlabelled
from conflictscore.labelers.prompting import stands_in
from conflictscore.labelers.protocol import Pair
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import Claim, Document, EvidenceLabel, Label
from conflictscore.threads import together

__all__ = ["BatchJudge", "Reading", "read_verdicts", "reply_schema"]

_LABELS = ("SUPPORTS", "CONTRADICTS", "IRRELEVANT")
_ROUNDS = 3
"""How often a pair is asked for at most, in batches that become smaller."""

Tell = Callable[[EvidenceLabel], None]


class _Verdict(BaseModel):
    """What is said of a pair."""

    model_config = ConfigDict(extra="forbid")

    snippet: str
    reason: str
    answer: Literal["SUPPORTS", "CONTRADICTS", "IRRELEVANT"]


@dataclass
class Reading:
    """What a reply came to: every pair that was asked for is in one of the two."""

    verdicts: list[EvidenceLabel] = field(default_factory=list)
    open: list[tuple[Pair, str]] = field(default_factory=list)
    """The pairs without a verdict, each with what is wrong with it."""


class BatchJudge:
    """Judges the pairs of a table in a few calls.

    A verdict counts as one of its mode, and is never taken for one of a judge of single pairs.
    """

    def __init__(self, model: LanguageModel, prompts: PromptSet, mode: BatchName) -> None:
        """Make the judge.

        Args:
            model: The model that judges.
            prompts: Where ``label_rules_brief`` and the templates of the mode are.
            mode: What goes into a call: ``per-document`` up to 8 claims and one document,
                ``per-claim`` one claim and all documents, ``matrix`` up to 8 claims and up to 16
                documents; fewer where the context window has no room for more.
        """
        self._model, self._prompts, self._mode = model, prompts, MODES[mode]
        self._batches = Batches(self._mode, model, prompts)
        self._schema = reply_schema(self._mode)
        self.name = f"{mode}({model.name})"
        self.identity: dict[str, Any] | None = None
        if model.identity is not None:
            used = prompts.sha256_of(*TEMPLATES, self._mode.template, "cut", "retry")
            self.identity = {
                "labeler": mode,
                "prompt": used,
                "at_once": [self._mode.claims, self._mode.documents],
                "context_window": model.context_window,
                **model.identity,
            }

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        """Judge one pair; see :class:`~conflictscore.labelers.protocol.Labeler`."""
        told: list[EvidenceLabel] = []
        await self.label_all([(claim, document)], meter, told.append)
        [verdict] = told
        if verdict.error is not None:
            raise ProviderError(verdict.error, provider=self._model.name)
        return verdict

    async def label_all(self, pairs: Sequence[Pair], meter: UsageMeter, on_label: Tell) -> None:
        """Judge many; see :class:`~conflictscore.labelers.protocol.TableLabeler`."""
        async with together() as start:
            for part in self._batches.of(pairs):
                start(partial(self._settle, part, meter, on_label, _ROUNDS))

    async def _settle(
        self, part: Batch | NoRoom, meter: UsageMeter, tell: Tell, rounds: int
    ) -> None:
        """Tell a label for each pair of a part, asking again for what is left open."""
        left, again = await self._attempt(part, meter, tell)
        if rounds == 1 or not again:
            for pair, reason in left:
                tell(unlabelled(pair, reason))
            return
        for pairs in again:
            for smaller in self._batches.of(pairs):
                await self._settle(smaller, meter, tell, rounds - 1)

    async def _attempt(
        self, part: Batch | NoRoom, meter: UsageMeter, tell: Tell
    ) -> tuple[list[tuple[Pair, str]], list[list[Pair]]]:
        """Ask once, and tell what came of it.

        Returns:
            What is left open, each pair with the reason, and the parts in which asking for it again
            may help; none where it cannot.
        """
        if isinstance(part, NoRoom):
            return [(pair, part.reason) for pair in part.pairs], []
        pairs = list(part.pairs)
        try:
            reading = await self._ask(part, meter)
        except UnreadableReplyError as error:
            half = len(pairs) // 2
            again = [pairs[:half], pairs[half:]] if half else []
            return [(pair, str(error)) for pair in pairs], again
        except ProviderError as error:
            return [(pair, str(error)) for pair in pairs], []
        for verdict in reading.verdicts:
            tell(verdict)
        said = f"unreadable reply from {self._model.name}: the pair "
        left = [(pair, said + reason) for pair, reason in reading.open]
        return left, [[pair for pair, _ in left]] if left else []

    async def _ask(self, batch: Batch, meter: UsageMeter) -> Reading:
        prompt = batch_prompt(batch, self._mode, self._prompts)
        return await self._model.ask_json(
            prompt.text,
            self._schema,
            partial(read_verdicts, batch=batch, prompt=prompt, mode=self._mode),
            prompts=self._prompts,
            meter=meter,
            max_tokens=self._mode.reply_tokens(len(batch.pairs)),
        )


def reply_schema(mode: BatchMode) -> dict[str, Any]:
    """The form of a reply.

    The same for every call of a mode: a schema is part of what a server caches, and is costly the
    first time that it sees it. So the ids are checked here, and not by the schema.
    """
    said: dict[str, Any] = {key: {"type": "integer"} for key in mode.keys}
    said |= {"snippet": {"type": "string"}, "reason": {"type": "string"}}
    said["answer"] = {"type": "string", "enum": list(_LABELS)}
    return {
        "title": "evidence_labels",
        "type": "object",
        "properties": {
            "verdicts": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": said,
                    "required": list(said),
                    "additionalProperties": False,
                },
            }
        },
        "required": ["verdicts"],
        "additionalProperties": False,
    }


def read_verdicts(
    reply: Mapping[str, Any], batch: Batch, prompt: BatchPrompt, mode: BatchMode
) -> Reading:
    """Read a reply.

    A pair that is left out, named twice, or judged by the words of another document stays open.
    What the reply says of anything that was not asked for is passed over.

    Raises:
        ValueError: There is no verdict in it that can be taken.
    """
    listed = reply.get("verdicts")
    if not isinstance(listed, list):
        raise ValueError('"verdicts" is not a list')  # noqa: TRY004 - as ask_json wants it
    said: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for item in listed:
        if isinstance(item, Mapping):
            said.setdefault(tuple(str(item.get(key)) for key in mode.keys), []).append(item)
    reading = Reading()
    for claim, document in batch.pairs:
        its = {"claim": prompt.claim_ids[claim.number]}
        its["document"] = prompt.document_ids[document.number]
        key = tuple(its[name] for name in mode.keys)
        try:
            reading.verdicts.append(_label(said.get(key, []), (claim, document), batch, mode))
        except ValueError as error:
            reading.open.append(((claim, document), str(error)))
    if not reading.verdicts:
        raise ValueError(f"the first pair {reading.open[0][1]}, and no other can be used either")
    return reading


def _label(
    said: list[Mapping[str, Any]], pair: Pair, batch: Batch, mode: BatchMode
) -> EvidenceLabel:
    if len(said) != 1:
        raise ValueError(f"has {len(said)} verdicts" if said else "has no verdict under its ids")
    try:
        verdict = _Verdict.model_validate(
            {key: value for key, value in said[0].items() if key not in mode.keys}
        )
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"has a verdict whose {where} is wrong: {first['msg']}") from error
    claim, document = pair
    snippet = verdict.snippet.strip() or None
    found = stands_in(snippet, document) if snippet else None
    if snippet and not found and any(stands_in(snippet, other) for other in batch.documents):
        raise ValueError("has a verdict that quotes another document")
    return EvidenceLabel(
        claim=claim.number,
        document=document.number,
        label=Label(verdict.answer),
        snippet=snippet,
        snippet_found=found,
        reasoning=verdict.reason.strip() or None,
        document_cut=document.number in batch.cut,
    )
