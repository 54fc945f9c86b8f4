"""From what ``--data`` names to claims with their documents."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from conflictscore.benchmarks.conflict_detection.conflictbench import (
    read_ambigdocs,
    read_conflictingqa,
    read_contraqa,
    read_macnoise,
)
from conflictscore.benchmarks.conflict_detection.groups import (
    ClaimGroup,
    document_of,
    in_tables,
)
from conflictscore.benchmarks.harness.selection import lot
from conflictscore.benchmarks.json_lines import documents_of, read_json_lines, text_of
from conflictscore.errors import InputError
from conflictscore.records import Label

__all__ = ["FORMATS", "balanced", "read_data", "read_groups", "with_siblings"]

FORMATS: Mapping[str, Callable[[Path, int], list[ClaimGroup]]] = {
    "groups": lambda path, seed: read_groups(path),
    "ambigdocs": read_ambigdocs,
    "conflictingqa": read_conflictingqa,
    "contraqa": read_contraqa,
    "macnoise": read_macnoise,
}
"""How a file or folder of each format is read, from its path and a seed."""


def read_data(
    sources: Sequence[str], *, split: str | None = None, seed: int = 0
) -> list[ClaimGroup]:
    """Read several sets, in the given order.

    Args:
        sources: A path to groups (see :func:`read_groups`), or one of ConflictBench's sources as
            it is published, after its name: ``ambigdocs:test.json``.
        split: Only the groups of this split.
        seed: Decides what ConflictBench's construction leaves open.

    Raises:
        InputError: A file cannot be used, two are of the same set, or nothing is left; the line
            names file, row and field.
    """
    groups: list[ClaimGroup] = []
    by_set: dict[str, str] = {}
    for source in sources:
        kind, separator, rest = source.partition(":")
        known = bool(separator) and kind in FORMATS
        read = FORMATS[kind if known else "groups"](Path(rest if known else source), seed)
        chosen = [group for group in read if split is None or group.split == split]
        if not chosen:
            of_split = "" if split is None else f" of the split {split!r}"
            raise InputError(f"--data {source}: there is no claim{of_split} in it")
        if earlier := by_set.get(chosen[0].set):
            raise InputError(
                f"--data {source}: the set {chosen[0].set!r} was read from {earlier} already;"
                " give one of the files another name, or each of them once"
            )
        by_set[chosen[0].set] = source
        groups.extend(chosen)
    return groups


def read_groups(path: str | Path) -> list[ClaimGroup]:
    """Read claims with their documents, in file order.

    The set is called as the file, without ``_groups``.

    Args:
        path: JSON lines with ``id``, ``claim`` and ``docs`` (``text``, and where known ``title``
            and ``label``), and where known ``has_conflict`` and ``split``. PARTIAL counts as
            SUPPORTS; of a document that is MIXED or UNLABELLED no label is known.

    Raises:
        InputError: The file cannot be used; the line names row and field.
    """
    file = Path(path)
    groups: list[ClaimGroup] = []
    first: dict[str, str] = {}
    for where, record in read_json_lines(file):
        if not isinstance(record, Mapping):
            raise InputError(f"{where}: a JSON object is needed")
        group = _group(record, file.stem.removesuffix("_groups"), where)
        if (earlier := first.setdefault(group.id, where)) != where:
            raise InputError(f"{where}, field id: {group.id!r} is also the id of {earlier}")
        groups.append(group)
    return groups


def balanced(groups: Iterable[ClaimGroup], size: int, seed: int) -> list[ClaimGroup]:
    """Draw from every set as many groups with conflict as without, by seed.

    Conflict is rare in real evidence: a plain sample of Factcheck-GPT has one conflict in 66. A
    larger sample with the same seed holds the smaller one.

    Args:
        groups: All there are, in the order that is kept.
        size: At most so many a set, at least 2; half of them of each kind, or all there are of it.
        seed: Of the draw.
    """
    kept = list(groups)
    by_kind: dict[tuple[str, bool], list[ClaimGroup]] = {}
    for group in kept:
        by_kind.setdefault((group.set, group.has_conflict), []).append(group)
    drawn = {
        (group.set, group.id)
        for kind in by_kind.values()
        for group in sorted(kind, key=lambda one: lot("groups", seed, one.id))[: size // 2]
    }
    return [group for group in kept if (group.set, group.id) in drawn]


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


def _group(record: Mapping[str, Any], name: str, where: str) -> ClaimGroup:
    documents = tuple(document_of(one, at) for at, one in documents_of(record, "docs", where))
    split = record.get("split")
    if split is not None and not isinstance(split, str):
        raise InputError(f"{where}, field split: a text is needed, or none")
    return ClaimGroup(
        set=name,
        id=text_of(record, "id", where),
        split=split,
        claim=text_of(record, "claim", where),
        documents=documents,
        has_conflict=_conflict(record, [document.label for document in documents], where),
    )


def _conflict(record: Mapping[str, Any], labels: Sequence[Label | None], where: str) -> bool:
    stated = record.get("has_conflict")
    if stated is not None and not isinstance(stated, bool):
        raise InputError(f"{where}, field has_conflict: true or false is needed")
    both = {Label.SUPPORTS, Label.CONTRADICTS} <= set(labels)
    if None not in labels and stated in (None, both):
        return both
    if stated is None:
        raise InputError(
            f"{where}, field has_conflict: it is needed where not all documents have a label"
        )
    if None not in labels or (both and not stated):
        raise InputError(
            f"{where}, field has_conflict: it is {str(stated).lower()}, and the labels of the"
            " documents say otherwise"
        )
    return stated
