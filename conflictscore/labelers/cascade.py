"""The cascade: what is easy is settled cheaply, and the judge sees the pairs that are not."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from conflictscore.errors import ConfigurationError
from conflictscore.labelers.asking import judge_pairs
from conflictscore.labelers.protocol import Labeler, Pair
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, EvidenceLabel, Label

__all__ = ["WORDS", "Cascade", "Certain"]

WORDS = "words"
"""The stage that compares words."""

_WORD = re.compile(r"\w+")
_LEAST_LETTERS = 4
_STEM_LETTERS = 5
_LEAST_WORDS = 3
"""A claim of fewer telling words may well be put in others."""
_FIRST_WITHOUT_SPACES = "\u0e00"
"""All scripts without spaces between words, such as Thai and Han, are from this letter on."""


class Certain(NamedTuple):
    """How probable a verdict of the cheap labeler must be to stand, 0 to 1, by its label."""

    supports: float = 0.9
    contradicts: float = 0.9
    irrelevant: float = 0.9

    def allows(self, verdict: EvidenceLabel) -> bool:
        """Whether the verdict may stand."""
        least = {
            Label.SUPPORTS: self.supports,
            Label.CONTRADICTS: self.contradicts,
            Label.IRRELEVANT: self.irrelevant,
        }.get(verdict.label)
        return least is not None and verdict.score is not None and verdict.score >= least


class Cascade:
    """Three stages; the first that is certain of a pair decides it, and its label says which.

    First the words: a document that shares no telling word with a claim is irrelevant to it. Then
    the cheap labeler, where its score is high enough. The judge gets what is left, and beside that
    every verdict on which alone a conflict rests: where the cheap labeler finds both sides, and one
    of them in a single document.

    A pair that the judge could not label is unlabelled, whatever the cheap labeler said of it.
    """

    def __init__(
        self, cheap: Labeler, judge: Labeler | None = None, certain: Certain | None = None
    ) -> None:
        """Make the cascade.

        Args:
            cheap: A labeler with calibrated scores, such as ``NliLabeler``.
            judge: What decides the hard pairs, such as ``JsonJudge`` or ``BatchJudge``. None leaves
                that to the run it is given to: the judge that the run would have without a cascade.
            certain: When a cheap verdict may stand; by default from a score of 0.9 on, whichever
                the label.
        """
        self._cheap, self._set_judge = cheap, judge
        self._certain = Certain() if certain is None else certain
        self.name = f"cascade({cheap.name}, {judge.name if judge else 'the judge of the run'})"
        self.identity: dict[str, Any] | None = None
        if judge is not None and cheap.identity is not None and judge.identity is not None:
            self.identity = {
                "labeler": "cascade",
                "cheap": dict(cheap.identity),
                "judge": dict(judge.identity),
                "certain": self._certain._asdict(),
                "words": [_LEAST_LETTERS, _STEM_LETTERS, _LEAST_WORDS],
            }

    @property
    def complete(self) -> bool:
        """Whether it has a judge."""
        return self._set_judge is not None

    def with_judge(self, judge: Labeler) -> "Cascade":
        """The same cascade with this judge."""
        return Cascade(self._cheap, judge, self._certain)

    @property
    def _judge(self) -> Labeler:
        if self._set_judge is None:
            raise ConfigurationError(f"{self.name} has no judge: give it one, or give it to a run")
        return self._set_judge

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        """Judge one pair; see :class:`~conflictscore.labelers.protocol.Labeler`."""
        if _share_no_word(claim, document):
            return _irrelevant((claim, document))
        verdict = await self._cheap.label(claim, document, meter)
        if self._certain.allows(verdict):
            return _decided_by(self._cheap, verdict)
        return _decided_by(self._judge, await self._judge.label(claim, document, meter))

    async def label_all(
        self, pairs: Sequence[Pair], meter: UsageMeter, on_label: Callable[[EvidenceLabel], None]
    ) -> None:
        """Judge many; see :class:`~conflictscore.labelers.protocol.TableLabeler`."""
        judge, related = self._judge, []
        for pair in pairs:
            if _share_no_word(*pair):
                on_label(_irrelevant(pair))
            else:
                related.append(pair)
        standing: dict[tuple[int, int], EvidenceLabel] = {}
        settled = set()

        def weigh(verdict: EvidenceLabel) -> None:
            if not self._certain.allows(verdict):
                return
            place = (verdict.claim, verdict.document)
            if verdict.label is Label.IRRELEVANT:  # no conflict can rest on it
                settled.add(place)
                on_label(_decided_by(self._cheap, verdict))
            else:
                standing[place] = verdict

        await judge_pairs(self._cheap, related, meter, weigh)
        for place in [*_deciding(list(standing.values()))]:
            del standing[place]
        for verdict in standing.values():
            on_label(_decided_by(self._cheap, verdict))
        settled |= standing.keys()
        hard = [pair for pair in related if (pair[0].number, pair[1].number) not in settled]
        await judge_pairs(judge, hard, meter, lambda said: on_label(_decided_by(judge, said)))


def _deciding(verdicts: Sequence[EvidenceLabel]) -> Iterator[tuple[int, int]]:
    """The verdicts without which their claim would have one side alone."""
    sides: dict[int, dict[Label, list[EvidenceLabel]]] = {}
    for verdict in verdicts:
        sides.setdefault(verdict.claim, {}).setdefault(verdict.label, []).append(verdict)
    for both in sides.values():
        for side in both.values():
            if len(both) == 2 and len(side) == 1:
                yield side[0].claim, side[0].document


def _decided_by(labeler: Labeler, verdict: EvidenceLabel) -> EvidenceLabel:
    return verdict.model_copy(update={"stage": labeler.name})


def _irrelevant(pair: Pair) -> EvidenceLabel:
    claim, document = pair
    return EvidenceLabel(
        claim=claim.number, document=document.number, label=Label.IRRELEVANT, stage=WORDS
    )


def _share_no_word(claim: Claim, document: Document) -> bool:
    """Whether the document surely does not speak of the claim."""
    telling = _telling(claim.text)
    spaced = all(letter < _FIRST_WITHOUT_SPACES for letter in claim.text if letter.isalpha())
    if len(telling) < _LEAST_WORDS or not spaced:
        return False
    return telling.isdisjoint(_telling(f"{document.title} {document.text}"))


def _telling(text: str) -> set[str]:
    """Numbers, and the beginnings of words that are not short."""
    return {
        word[:_STEM_LETTERS]
        for word in _WORD.findall(text.casefold())
        if len(word) >= _LEAST_LETTERS or word.isdecimal()
    }
