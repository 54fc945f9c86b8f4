"""Merges runs that each cover a part of one question file, to report them as one run."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from conflictscore.benchmarks.harness.figures import Figures
from conflictscore.benchmarks.harness.records import QuestionResult
from conflictscore.benchmarks.harness.report.page.report_run import LIVE, ReportRun
from conflictscore.errors import InputError

FiguresOf = Callable[[Mapping[str, Any], Sequence[QuestionResult]], Figures]
"""A function that computes figures from the manifest and the question results of a run."""


def with_shards_merged(runs: Sequence[ReportRun], figures_of: FiguresOf) -> list[ReportRun]:
    """Merge shards, that is, runs with equal settings and disjoint data files.

    Shards are recognised by their manifests, which have the same benchmark, configuration and
    hashes, except for the hash of the data. The merged run takes the place of its first shard.
    Other runs are returned unchanged.

    Raises:
        InputError: Two such runs share some of their questions, but not all; shared questions would
            count twice.
    """
    groups = defaultdict[str, list[int]](list)
    for place, run in enumerate(runs):
        groups[_settings(run) or f"live {place}"].append(place)
    by_place: dict[int, ReportRun] = {}
    for places in groups.values():
        group = [runs[place] for place in places]
        if _are_shards(group):
            by_place[places[0]] = _merged(group, figures_of)
        else:
            by_place |= zip(places, group, strict=True)
    return [by_place[place] for place in sorted(by_place)]


def _settings(run: ReportRun) -> str:
    """Return the settings that shards have in common, as text; empty for logged runs.

    The selection of questions is left out, since it differs between the parts of a file.
    """
    if run.benchmark in ("", LIVE):
        return ""
    configuration = {**(run.manifest.get("configuration") or {}), "selection": None}
    hashes = {k: v for k, v in _hashes(run).items() if not _is_data(k)}
    return json.dumps([run.benchmark, configuration, hashes], sort_keys=True)


def _hashes(run: ReportRun) -> Mapping[str, str]:
    return run.manifest.get("hashes") or {}


def _is_data(name: str) -> bool:
    """Return whether a hash belongs to a question file, such as ``data`` or ``data of run-1``."""
    return name.split()[0] == "data"


def _are_shards(group: Sequence[ReportRun]) -> bool:
    """Return whether the runs have different data files and no questions in common."""
    # a run without such a hash ("[]"), such as a run started from Python, might contain any
    # questions
    data_hashes = {json.dumps([v for k, v in _hashes(run).items() if _is_data(k)]) for run in group}
    if len(group) < 2 or len(data_hashes) < len(group) or "[]" in data_hashes:
        return False
    owners: dict[str, ReportRun] = {}
    overlaps: list[tuple[str, ReportRun, ReportRun]] = []
    for run in group:
        for question in _ids(run):
            if question in owners:
                overlaps.append((question, owners[question], run))
            owners.setdefault(question, run)  # the first run with a question is named in the error
    if not overlaps:
        return True
    if len({frozenset(_ids(run)) for run in group}) == 1:
        return False  # different files with the same questions: the runs may form a study
    raise _overlap_error(overlaps)


def _overlap_error(overlaps: Sequence[tuple[str, ReportRun, ReportRun]]) -> InputError:
    """Return an error that names the first two runs that share questions, and says how many."""
    question, first, second = overlaps[0]
    count = sum(owner is first and run is second for _, owner, run in overlaps)
    are_shared = "question is" if count == 1 else "questions are"
    return InputError(
        f"{first.name} and {second.name}: {count} {are_shared} in both, such as"
        f" {question!r}, but other questions are not. So the runs are neither parts of one file nor"
        " runs of the same questions; report them separately"
    )


def _ids(run: ReportRun) -> Iterable[str]:
    return [question_result.question.id for question_result in run.results]


def _merged(shards: Sequence[ReportRun], figures_of: FiguresOf) -> ReportRun:
    """Merge shards into one run with all questions, named after the shards."""
    configuration = shards[0].manifest["configuration"]
    manifest = {
        **shards[0].manifest,
        "created": min(str(shard.manifest.get("created", "")) for shard in shards),
        "configuration": {
            **configuration,
            "selection": {
                shard.name: (shard.manifest["configuration"]).get("selection") for shard in shards
            },
        },
        "hashes": {
            (f"{name} of {shard.name}" if _is_data(name) else name): digest
            for shard in shards
            for name, digest in _hashes(shard).items()
        },
    }
    question_results = [question_result for shard in shards for question_result in shard.results]
    name = " + ".join(shard.name for shard in shards)
    return replace(
        shards[0],
        name=name,
        manifest=manifest,
        figures=figures_of(manifest, question_results),
        results=question_results,
    )
