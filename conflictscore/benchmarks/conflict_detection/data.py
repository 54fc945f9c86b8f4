"""From what ``--data`` names to claims with their documents."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from conflictscore.benchmarks.conflict_detection.conflictbench import (
    PUBLISHED,
    read_ambigdocs,
    read_conflictingqa,
    read_contraqa,
    read_macnoise,
)
from conflictscore.benchmarks.conflict_detection.detect import ResumableRows
from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup, document_of
from conflictscore.benchmarks.harness.question_sample import lot
from conflictscore.benchmarks.json_lines import documents_of, read_items, text_of
from conflictscore.errors import InputError, ProviderError
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.answer_replies import read_text
from conflictscore.prompts import PromptSet, material
from conflictscore.records import Label, Record, Usage
from conflictscore.retrieval.cleaning import clean_text
from conflictscore.threads import each

_CLAIM_TOKENS = 200
"""The most that a written claim may have."""

FORMATS: Mapping[str, Callable[[Path, int], list[ClaimGroup]]] = {
    "groups": lambda path, seed: read_groups(path),
    "ambigdocs": read_ambigdocs,
    "conflictingqa": read_conflictingqa,
    "contraqa": read_contraqa,
    "macnoise": read_macnoise,
    "macnoise-nq": partial(read_macnoise, name="macnoise-nq"),
    "macnoise-tqa": partial(read_macnoise, name="macnoise-tqa"),
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
    """
    name = Path(path).stem.removesuffix("_groups")
    return list(read_items(path, partial(_group, name=name), id_field="id").items)


def balanced(groups: Iterable[ClaimGroup], size: int, seed: int) -> list[ClaimGroup]:
    """Draw from every set as many groups with conflict as without, by seed.

    Conflict is rare in real evidence: a plain sample of Factcheck-GPT has one conflict in 66. A
    larger sample with the same seed holds the smaller one.

    Args:
        groups: All there are, in the order that is kept.
        size: At most so many a set, at least 2; half of them of each kind, or all there are of it.
        seed: Of the draw.
    """
    return _drawn(groups, lambda name, conflict: size // 2, seed)


def as_published(groups: Iterable[ClaimGroup], seed: int) -> list[ClaimGroup]:
    """Draw as many of each kind as ConflictBench has (paper, Table 1), or all there are of it."""
    kept = list(groups)
    if unknown := sorted({group.set for group in kept} - PUBLISHED.keys()):
        known = ", ".join(name for name in PUBLISHED if name != "overall")
        raise InputError(f"--paper-counts: {unknown[0]!r} is none of ConflictBench's sets: {known}")

    def size(name: str, conflict: bool) -> int:
        return PUBLISHED[name].conflicts if conflict else PUBLISHED[name].others

    return _drawn(kept, size, seed)


class _WrittenClaim(Record):
    set: str
    id: str
    question: str
    answer: str
    claim: str
    usage: Usage = Usage()


async def written_claims(
    groups: Sequence[ClaimGroup],
    path: Path,
    model: LanguageModel,
    prompts: PromptSet,
    *,
    concurrency: int = 1,
    on_claim: Callable[[int], object] = lambda missing: None,
) -> tuple[list[ClaimGroup], Usage]:
    """Have a model write claims from questions and answers, as the paper has GPT-4 do.

    Groups without a question keep their claims. Claims are kept in a file, one a line, for people
    to read, and none is asked for twice, also where others could not be written. ``on_claim`` is
    told after each claim how many are asked for in all.

    Returns:
        The groups with their claims, and what all claims of the file took.
    """
    template = prompts.sha256_of("write_claim")
    setup = {"written_claims": 1, "model": model.name, "template": template}
    with ResumableRows.open(path, _WrittenClaim, setup) as rows:
        known = {(row.set, row.id, row.question, row.answer): row.claim for row in rows.rows}
        missing = [one for one in groups if one.question and _asked(one) not in known]
        failures: list[ProviderError] = []

        async def write(group: ClaimGroup) -> None:
            meter = UsageMeter()
            fields = {"question": material(group.question), "answer": material(group.answer)}
            prompt = prompts.render("write_claim", **fields)
            try:
                said = await model.ask(
                    prompt, read_text, prompts=prompts, meter=meter, max_tokens=_CLAIM_TOKENS
                )
            except ProviderError as error:
                failures.append(error)
            else:
                claim = " ".join(clean_text(said).split())
                told = {name: getattr(group, name) for name in ("set", "id", "question", "answer")}
                rows.append(_WrittenClaim(**told, claim=claim, usage=meter.usage))
                known[_asked(group)] = claim
            on_claim(len(missing))

        await each(missing, write, concurrency)
        if failures:
            raise ProviderError(
                f"claims that could not be written: {len(failures)} of {len(missing)}; run the same"
                f" command to ask for them again ({failures[0]})",
                provider=model.name,
            )
        worded = [
            one.model_copy(update={"claim": known.get(_asked(one), one.claim)}) for one in groups
        ]
        return worded, sum((row.usage for row in rows.rows), Usage())


def _asked(group: ClaimGroup) -> tuple[str, str, str, str]:
    return group.set, group.id, group.question, group.answer


def _group(record: Any, where: str, *, name: str) -> ClaimGroup:
    if not isinstance(record, Mapping):
        raise InputError(f"{where}: a JSON object is needed")
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


def _drawn(
    groups: Iterable[ClaimGroup], size: Callable[[str, bool], int], seed: int
) -> list[ClaimGroup]:
    """Of every set so many with and without conflict, by lot, in the order that they had."""
    kept = list(groups)
    by_kind: dict[tuple[str, bool], list[ClaimGroup]] = {}
    for group in kept:
        by_kind.setdefault((group.set, group.has_conflict), []).append(group)
    drawn = {
        (group.set, group.id)
        for kind, found in by_kind.items()
        for group in sorted(found, key=lambda one: lot("groups", seed, one.id))[: size(*kind)]
    }
    return [group for group in kept if (group.set, group.id) in drawn]
