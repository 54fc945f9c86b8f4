"""The NLI labeler, which compares a claim with each window of a document."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import log
from pathlib import Path
from typing import Any

from conflictscore.errors import ContextWindowError, FailureKind
from conflictscore.labelers.calibration import UNCALIBRATED, Calibration, read_calibration, rounded
from conflictscore.labelers.denials import denied_in
from conflictscore.labelers.nli.adapted import NLI_MPNET
from conflictscore.labelers.nli.model import NliModel, TokenPair, resolve, shared_model
from conflictscore.labelers.nli.overruling import Overruling, overruling
from conflictscore.labelers.nli.pitfalls import explained, pitfall
from conflictscore.labelers.nli.windows import CutDocument, Premises, date_of, premise_tokens
from conflictscore.labelers.protocol import Pair
from conflictscore.labelers.verdicts import unlabelled
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, EvidenceLabel, Label
from conflictscore.threads import in_thread

CALIBRATION_FILE = "calibration.json"
"""The file in a calibrated model's folder that contains a ``FittedCalibration``."""

_READING = 11
"""Version of the way in which documents are read; part of the key of stored verdicts.

The number is increased whenever a change affects the verdicts: what they contain, how documents are
split or presented, or how the deciding window is chosen. Version 3 added probabilities, version 4
doubts, version 5 the handling of denials, and version 6 dates and the context of windows. Since
version 7, an undoubted window of a long document overrules a doubtful one. Since version 8, rules
on quantities and word order overrule a label. Version 9 restricts these rules, and which texts are
read as denials. Version 10 knows more units, and treats equal digits as equal numbers. Version 11
reads dates in figures, such as 31.12.1931, and compares listed words with accents in folded form.
"""
MOST_DOUBTED = 0.5
"""Maximum ``score`` of a label that a linguistic trap (``pitfalls.py``) makes doubtful.

All default thresholds of a cascade are higher, so a cascade asks its judge about such a label
(``docs/findings/traps.md``).
"""
_OPPOSITE = {Label.SUPPORTS: Label.CONTRADICTS, Label.CONTRADICTS: Label.SUPPORTS}
_SURE = 0.8
"""If a label has at least this probability, a rule that agrees with it changes nothing; chosen by
hand."""
_MANY_WINDOWS = 16
"""Minimum number of windows of a document to which :func:`undoubted_window` applies its rule.

For shorter documents, the rule did not improve the labels. The exact number was chosen by hand.
"""
_MOST_TRIED = 8
"""At most this many windows on the opposite side are searched for traps. The search takes time, and
up to 128 windows of a document are read. The number was chosen, not measured."""
_WINDOWS_A_THREAD = 4
"""Number of windows that each thread reads between two checks of the remaining time. With fewer
windows, threads would wait for one another more often. With more, a run could exceed its time limit
by a longer time. Chosen by hand.
"""


@dataclass
class _Reading:
    """A pair that is being processed, with its windows and the results so far."""

    claim: Claim
    """The claim; if it is a denial, its text is the statement that it denies."""
    is_denial: bool
    document: Document
    premises: Premises
    token_pairs: list[TokenPair]
    """The tokens of the premise and of the claim, for each window."""
    logprobs: list[dict[Label, float]] = field(default_factory=list)
    """The model's log-probabilities for each window that has been read so far."""
    error: str | None = None


