"""The LLM judge of many pairs in one call: ``per-document`` and ``matrix``.

A batch names every claim and document by an id that its text decides, a verdict is taken only where
its ids are those of one pair that was asked for, and what a reply leaves open is asked again. The
rules and the documents stand before the claims, so that a server finds them in its cache for the
next claims.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from conflictscore.errors import ContextWindowError, ProviderError, UnreadableReplyError
from conflictscore.labelers.batch import (
    MODES,
    VERDICTS,
    Batch,
    BatchName,
    Open,
    prompt_of,
    read_reply,
)
from conflictscore.labelers.prompting import as_shown, identity_of
from conflictscore.labelers.protocol import Pair
from conflictscore.labelers.verdicts import unlabelled
from conflictscore.models.clients import for_purpose
from conflictscore.models.fitting import fit_documents
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import Claim, Document, EvidenceLabel
from conflictscore.threads import together
from conflictscore.tokens import count_tokens

_SHARED = ("label_rules_brief", "label_one_document", "label_one_claim", "label_claim_with")
"""The templates that the modes share."""
_ROUNDS = 3
"""How often a pair is asked for at most, in batches that become smaller."""
_CLAIM_TOKENS = 64
"""Room for each claim that a call may have, so that no cut moves with the claims."""
_LEAST_CLAIMS_TOKENS = 256
"""Room for one claim that is long."""
_MARK_TOKENS = 16

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
                ``matrix`` up to 8 claims and up to 16 documents; fewer where the context window has
                no room for more.
        """
        self._model, self._prompts, self._mode = model, prompts, MODES[mode]
        documents = "document" if self._mode.documents == 1 else "documents"
        empty = {"rules": prompts.render("label_rules_brief"), documents: "", "claims": ""}
        self._around = prompts.render(self._mode.template, **empty)
        self._claims_room = max(self._mode.claims * _CLAIM_TOKENS, _LEAST_CLAIMS_TOKENS)
        self.name = f"{mode}({model.name})"
        used = prompts.sha256_of(*_SHARED, self._mode.template, "cut", "retry")
        most = [self._mode.claims, self._mode.documents]
        self.identity = identity_of(mode, used, model, at_once=most)

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
            for part in self._parts(pairs):
                start(partial(self._settle, part, meter, on_label, _ROUNDS))

    async def _settle(self, part: Batch, meter: UsageMeter, tell: Tell, rounds: int) -> None:
        """Tell a label for each pair of a part, asking again for what is left open."""
        left, again = await self._attempt(part, meter, tell)
        if rounds == 1 or not again:
            for pair, reason in left:
                tell(unlabelled(pair, reason))
            return
        for pairs in again:
            for smaller in self._parts(pairs):
                await self._settle(smaller, meter, tell, rounds - 1)

    async def _attempt(
        self, part: Batch, meter: UsageMeter, tell: Tell
    ) -> tuple[Open, list[list[Pair]]]:
        """Ask once; what is left open, and the parts in which asking for it again may help."""
        pairs = list(part.pairs)
        if part.no_room:
            return [(pair, part.no_room) for pair in pairs], []
        numbers = [sorted({item.number for item in side}) for side in zip(*pairs, strict=True)]
        claims, documents = (", ".join(map(str, side)) for side in numbers)
        try:
            with for_purpose(claim=claims, document=documents):
                verdicts, left = await self._model.ask_json(
                    prompt_of(part, self._mode, self._prompts),
                    self._mode.schema(),
                    partial(read_reply, batch=part, mode=self._mode),
                    prompts=self._prompts,
                    meter=meter,
                    max_tokens=self._mode.reply_tokens(len(pairs)),
                    needed=frozenset({VERDICTS}),
                    listed=VERDICTS,
                )
        except UnreadableReplyError as error:
            half = len(pairs) // 2
            again = [pairs[:half], pairs[half:]] if half else []
            return [(pair, str(error)) for pair in pairs], again
        except ProviderError as error:
            return [(pair, str(error)) for pair in pairs], []
        for verdict in verdicts:
            tell(verdict)
        said = f"unreadable reply from {self._model.name}: the pair "
        left = [(pair, said + reason) for pair, reason in left]
        return left, [[pair for pair, _ in left]] if left else []

    def _parts(self, pairs: Sequence[Pair]) -> list[Batch]:
        """Divide pairs, each with a claim and document number of its own; the first go first.

        Documents that do not fit together whole are divided in halves until they do; one that does
        not fit alone is cut, visibly. Room is kept for as many claims as a call may have: which
        documents go together, and where they are cut, changes only with a claim that is very long.
        """
        divided: list[Batch] = []
        documents = list({document.number: document for _, document in pairs}.values())
        for start in range(0, len(documents), self._mode.documents):
            numbers = {d.number for d in documents[start : start + self._mode.documents]}
            here = [pair for pair in pairs if pair[1].number in numbers]
            for claims, tokens in self._claims_together(here):
                fit = [pair for pair in here if pair[0] in claims]
                divided += self._fitting(fit, tokens)
        return divided

    def _claims_together(self, pairs: Sequence[Pair]) -> Iterator[tuple[list[Claim], int]]:
        """As many claims at a time as a call may have and has room for, with their tokens."""
        claims: list[Claim] = []
        total = 0
        for claim in {claim.number: claim for claim, _ in pairs}.values():
            tokens = _MARK_TOKENS + count_tokens(claim.text, self._model.name)
            if claims and (len(claims) == self._mode.claims or total + tokens > self._claims_room):
                yield claims, total
                claims, total = [], 0
            claims.append(claim)
            total += tokens
        yield claims, total

    def _fitting(self, pairs: Sequence[Pair], claim_tokens: int) -> list[Batch]:
        """One call for these pairs, or more where their documents do not fit together."""
        claims = tuple({claim.number: claim for claim, _ in pairs}.values())
        documents = sorted({d.number: d for _, d in pairs}.values(), key=lambda d: d.number)
        reply_tokens = self._mode.reply_tokens(self._mode.claims * len(documents))
        batch = partial(Batch, claims, tuple(documents), pairs=tuple(pairs))
        try:
            fitted = fit_documents(
                documents,
                self._model,
                self._prompts,
                around=self._around,
                reply_tokens=reply_tokens + max(self._claims_room, claim_tokens),
            )
        except ContextWindowError as error:
            if len(documents) == 1:
                reason = str(error)
                if claim_tokens > self._claims_room:
                    reason = (
                        f"the claim has about {claim_tokens} tokens and leaves no room for a"
                        f" document in the context window of {self._model.name}"
                        f" ({self._model.context_window} tokens)"
                    )
                return [batch(shown={}, cut=frozenset(), no_room=reason)]
        else:
            if len(documents) == 1 or not fitted.cut:
                shown = {document.number: as_shown(document) for document in fitted.documents}
                return [batch(shown=shown, cut=frozenset(fitted.cut))]
        first = {document.number for document in documents[: len(documents) // 2]}
        halves = ([p for p in pairs if (p[1].number in first) is side] for side in (True, False))
        return [part for half in halves for part in self._fitting(half, claim_tokens)]
