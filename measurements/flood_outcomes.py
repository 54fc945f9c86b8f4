"""Decisions under a flood of copies, computed question by question and stored."""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

from conflictscore.errors import InputError
from conflictscore.labelers.nli.labeler import NliLabeler
from conflictscore.metric import conflictscore_ratio
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.second_look.vote import outcome as voted
from conflictscore.nodes.second_look.vote import tallied
from conflictscore.records import (
    Claim,
    ClaimEvidence,
    Document,
    Duplicates,
    EvidenceLabel,
    Label,
)
from conflictscore.retrieval.domains import voices
from conflictscore.retrieval.duplicates import mark_duplicates
from conflictscore.storage.cache import content_key
from conflictscore.storage.record_file import RecordFile, json_line
from measurements.flood_cases import COPIES, OPPOSITE, Case, Question

__all__ = [
    "DEFENCES",
    "CleanQuestion",
    "FloodedCase",
    "KeptResults",
    "Outcome",
    "outcome",
    "without_copies",
    "work_out",
]

_LABELLED = 2
"""Copies whose label is measured."""
DEFENCES: dict[str, tuple[Duplicates, bool]] = {
    "none": ("vote", False),
    "words": ("once", False),
    "domain, copies at one": ("domain", True),
    "domain, copies at many": ("domain", False),
}
"""By name: what counts once, and whether all copies are at one domain."""


class Outcome(NamedTuple):
    """Decision on a case.

    Attributes:
        given_up: Whether the documents' vote replaces the claim by its opposite.
        corrected: Whether it replaces the opposite by the claim.
        cs_r: CS-R of the claim, in [0, 1].
    """

    given_up: bool
    corrected: bool
    cs_r: float


def outcome(
    sides: Sequence[Label], documents: Sequence[Document], duplicates: Duplicates
) -> Outcome:
    """Decide a case by its voices.

    Args:
        sides: What each document says.
        documents: With their near-duplicates marked.
        duplicates: What documents that are not independent count.
    """
    once: Mapping[int, int] = {}
    if duplicates != "vote":
        near = {d.number: d.duplicate_of for d in documents if d.duplicate_of}
        once = voices(documents) if duplicates == "domain" else near

    def evidence(swapped: Mapping[Label, Label]) -> ClaimEvidence:
        labels = (
            EvidenceLabel(claim=1, document=one.number, label=swapped.get(side, side))
            for one, side in zip(documents, sides, strict=True)
        )
        return ClaimEvidence(claim=Claim(number=1, text="claim"), labels=tuple(labels))

    claim, opposite = evidence({}), evidence(OPPOSITE)

    def replaced(one: ClaimEvidence, other: ClaimEvidence) -> bool:
        candidates = tallied((one, other), ((), other.supports), once)
        return voted(candidates).kind == "replace"

    return Outcome(
        given_up=replaced(claim, opposite),
        corrected=replaced(opposite, claim),
        cs_r=conflictscore_ratio([claim], once) or 0.0,
    )