class NliLabeler:
    """A judge that is a cross-encoder for natural language inference.

    The model reads each window of a document as the premise, and the claim as the hypothesis.
    Entailment is SUPPORTS, contradiction is CONTRADICTS, and neutral is IRRELEVANT.
    :func:`~conflictscore.labelers.nli.labeler.deciding_window` chooses the window that decides. The
    deciding window is the snippet, and ``score`` is the calibrated probability of its label. A
    linguistic trap (:mod:`~conflictscore.labelers.nli.pitfalls`) may make a label doubtful. Then
    ``reasoning`` names the trap, and ``score`` is at most 0.5, so that a cascade asks its judge. If
    a rule overrules the model (:mod:`~conflictscore.labelers.nli.overruling`), ``score`` is also at
    most 0.5, and ``reasoning`` names the rule. If a document has more than 128 windows, only the
    128 nearest to the claim are read, or the first 128 if no window has a word in common with the
    claim. For such a document, ``document_cut`` is set.

    The model runs in this process, and its use does not count as a call of a language model.
    """

    reads_dates = True
    """Whether verdicts depend on the date of a document, which is read before each window."""
    embedded = True
    """Whether the labeler is one of the small judges of this package, which miss some evidence."""

    def __init__(self, model: NliModel, *, calibration: Calibration | None = None) -> None:
        """Make the judge; by default, any calibration in the model's folder is used."""
        self._model = model
        self._at_once = model.threads * _WINDOWS_A_THREAD
        file = model.folder / CALIBRATION_FILE
        if calibration is None and file.exists():
            calibration = read_calibration(file, model=model.sha256)
        self.calibration = calibration or UNCALIBRATED
        self.name = f"nli({model.folder.name})"
        ours = model.folder in (resolve(None), NLI_MPNET.folder)
        # our models are for English only, as their cards say; a user's own may read any script
        self.scripts = frozenset({"LATIN"}) if ours else None
        self.identity: dict[str, Any] = {
            "labeler": "nli",
            "model": model.sha256,
            "pair_tokens": model.pair_tokens,
            "calibration": self.calibration.model_dump(mode="json"),
            "reading": _READING,
        }

    @classmethod
    def open(
        cls,
        model: str | Path | None = None,
        *,
        calibration: Calibration | None = None,
    ) -> "NliLabeler":
        """Open the judge; its model is loaded only once per process.

        Args:
            model: ``nli-mpnet`` for the larger model, which must be downloaded, or a folder that
                contains ``model.onnx``, ``tokenizer.json`` and ``config.json``. The default is the
                bundled model.
            calibration: See the constructor.

        Raises:
            ConfigurationError: The extra ``nli`` or a file is missing, or the model is not
                suitable.
        """
        return cls(shared_model(model), calibration=calibration)

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        """Judge one pair; see :class:`~conflictscore.labelers.protocol.Labeler`."""
        return self._verdict(await self._read_one(claim, document))

    async def label_all(
        self, pairs: Sequence[Pair], meter: UsageMeter, on_label: Callable[[EvidenceLabel], None]
    ) -> None:
        """Judge many pairs; see :class:`~conflictscore.labelers.protocol.TableLabeler`."""
        async for reading in self._read(pairs):
            on_label(self._verdict(reading))

    async def logprobs(
        self, claim: Claim, document: Document, meter: UsageMeter
    ) -> dict[Label, float]:
        """Return the natural log-probability of each label in the deciding window, uncalibrated.

        Raises:
            ContextWindowError: The claim is too long.
            ProviderError: The model failed.
        """
        reading = await self._read_one(claim, document)
        # a calibration is fitted on this window, so the window must not depend on a calibration
        windows = [UNCALIBRATED.probabilities(logprobs) for logprobs in reading.logprobs]
        # a probability may be rounded to 0, which has no logarithm
        return {k: log(max(p, 1e-30)) for k, p in windows[deciding_window(windows)].items()}

    async def _read_one(self, claim: Claim, document: Document) -> _Reading:
        [reading] = [reading async for reading in self._read([(claim, document)])]
        if reading.error is not None:
            raise ContextWindowError(reading.error)
        return reading

    async def _read(self, pairs: Sequence[Pair]) -> AsyncIterator[_Reading]:
        """Run the model, and yield each pair when all its windows have been read."""
        groups = self._groups(pairs)
        # in a thread, since cutting long documents into windows takes time, too
        while group := await in_thread(partial(next, groups, None)):
            windows = [pair for reading in group for pair in reading.token_pairs]
            logprobs: list[dict[Label, float]] = []
            for reading in group:
                count = len(reading.token_pairs)
                while len(logprobs) < count:
                    some, windows = windows[: self._at_once], windows[self._at_once :]
                    logprobs += await in_thread(partial(self._model.logits, some))
                own, logprobs = logprobs[:count], logprobs[count:]
                reading.logprobs = [*map(_exchanged, own)] if reading.is_denial else own
                yield reading

    def _groups(self, pairs: Sequence[Pair]) -> Iterator[list[_Reading]]:
        """Yield the pairs, in order, in groups that are large enough to keep all threads busy."""
        cut: dict[tuple[int, str, str, str], CutDocument] = {}
        group: list[_Reading] = []
        for claim, document in pairs:
            group.append(self._prepared(claim, document, cut))
            if sum(len(reading.token_pairs) for reading in group) >= self._at_once:
                yield group
                group = []
        if group:
            yield group

    def _prepared(
        self, claim: Claim, document: Document, cut: dict[tuple[int, str, str, str], CutDocument]
    ) -> _Reading:
        tokenizer, most = self._model.tokenizer, self._model.most_tokens
        if (denied_statement := denied_in(claim.text)) is not None:
            claim = claim.model_copy(update={"text": denied_statement})
        make_reading = partial(_Reading, claim, denied_statement is not None, document)
        tokens = tokenizer.count(claim.text)
        size = premise_tokens(tokens, self._model.pair_tokens, tokenizer.marks)
        if tokens + size + tokenizer.marks > most:
            error = (
                f"the claim has {tokens} tokens and leaves no room for a document:"
                f" {self.name} reads at most {most} tokens of both together"
            )
            return make_reading(Premises((), (), cut=False), [], error=error)
        content = (size, document.title, document.text, date_of(document))
        if content not in cut:
            cut[content] = CutDocument(document, size, tokenizer.vocabulary)
        document_premises = cut[content].near(claim.text)
        return make_reading(document_premises, tokenizer.pairs(document_premises.texts, claim.text))

    def _verdict(self, reading: _Reading) -> EvidenceLabel:
        """Return the verdict of the deciding window, or of a rule that overrules it."""
        if reading.error is not None:
            pair = (reading.claim, reading.document)
            return unlabelled(pair, reading.error, FailureKind.NO_ROOM)
        # the window is chosen by uncalibrated probabilities, as it was when the calibration was
        # fitted
        windows = [UNCALIBRATED.probabilities(window) for window in reading.logprobs]
        place, trap = undoubted_window(reading.claim.text, windows, reading.premises.windows)
        probabilities = self.calibration.probabilities(reading.logprobs[place])
        note = explained(trap) if trap else None
        label = verdict_on(probabilities)
        most = probabilities[label]
        if (change := self._change(reading, place, label)) is not None:
            decided = change.probabilities
            decided = _exchanged(decided) if reading.is_denial else decided
            if verdict_on(decided) is not label:
                probabilities, note = decided, change.why
                label = verdict_on(probabilities)
                most = probabilities[label]
            elif most < _SURE:
                probabilities = decided  # the model's score is kept
        score = 1.0 if note is None else MOST_DOUBTED
        snippet = reading.premises.windows[place].strip() or None
        return EvidenceLabel(
            claim=reading.claim.number,
            document=reading.document.number,
            label=label,
            score=min(score, most),
            probabilities=rounded(probabilities),
            reasoning=note,
            snippet=snippet,
            snippet_found=True if snippet else None,
            document_cut=reading.premises.cut,
        )

    def _change(self, reading: _Reading, place: int, label: Label) -> Overruling | None:
        """Return the rule that overrules the label, if any. A denial is read as what it denies."""
        if reading.is_denial:
            label = _OPPOSITE.get(label, label)
        passage = reading.premises.windows[place]
        return overruling(reading.claim.text, passage, reading.document, label)


