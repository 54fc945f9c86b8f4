"""The cascade: easy pairs are settled cheaply, and the judge sees only the hard ones."""

import re
import unicodedata
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from conflictscore.labelers.calibration import Calibration
from conflictscore.labelers.protocol import Labeler, Pair, has_learned
from conflictscore.labelers.stages import Place, TwoStages, decided_by
from conflictscore.records import Claim, Document, EvidenceLabel, Label
from conflictscore.scripts import script_of

__all__ = ["WORDS", "Cascade", "Certain", "open_cascade"]

WORDS = "words"
"""The stage that compares words, and bears out what the cheap labeler finds irrelevant."""

_WORD = re.compile(r"\w+")
_LEAST_LETTERS = 4
_STEM_LETTERS = 5
_LEAST_WORDS = 3
"""A claim of fewer telling words may well be put in others."""
_FIRST_WITHOUT_SPACES = "\u0e00"
"""All scripts without spaces between words, such as Thai and Han, are from this letter on."""


class Certain(NamedTuple):
    """The score from which a verdict of the cheap labeler stands, 0 to 1, by its label.

    By default those from which the bundled NLI model is right in three of four verdicts that take
    a side, and in 87 of 100 that take none: an IRRELEVANT too many hides a conflict
    (docs/labelers.md).
    """

    supports: float = 0.6
    contradicts: float = 0.6
    irrelevant: float = 0.75

    @classmethod
    def of(cls, nli_model: str | Path | None) -> "Certain":
        """Those of an NLI model, by its name or folder; ``nli-mpnet`` has its own."""
        from conflictscore.labelers.nli.adapted import NLI_MPNET

        return cls(0.6, 0.75, 0.85) if nli_model == NLI_MPNET.name else cls()

    @classmethod
    def from_score(cls, score: float) -> "Certain":
        """The same for each label."""
        return cls(score, score, score)

    def allows(self, verdict: EvidenceLabel) -> bool:
        """Whether the verdict may stand."""
        least = {
            Label.SUPPORTS: self.supports,
            Label.CONTRADICTS: self.contradicts,
            Label.IRRELEVANT: self.irrelevant,
        }.get(verdict.label)
        return least is not None and verdict.score is not None and verdict.score >= least


class Cascade(TwoStages):
    """Three stages; the first that is certain of a pair decides it, and its label says which.

    First the cheap labeler, where its score is high enough. Then the words: what it finds
    irrelevant with less certainty stands where the document shares no telling word with the claim.
    (By itself that shows little: a short document may well put the same in other words.) The judge
    gets what is left, and beside that every verdict of the cheap labeler on which alone a conflict
    rests: one that is the only one of its side, where the cheap labeler or the judge has found the
    other side.
    """

    def __init__(
        self, cheap: Labeler, judge: Labeler | None = None, certain: Certain | None = None
    ) -> None:
        """Make the cascade.

        Args:
            cheap: A labeler with calibrated scores, such as ``NliLabeler``.
            judge: What decides the hard pairs, such as ``JsonJudge`` or ``BatchJudge``. None leaves
                that to the run it is given to: the judge that the run would have without a cascade.
            certain: When a cheap verdict may stand; by default as :class:`Certain` says.
        """
        self._certain = Certain() if certain is None else certain
        words = [_LEAST_LETTERS, _STEM_LETTERS, _LEAST_WORDS]
        settings = {"certain": self._certain._asdict(), "no_shared_words": words}
        super().__init__("cascade", cheap, judge, settings)

    @property
    def complete(self) -> bool:
        """Whether it has a judge."""
        return self._set_judge is not None

    def with_judge(self, judge: Labeler) -> "Cascade":
        """The same cascade with this judge."""
        return Cascade(self._cheap, judge, self._certain)

    def with_each(self, change: Callable[[Labeler], Labeler]) -> "Cascade":
        """The same cascade with each of its labelers changed."""
        return Cascade(change(self._cheap), change(self._judge), self._certain)

    def _settled(self, pair: Pair, verdict: EvidenceLabel) -> EvidenceLabel | None:
        if self._certain.allows(verdict) and has_learned(self._cheap, pair[0]):
            return decided_by(self._cheap, verdict)
        if verdict.label is Label.IRRELEVANT and _share_no_word(*pair):
            return verdict.model_copy(update={"stage": WORDS})
        return None

    def _deciding(
        self, cheap: Collection[EvidenceLabel], judged: Sequence[EvidenceLabel]
    ) -> list[Place]:
        """Those without which their claim would have only one side."""
        sides: dict[int, dict[Label, list[Place | None]]] = {}
        for verdict in judged:
            if verdict.label in (Label.SUPPORTS, Label.CONTRADICTS):
                sides.setdefault(verdict.claim, {}).setdefault(verdict.label, []).append(None)
        for verdict in cheap:
            place = (verdict.claim, verdict.document)
            sides.setdefault(verdict.claim, {}).setdefault(verdict.label, []).append(place)
        opposed = (side for both in sides.values() if len(both) == 2 for side in both.values())
        return [side[0] for side in opposed if len(side) == 1 and side[0] is not None]


def open_cascade(
    nli_model: str | Path | None = None,
    calibration: Calibration | Path | None = None,
    certain: float | None = None,
) -> Cascade:
    """Open a cascade of an NLI model and the judge of the run.

    Args:
        nli_model: The model's folder; ``nli-mpnet`` for the larger model; None for the bundled one.
        calibration: The model's calibration, or the file of one.
        certain: The score from which its verdicts stand, 0 to 1, whichever the label; by default
            those from which this model is right as often as :class:`Certain` says.

    Raises:
        ConfigurationError: The extra ``nli`` or a file is missing, or the model does not fit.
    """
    from conflictscore.labelers.nli.labeler import open_nli

    scores = Certain.of(nli_model) if certain is None else Certain.from_score(certain)
    return Cascade(open_nli(nli_model, calibration), certain=scores)


def _share_no_word(claim: Claim, document: Document) -> bool:
    """Whether, as far as can be seen, a document has no telling word or number of a claim."""
    telling = _telling(claim.text)
    spaced = all(letter < _FIRST_WITHOUT_SPACES for letter in claim.text if letter.isalpha())
    if len(telling) < _LEAST_WORDS or not spaced:
        return False
    text = f"{document.title} {document.text}"
    return telling.isdisjoint(_telling(text)) and script_of(text) in ("", script_of(claim.text))


def _telling(text: str) -> set[str]:
    """Numbers, and the beginnings of words that are not short; without accents."""
    if not text.isascii():
        apart = unicodedata.normalize("NFKD", text)
        text = "".join(letter for letter in apart if not unicodedata.combining(letter))
    return {
        word[:_STEM_LETTERS]
        for word in _WORD.findall(text.casefold())
        if len(word) >= _LEAST_LETTERS or word.isdecimal()
    }