class KeptResults:
    """Results in a file that is only added to, by what they depend on."""

    def __init__(self, file: RecordFile) -> None:
        """Read what an earlier run left.

        Args:
            file: The file.

        Raises:
            InputError: It is another command's.
        """
        self._file = file
        self._kept: dict[str, dict[str, Any]] = {}
        for line in file.lines:
            try:
                record = json.loads(line.text)
                self._kept[record["of"]] = record["result"]
            except (ValueError, TypeError, KeyError):
                where = f"{file.lines.path}, row {line.number}"
                raise InputError(f"{where}: no flood's result; give another --out") from None
        file.resume()

    def of(self, content: Mapping[str, Any], work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The result for this content: kept, or worked out now and kept.

        Args:
            content: What the result depends on.
            work: What works it out.
        """
        key = content_key(content)
        if key not in self._kept:
            result = work()
            self._file.append(json_line({"of": key, "result": result}))
            self._kept[key] = result
        return self._kept[key]


@dataclass(frozen=True)
class FloodedCase:
    """Effect of one kind of flood on a case.

    Attributes:
        outcomes: For each defence and number of copies the outcome before, and after.
        contradicts: Whether the document contradicts the claim by the bundled NLI model.
        copies_contradict: Whether two of its copies do.
        denial_contradicts: Whether a source does that denies the claim.
    """

    outcomes: tuple[tuple[str, int, Outcome, Outcome], ...]
    contradicts: bool
    copies_contradict: tuple[bool, ...]
    denial_contradicts: bool


def work_out(
    case: Case, copies: Sequence[str], labeler: NliLabeler, kept: KeptResults
) -> FloodedCase:
    """Flood a case with copies.

    Args:
        case: The case.
        copies: Of its last document.
        labeler: Who says what each copy says.
        kept: Where the result is kept.
    """

    def denies(text: str) -> bool:
        claim, document = Claim(number=1, text=case.claim), Document(number=1, text=text)
        verdict = asyncio.run(labeler.label(claim, document, UsageMeter()))
        return verdict.label is Label.CONTRADICTS

    def work() -> dict[str, Any]:
        denial = f"Whoever says so is wrong. It is not true that {case.claim}"
        return {
            "outcomes": [*_flooded(case, copies)],
            "contradicts": denies(case.texts[-1]),
            "copies_contradict": [denies(text) for text in copies[:_LABELLED]],
            "denial_contradicts": denies(denial),
        }

    content = {
        "flood": [*case, copies, COPIES, "vote"],
        "by": labeler.identity,
    }
    result = kept.of(content, work)
    return FloodedCase(
        outcomes=tuple(
            (name, count, Outcome(*before), Outcome(*after))
            for name, count, before, after in result["outcomes"]
        ),
        contradicts=result["contradicts"],
        copies_contradict=tuple(result["copies_contradict"]),
        denial_contradicts=result["denial_contradicts"],
    )


def _flooded(case: Case, copies: Sequence[str]) -> Iterator[tuple[str, int, Outcome, Outcome]]:
    """For each defence and number of copies the outcome before, with one copy, and after."""
    sides = (*case.sides, *[Label.CONTRADICTS] * len(copies))
    one = len(case.texts)
    for name, (duplicates, one_domain) in DEFENCES.items():
        documents = mark_duplicates(_documents(case, copies, one_domain=one_domain))
        before = outcome(case.sides, documents[:one], duplicates)
        for count in COPIES:
            if (end := one + count - 1) <= len(documents):
                yield name, count, before, outcome(sides[:end], documents[:end], duplicates)


def _documents(case: Case, copies: Sequence[str], *, one_domain: bool) -> tuple[Document, ...]:
    """The case's documents, each at a domain of its own, and the copies."""
    last = len(case.texts)
    return tuple(
        Document(
            number=number,
            text=text,
            url=f"https://source{last if one_domain and number > last else number}.com/{number}",
        )
        for number, text in enumerate((*case.texts, *copies), start=1)
    )


@dataclass(frozen=True)
class CleanQuestion:
    """Effect of the defences on documents that nobody copied.

    Attributes:
        folded: By defence, for every two documents whether they are one voice.
        opposed: By defence, for those of them whose sides people know whether these are opposite.
        otherwise: By defence, whether another thing is decided; None where sides are not known.
    """

    folded: Mapping[str, Sequence[bool]]
    opposed: Mapping[str, Sequence[bool]]
    otherwise: Mapping[str, bool | None]


def without_copies(question: Question, kept: KeptResults) -> CleanQuestion:
    """Documents of a question that each defence folds, and the decision after that.

    Args:
        question: The question.
        kept: Where the result is kept.
    """
    documents, sides = question

    def work() -> dict[str, Any]:
        folded: dict[str, list[bool]] = {}
        opposed: dict[str, list[bool]] = {}
        otherwise: dict[str, bool | None] = {}
        for name, (duplicates, _) in list(DEFENCES.items())[1:3]:
            marked = mark_duplicates(documents)
            once = {d.number: d.duplicate_of for d in marked if d.duplicate_of}
            if duplicates == "domain":
                once = voices(marked)
            pairs = [
                (once.get(a.number, a.number) == once.get(b.number, b.number), side, other)
                for (a, side), (b, other) in combinations(zip(marked, sides, strict=True), 2)
            ]
            folded[name] = [together for together, _, _ in pairs]
            opposed[name] = [
                OPPOSITE.get(side) is other
                for together, side, other in pairs
                if together and side and other
            ]
            otherwise[name] = None
            if len(known := [side for side in sides if side]) == len(marked):
                plain = outcome(known, marked, "vote")
                counted = outcome(known, marked, duplicates)
                otherwise[name] = plain[:2] != counted[:2]
        return {
            "folded": folded,
            "opposed": opposed,
            "otherwise": otherwise,
        }

    shown = [[one.text, one.url] for one in documents]
    return CleanQuestion(**kept.of({"clean": [shown, sides, "vote"]}, work))
