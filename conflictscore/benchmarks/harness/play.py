"""A run's own steps, played with models that answer with stand-ins and call nothing.

What a step depends on that only a model could say has a probability: that the first answer is in
conflict, and that an answer that was reconsidered is another one. The play takes every turn, and
each call counts as often as its turns are likely.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache, partial
from itertools import count
from math import ceil
from typing import Any, NamedTuple, TypeVar

from langchain_core.messages import BaseMessage

from conflictscore.benchmarks.harness.estimate import Assumptions, Level
from conflictscore.benchmarks.harness.listening import Silent
from conflictscore.benchmarks.harness.methods.registry import (
    DOCUMENTS,
    GRADE,
    LOOP,
    METHODS,
    begins_with_first,
    method_of,
)
from conflictscore.benchmarks.harness.records import Question, StepRecord
from conflictscore.benchmarks.harness.stand_ins import PASSAGE, Scene, StandIn, stand_in
from conflictscore.errors import UnreadableReplyError
from conflictscore.labelers.cascade import Cascade
from conflictscore.labelers.protocol import Labeler, Pair, TableLabeler
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import Claim, Document, EvidenceLabel, Label
from conflictscore.tokens import count_tokens

__all__ = ["Call", "CountingModel", "NotedPrompts", "Play", "labels_of"]

T = TypeVar("T")

_REGENERATION = re.compile("_regenerate(_typed)?$|^revise$")
_CLAIM_IDS = ("label_one_claim", "label_claim_with")
_LINES = re.compile(r"[^\n]*\n+|[^\n]+$")


class Call(NamedTuple):
    """A call that a run would make."""

    step: str
    model: LanguageModel
    times: float
    """How often, as an expected value."""
    prompt: int
    """Tokens of its prompt."""
    reply: float
    """Tokens of its reply, without what a model thinks."""


class NotedPrompts(PromptSet):
    """Templates that note what each text was made of."""

    def __init__(self, prompts: PromptSet) -> None:
        """Take the templates of a set."""
        vars(self).update(vars(prompts))
        self._noted = prompts
        self.rendered: dict[str, tuple[str, Mapping[str, Any]]] = {}

    def render(self, name: str, **fields: str | int) -> str:
        """Fill a template, and note it."""
        text = self._noted.render(name, **fields)
        self.rendered[text] = name, fields
        return text

    def made(self, prompt: str) -> tuple[str, Mapping[str, Any]]:
        """The template that a prompt was made of, or its beginning, and what it was filled with."""
        known = (
            prompt
            if prompt in self.rendered
            else max(filter(prompt.startswith, self.rendered), key=len, default="")
        )
        return self.rendered.get(known, ("", {}))


class Play(Silent):
    """One level of the assumptions, as the listener of a session."""

    def __init__(
        self,
        level: Level,
        assumptions: Assumptions,
        prompts: NotedPrompts,
        tell: Callable[[Call, Question], None],
        *,
        questions: Sequence[Question],
        recorded: Collection[StepRecord],
        max_rounds: int,
        stand_ins: Mapping[str, StandIn],
    ) -> None:
        """Prepare the play.

        Args:
            level: Which of the assumed figures to take.
            assumptions: What cannot be counted.
            prompts: The templates of the run.
            tell: Told of each call.
            questions: Those of the run.
            recorded: Steps that are not asked again.
            max_rounds: The most regenerations.
            stand_ins: Replies that the benchmark says, by template.
        """
        self._level, self._assumptions, self._prompts = level, assumptions, prompts
        self._tell, self._stand_ins = tell, stand_ins
        self._max_rounds = max_rounds
        self._questions = {question.id: question for question in questions}
        self._known = {(record.question, record.step) for record in recorded}
        self._documents = dict[str, int]()
        self._stage: list[tuple[str, str]] = []
        self._asked_of = ""
        self._likely = self._at("conflict_rate")
        self._reach = 1.0
        self._round = 0
        self._texts = dict[str, float]()
        self._fresh = count()
        self._whole: Collection[str] = ()
        for record in recorded:
            self._count_documents(record)

    def started(self, question_id: str, step: str) -> None:
        """A step began."""
        if not self._stage and question_id != self._asked_of:
            self._asked_of, self._texts, self._fresh = question_id, {}, count()
        self._stage.append((question_id, step))
        if step != DOCUMENTS:
            known = (question_id, LOOP) in self._known
            asked_again = begins_with_first(step) and not method_of(step).own_loop
            self._reach = self._conflict if asked_again and not known else 1.0
            self._round, self._whole = 0, ()

    def ended(self, record: StepRecord) -> None:
        """A step ended."""
        self._stage.pop()
        self._count_documents(record)
        self._prompts.rendered.clear()

    def judging(self, answer: str) -> None:
        """An answer is judged: as often as there is one with this text."""
        self._reach = self._texts.get(answer, 1.0)

    def reply(self, model: LanguageModel, prompt: str) -> str:
        """What stands in for the reply to a prompt, which is counted."""
        name, filled = self._prompts.made(prompt)
        scene = self._scene(name, filled)
        text, length = stand_in(scene, self._stand_ins, self._step == GRADE and name != "decompose")
        if name == "decompose":
            self.judging(filled["answer"])
            self._whole = [line[2:] for line in text.splitlines()[1:]]
        again = _REGENERATION.search(name) is not None
        if again and self._round == 0 and self._loops:
            self._reach *= self._conflict
        self._count(model, prompt, length)
        if again:
            changed = "flipped" if scene.question.options else "reworded"
            self._reach *= self._at(changed)
            self._round += 1
            self._texts[text.rpartition(PASSAGE)[2]] = self._reach
        return text

    def verdicts(
        self, model: LanguageModel, prompt: str, schema: Mapping[str, Any]
    ) -> dict[str, Any]:
        """What stands in for a judge's JSON on the pairs of a prompt, which is counted."""
        said = {"snippet": "", "reason": "", "answer": "IRRELEVANT"}
        if schema["title"] == "evidence_label":
            self._count(model, prompt, self._at("verdict_tokens"), self._part(prompt))
            return {"claim": "", "document_snippet": "", "reasoning": "", "answer": "IRRELEVANT"}
        keys = {*schema["properties"]["verdicts"]["items"]["required"]}
        claims, documents = (
            [
                int(filled["id"])
                for text, (name, filled) in self._prompts.rendered.items()
                if name in names and text in prompt
            ]
            for names in (_CLAIM_IDS, ("label_one_document",))
        )
        ids = [
            {"claim": claim, "document": document}
            for claim in claims
            for document in (documents if "document" in keys else [0])
        ]
        each = self._at("batched_verdict_tokens")
        self._count(model, prompt, each * len(ids), self._part(prompt))
        return {"verdicts": [{k: v for k, v in one.items() if k in keys} | said for one in ids]}

    def letter(self, model: LanguageModel, prompt: str) -> None:
        """Count a call for a letter."""
        self._count(model, prompt, 1.0, self._part(prompt))

    def label(self, document: int) -> Label:
        """How a claim relates to the document of this number.

        At the first answer there is a conflict. At an answer that was reconsidered there is one in
        the upper bound alone, of documents that were not laid out before as far as there are such.
        """
        total = self._documents[self._stage[0][0]]
        if total < 2 or not self._loops or (self._round and self._level != "high"):
            return Label.IRRELEVANT
        most = max(1, total // (2 * max(1, self._max_rounds)))
        side = {"low": 1, "expected": ceil(total // 2 / 2), "high": most}[self._level]
        place = (document - 1 - 2 * side * self._round) % total
        if place < side:
            return Label.SUPPORTS
        return Label.CONTRADICTS if place < 2 * side else Label.IRRELEVANT

    @property
    def _step(self) -> str:
        return self._stage[-1][1]

    @property
    def _loops(self) -> bool:
        """Whether the step scores a first answer."""
        return self._step == LOOP or (self._step in METHODS and method_of(self._step).own_loop)

    @property
    def _conflict(self) -> float:
        """How likely the first answer is in conflict; one document cannot disagree."""
        return self._likely if self._documents.get(self._stage[0][0], 0) > 1 else 0.0

    def _at(self, name: str) -> float:
        figure: float = getattr(self._assumptions, name).at(self._level)
        return figure

    def _part(self, prompt: str) -> float:
        """How often claims of a prompt are there, where their assumed number is not whole."""
        beyond = len(self._whole) - self._at("claims") if self._whole else 0.0
        if beyond <= 0 or any(claim in prompt for claim in list(self._whole)[:-1]):
            return 1.0
        return 1.0 - beyond

    def _scene(self, template: str, filled: Mapping[str, Any]) -> Scene:
        question = self._questions[self._stage[-1][0]]
        return Scene(
            template=template,
            fields=filled,
            question=question,
            documents=self._documents.get(question.id, 0),
            prompts=self._prompts,
            assumptions=self._assumptions,
            level=self._level,
            fresh=self._fresh,
        )

    def _count(self, model: LanguageModel, prompt: str, reply: float, part: float = 1.0) -> None:
        question, step = self._stage[-1]
        tokens = sum(_tokens(line, model.name) for line in _LINES.findall(prompt))
        if times := self._reach * part:
            self._tell(Call(step, model, times, tokens, reply), self._questions[question])

    def _count_documents(self, record: StepRecord) -> None:
        if record.step == DOCUMENTS and record.value is not None:
            self._documents[record.question] = len(record.value["documents"])


@lru_cache(maxsize=10_000)
def _tokens(text: str, model: str) -> int:
    """Tokens of a line, of which a run's prompts have many in common."""
    return count_tokens(text, model).n


@dataclass(frozen=True, kw_only=True)
class CountingModel(LanguageModel):
    """Stands in for a model: it is asked as that one is, and calls nothing."""

    play: Play

    @classmethod
    def of(cls, model: LanguageModel, play: Play) -> "CountingModel":
        """The stand-in of a model."""
        known = {field.name: getattr(model, field.name) for field in fields(LanguageModel)}
        return cls(**known | {"cache": None}, play=play)

    async def ask(
        self,
        prompt: str,
        read: Callable[[str], T],
        *,
        prompts: PromptSet,
        meter: UsageMeter,
        max_tokens: int,
        history: Sequence[BaseMessage] = (),
        parameters: Mapping[str, Any] | None = None,
    ) -> T:
        """See :class:`LanguageModel`."""
        reply = self.play.reply(self, prompt)
        try:
            return read(reply)
        except ValueError as error:
            raise UnreadableReplyError(str(error), provider=self.name, reply=reply) from error

    async def ask_json(
        self,
        prompt: str,
        schema: Mapping[str, Any],
        read: Callable[[Mapping[str, Any]], T],
        *,
        prompts: PromptSet,
        meter: UsageMeter,
        max_tokens: int,
    ) -> T:
        """See :class:`LanguageModel`."""
        return read(self.play.verdicts(self, prompt, schema))

    async def ask_letter(
        self,
        prompt: str,
        letters: Sequence[str],
        read: Callable[[Mapping[str, float]], T],
        *,
        prompts: PromptSet,
        meter: UsageMeter,
    ) -> T:
        """See :class:`LanguageModel`."""
        self.play.letter(self, prompt)
        return read(dict.fromkeys(letters, -1.0))


class _Labels:
    """Asks what a labeler asks, and gives the labels of the play."""

    name = "stand-in"
    identity = None

    def __init__(self, play: Play, asks: Labeler | None) -> None:
        self._play, self._asks = play, asks

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        if self._asks is not None:
            await self._asks.label(claim, document, meter)
        return EvidenceLabel(
            claim=claim.number, document=document.number, label=self._play.label(document.number)
        )


class _TableLabels(_Labels):
    """The same of a labeler that judges many pairs at once."""

    def __init__(self, play: Play, asks: TableLabeler) -> None:
        super().__init__(play, asks)
        self._table = asks

    async def label_all(
        self, pairs: Sequence[Pair], meter: UsageMeter, on_label: Callable[[EvidenceLabel], None]
    ) -> None:
        def told(verdict: EvidenceLabel) -> None:
            if verdict.label is not Label.UNLABELLED:
                label = self._play.label(verdict.document)
                verdict = verdict.model_copy(update={"label": label})
            on_label(verdict)

        await self._table.label_all(pairs, meter, told)


def labels_of(play: Play, asks: Labeler | None) -> Labeler:
    """A labeler that makes the calls of another, and whose labels are those of the play.

    Args:
        play: The play.
        asks: A labeler of counting models; None for one without calls. Of two stages, the first
            gives the labels by which the second is asked.
    """
    if isinstance(asks, Cascade):
        return asks.with_each(partial(labels_of, play))
    return _TableLabels(play, asks) if isinstance(asks, TableLabeler) else _Labels(play, asks)
