"""The claims of the nine validation sets that labelers are compared on, and their neighbours.

With ten claims a set and seed 0 these are the 85 claims with 308 pairs of docs/benchmarks.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from textwrap import shorten
from typing import Any, NamedTuple

import click

from conflictscore.benchmarks.conflict_detection.data import balanced, with_siblings
from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup, in_tables
from conflictscore.benchmarks.harness.selection import lot
from conflictscore.benchmarks.json_lines import read_json_lines
from conflictscore.errors import InputError
from conflictscore.records import Label
from conflictscore.retrieval.ranking import BM25Ranker
from conflictscore.scripts import terms_in
from training.evaluate import validation_groups
from training.human import label_files, labelled_pairs
from training.pairs import Pair
from training.passages import data_files
from training.question_pairs import measured_pairs
from training.questions import questions_in
from training.sentences import sentences_of

__all__ = [
    "Example",
    "Neighbours",
    "answers_sample",
    "by_lot",
    "excerpt",
    "places_of",
    "sample_options",
    "validation_claims",
    "validation_sample",
]

_SIBLINGS = 8
"""The most claims on the same documents that one claim brings, itself counted."""
_LABELS = (Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT)
_EXCERPT_CHARS = 240
_CLAIM_CHARS = 200


def sample_options(command: Any) -> Any:
    """Give a command ``--data``, ``--groups`` and ``--seed``, which say what the sample is."""
    for option in (
        click.option("--seed", default=0, show_default=True),
        click.option("--groups", default=10, show_default=True, help="Claims a set."),
        click.option(
            "--data",
            multiple=True,
            required=True,
            metavar="DIR",
            type=click.Path(exists=True, path_type=Path),
            help="The folder labels/, and with --answers also the folder ramdocs/.",
        ),
    ):
        command = option(command)
    return command


class Example(NamedTuple):
    """A labelled pair, short enough to stand in a prompt."""

    claim: str
    excerpt: str
    label: Label


class Neighbours:
    """Pairs that people labelled and that nothing is measured on, found by their claim."""

    def __init__(self, pairs: Iterable[Pair]) -> None:
        self._by_claim: dict[str, dict[Label, Pair]] = {}
        for pair in pairs:
            self._by_claim.setdefault(pair.claim, {}).setdefault(Label(pair.label), pair)
        self._claims = [*self._by_claim]
        self._ranker = BM25Ranker(self._claims)

    def of(self, claim: str) -> list[Example]:
        """Of each label the pair whose claim is nearest: one too often shown is one too often said.

        Args:
            claim: Any text.
        """
        scores = self._ranker.scores(claim)
        nearest = sorted(range(len(scores)), key=lambda place: -scores[place])
        found = []
        for label in _LABELS:
            rows = (self._by_claim[self._claims[place]] for place in nearest)
            pair = next((row[label] for row in rows if label in row), None)
            if pair is not None:
                said = shorten(pair.claim, _CLAIM_CHARS, placeholder=" ...")
                found.append(Example(said, excerpt(pair.claim, pair.document), label))
        return found


def excerpt(claim: str, document: str) -> str:
    """The sentence of a document that shares most words with a claim, cut to 240 characters."""
    wanted = set(terms_in(claim))
    sentences = sentences_of(document) or [document]
    nearest = max(sentences, key=lambda sentence: len(wanted & set(terms_in(sentence))))
    return shorten(nearest, _EXCERPT_CHARS, placeholder=" ...")


def validation_sample(
    data: Sequence[Path], size: int, seed: int
) -> tuple[list[ClaimGroup], Neighbours]:
    """Claims of every set, with their question where the set has one; and what may be shown.

    Args:
        data: Folders or files of people's labels.
        size: At most so many claims a set.
        seed: Of the draw.

    Raises:
        InputError: A file cannot be read, or none has labels.
    """
    training, validation, questions = _labelled(data)
    every = validation_groups(validation)
    sample = with_siblings(balanced(every, size, seed), every, size, _SIBLINGS, seed)
    return [_asked(group, questions) for group in sample], Neighbours(training)


def validation_claims(data: Sequence[Path]) -> list[ClaimGroup]:
    """All claims that are measured on; arguments and errors as of :func:`validation_sample`."""
    return validation_groups(_labelled(data)[1])


def _labelled(
    data: Sequence[Path],
) -> tuple[list[Pair], list[Pair], dict[tuple[str, str], str]]:
    files = label_files(data_files([*data]))
    if not files:
        raise InputError("--data: there is no folder labels/ with people's labels in it")
    return *labelled_pairs(files), _questions(files)


def answers_sample(data: Sequence[Path], size: int, seed: int) -> list[ClaimGroup]:
    """Answers to RAMDocs' questions that are measured on, as statements beside their question.

    Args:
        data: Folders or files; without RAMDocs among them there is none.
        size: At most so many claims.
        seed: Of the draw.
    """
    asked: dict[str, str] = {}
    pairs: list[Pair] = []
    for question in questions_in(data_files([*data])):
        for pair in measured_pairs([question]):
            if pair.source == "ramdocs_statements":
                asked.setdefault(pair.claim, question.text)
                pairs.append(pair)
    groups = balanced(validation_groups(pairs), size, seed) if size > 1 else []
    return [group.model_copy(update={"question": asked[group.claim]}) for group in groups]


def by_lot(groups: Sequence[ClaimGroup], seed: int) -> list[ClaimGroup]:
    """The groups in an order of which any beginning is a sample; same documents stay together."""
    tables = in_tables(groups, _SIBLINGS)
    drawn = sorted(tables, key=lambda table: lot("judge-variants", seed, table[0].claim))
    return [group for table in drawn for group in table]


def places_of(groups: Iterable[ClaimGroup]) -> list[tuple[ClaimGroup, int]]:
    """The pairs of claims that people labelled: each claim, and the number of a document."""
    return [
        (group, number)
        for group in groups
        for number, document in enumerate(group.documents, start=1)
        if document.label is not None
    ]


def _questions(files: Iterable[Path]) -> dict[tuple[str, str], str]:
    return {
        (path.stem.removesuffix("_groups").removesuffix("_pairs"), record["claim"].strip()): asked
        for path in files
        for _, record in read_json_lines(path)
        if (asked := (record.get("question") or "").strip())
    }


def _asked(group: ClaimGroup, questions: Mapping[tuple[str, str], str]) -> ClaimGroup:
    question = questions.get((group.set, group.claim), "")
    return group.model_copy(update={"question": question}) if question else group
