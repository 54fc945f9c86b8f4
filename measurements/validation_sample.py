"""Claims of the nine validation sets that labelers are compared on.

With ten claims a set and seed 0 these are the 85 claims with 308 pairs of the page
docs/findings/labelers.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from conflictscore.benchmarks.conflict_detection.data import balanced
from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup
from conflictscore.benchmarks.harness.question_sample import lot
from conflictscore.benchmarks.json_lines import read_json_lines
from conflictscore.errors import InputError
from training.groups import validation_groups
from training.human import data_files, label_files, labelled_pairs
from training.pairs import Pair
from training.question_pairs import measured_pairs
from training.questions import questions_in

__all__ = [
    "answers_sample",
    "by_lot",
    "places_of",
    "sample_options",
    "validation_claims",
    "validation_sample",
]

_SIBLINGS = 8
"""The most claims on the same documents that one claim brings, itself counted."""


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


def validation_sample(data: Sequence[Path], size: int, seed: int) -> list[ClaimGroup]:
    """Claims of every set, with their question where the set has one.

    Args:
        data: Folders or files of people's labels.
        size: At most so many claims a set.
        seed: Of the draw.

    Raises:
        InputError: A file cannot be read, or none has labels.
    """
    validation, questions = _labelled(data)
    every = validation_groups(validation)
    sample = with_siblings(balanced(every, size, seed), every, size, _SIBLINGS, seed)
    return [_asked(group, questions) for group in sample]


def validation_claims(data: Sequence[Path]) -> list[ClaimGroup]:
    """All validation claims; arguments and errors as of :func:`validation_sample`."""
    return validation_groups(_labelled(data)[0])


def _labelled(
    data: Sequence[Path],
) -> tuple[list[Pair], dict[tuple[str, str], str]]:
    files = label_files(data_files([*data]))
    if not files:
        raise InputError("--data: there is no folder labels/ with people's labels in it")
    return labelled_pairs(files)[1], _questions(files)


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


def in_tables(groups: Iterable[ClaimGroup], claims: int) -> list[list[ClaimGroup]]:
    """The groups, those of a set that have the same documents together.

    Args:
        groups: In any order; the first of each table keeps its place.
        claims: The most groups of a table, at least 1.
    """
    tables: list[list[ClaimGroup]] = []
    filling: dict[tuple[str, tuple[tuple[str, str], ...]], list[ClaimGroup]] = {}
    for group in groups:
        shown = (group.set, tuple((one.text, one.title) for one in group.documents))
        table = filling.get(shown)
        if table is None or len(table) == claims:
            table = filling[shown] = []
            tables.append(table)
        table.append(group)
    return tables


def with_siblings(
    drawn: Iterable[ClaimGroup], groups: Iterable[ClaimGroup], size: int, claims: int, seed: int
) -> list[ClaimGroup]:
    """Fewer of the claims that were drawn, each with others on the same documents.

    Claims are taken by lot, and each brings others of its set, until the set has enough: a sample
    of the same size, to be judged in tables. Claims in conflict are half of it only as far as
    siblings happen to be.

    Args:
        drawn: A balanced sample.
        groups: All there are, in the order that is kept.
        size: At most so many a set.
        claims: The most on the same documents that one claim brings, itself counted, at least 1.
        seed: Of the draw.
    """
    kept = list(groups)
    alike: dict[tuple[str, str], list[ClaimGroup]] = {}
    for table in in_tables(kept, len(kept)):
        by_lot = sorted(table, key=lambda one: lot("groups", seed, one.id))
        alike |= {(group.set, group.id): by_lot for group in table}
    taken: dict[str, set[str]] = {}
    for group in sorted(drawn, key=lambda one: lot("groups", seed, one.id)):
        ids = taken.setdefault(group.set, set())
        if group.id in ids:
            continue
        others = [o for o in alike[group.set, group.id] if o.id != group.id and o.id not in ids]
        ids |= {one.id for one in [group, *others][: min(claims, size - len(ids))]}
    return [group for group in kept if group.id in taken.get(group.set, set())]


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
