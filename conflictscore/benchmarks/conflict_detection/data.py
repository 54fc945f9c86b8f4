"""Reads claims and documents from the sources named by ``--data``."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from conflictscore.benchmarks.conflict_detection.conflictbench import (
    PUBLISHED,
    read_ambigdocs,
    read_conflictingqa,
    read_contraqa,
    read_macnoise,
)
from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup, read_groups
from conflictscore.benchmarks.harness.question_sample import lot
from conflictscore.errors import InputError

FORMATS: Mapping[str, Callable[[Path, int], list[ClaimGroup]]] = {
    "groups": lambda path, seed: read_groups(path),
    "ambigdocs": read_ambigdocs,
    "conflictingqa": read_conflictingqa,
    "contraqa": read_contraqa,
    "macnoise-nq": partial(read_macnoise, name="macnoise-nq"),
    "macnoise-tqa": partial(read_macnoise, name="macnoise-tqa"),
}
"""The reader for each format. A reader takes a seed and the path of a file or folder."""


def named_format(source: str) -> tuple[str, Path]:
    """Split a source into its format and its path; the default format is ``groups``."""
    kind, separator, rest = source.partition(":")
    return (kind, Path(rest)) if separator and kind in FORMATS else ("groups", Path(source))


def read_data(sources: Sequence[str], *, seed: int = 0) -> list[ClaimGroup]:
    """Read several sets of claims, in the given order.

    A source is either the path of a file of groups (see :func:`.groups.read_groups`) or the name
    and path of one of ConflictBench's published sources, such as ``ambigdocs:test.json``. ``seed``
    controls the random choices in ConflictBench's construction.
    """
    groups: dict[str, list[ClaimGroup]] = {}
    for source in sources:
        kind, path = named_format(source)
        # every file is one set, which is named after the file or its format
        groups_read = FORMATS[kind](path, seed)
        if not groups_read:
            raise InputError(f"--data {source}: contains no claims")
        if groups_read[0].set in groups:
            raise InputError(
                f"--data {source}: a set named {groups_read[0].set!r} has already been read; rename"
                " one of the files, or give each only once"
            )
        groups[groups_read[0].set] = groups_read
    return [group for groups_read in groups.values() for group in groups_read]


def balanced(groups: Iterable[ClaimGroup], size: int, seed: int) -> list[ClaimGroup]:
    """From every set, draw up to ``size`` groups, half of them with a conflict.

    If ``size`` is odd, the additional group has a conflict. If a set has too few groups of one
    kind, all of them are drawn. Groups of the other kind still make up half of ``size``, since
    drawing fewer of them would only make their figures less certain.

    A random sample would contain very few conflicts, since they are rare in real evidence. For
    example, a random sample of 66 Factcheck-GPT claims has one conflict. If two samples have the
    same seed, the larger one contains the smaller one.
    """
    return _drawn(groups, lambda name, conflict: (size + conflict) // 2, seed)


def as_published(groups: Iterable[ClaimGroup], seed: int) -> list[ClaimGroup]:
    """From every set, draw as many groups with and without a conflict as ConflictBench has.

    If a set has fewer groups with a conflict than ConflictBench, all of them are returned. The same
    applies to groups without a conflict. Too few groups are not an error, since a part of a source
    can be tried too; the figures contain the counts.
    """
    all_groups = list(groups)
    names = [name for name in PUBLISHED if name != "overall"]
    if unknown := sorted({group.set for group in all_groups}.difference(names)):
        raise InputError(
            f"--paper-counts: {unknown[0]!r} is not one of ConflictBench's sets: {', '.join(names)}"
        )

    def size(name: str, conflict: bool) -> int:
        return PUBLISHED[name].conflicts if conflict else PUBLISHED[name].others

    return _drawn(all_groups, size, seed)


def _drawn(
    groups: Iterable[ClaimGroup], size: Callable[[str, bool], int], seed: int
) -> list[ClaimGroup]:
    """Draw ``size(name, conflict)`` groups of each set and verdict, and return them in order.

    The order in which groups are drawn depends only on the seed and their ids.
    """
    all_groups = list(groups)
    by_kind: dict[tuple[str, bool], list[ClaimGroup]] = {}
    for group in all_groups:
        by_kind.setdefault((group.set, group.has_conflict), []).append(group)
    chosen_ids = {
        (group.set, group.id)
        for kind, groups_of_kind in by_kind.items()
        for group in sorted(groups_of_kind, key=lambda group: lot("groups", seed, group.id))[
            : size(*kind)
        ]
    }
    return [group for group in all_groups if (group.set, group.id) in chosen_ids]
