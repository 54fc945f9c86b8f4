"""The LLM judge of many pairs at once; what a reply leaves open is asked again."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from conflictscore.errors import ProviderError, UnreadableReplyError
from conflictscore.labelers.asking import together, unlabelled
from conflictscore.labelers.batching.batches import Batch, Batches, NoRoom
from conflictscore.labelers.batching.modes import MODES, BatchName
from conflictscore.labelers.batching.prompt import TEMPLATES, batch_prompt
from conflictscore.labelers.batching.reply import Reading, read_verdicts, reply_schema
from conflictscore.labelers.protocol import Pair
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import Claim, Document, EvidenceLabel

__all__ = ["BatchJudge"]

_ROUNDS = 3
"""How often a pair is asked for at most, in batches that become smaller."""

Tell = Callable[[EvidenceLabel], None]


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
        await together(
            partial(self._settle, part, meter, on_label, _ROUNDS)
            for part in self._batches.of(pairs)
        )

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