def _exchanged(by_label: Mapping[Label, float]) -> dict[Label, float]:
    return {_OPPOSITE.get(label, label): number for label, number in by_label.items()}


def verdict_on(window: Mapping[Label, float]) -> Label:
    """Return the likelier side if it is likelier than IRRELEVANT, else IRRELEVANT."""
    side = max((Label.SUPPORTS, Label.CONTRADICTS), key=window.__getitem__)
    return side if window[side] > window[Label.IRRELEVANT] else Label.IRRELEVANT


def undoubted_window(
    claim: str, windows: Sequence[Mapping[Label, float]], texts: Sequence[str]
) -> tuple[int, str | None]:
    """Return the index of the window that decides, and the trap that makes it doubtful, if any.

    A trap may make the deciding window of a long document doubtful. If some windows on the opposite
    side are free of traps, the strongest of these decides instead, since one of many windows may
    resemble the claim without being about it.

    Args:
        claim: The text of the claim.
        windows: The probability of each label, by window.
        texts: The windows as they appear in the document.
    """
    first = deciding_window(windows)
    label = verdict_on(windows[first])
    trap = pitfall(claim, texts[first], label)
    if trap is None or len(windows) < _MANY_WINDOWS:
        return first, trap
    other = _OPPOSITE[label]
    on_other_side = [place for place, each in enumerate(windows) if verdict_on(each) is other]
    for place in sorted(on_other_side, key=lambda place: -windows[place][other])[:_MOST_TRIED]:
        if pitfall(claim, texts[place], other) is None:
            return place, None
    return first, trap


def deciding_window(windows: Sequence[Mapping[Label, float]]) -> int:
    """Return the index of the window that decides the label of the document.

    Among the windows that take a side, the deciding window is the one whose side is the most
    probable; on a tie, the first. So if a document both supports and contradicts the claim, its
    label is the side that it states more strongly. A document is IRRELEVANT only if no window takes
    a side. If no window does, the window that comes closest to taking a side represents the
    document.
    """

    def strength(place: int) -> tuple[bool, float]:
        window = windows[place]
        speaks = verdict_on(window) is not Label.IRRELEVANT
        return speaks, max(window[Label.SUPPORTS], window[Label.CONTRADICTS])

    return max(range(len(windows)), key=strength)
