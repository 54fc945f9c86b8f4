"""Runs a process on a local Ray cluster of two workers; arguments: FOLDER, and kinds of judges."""

import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from conflictscore.errors import ConflictScoreError
from conflictscore.loop.state import RunContext
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, EvidenceLabel
from conflictscore.scoring_files.ray_engine import RayEngine
from conflictscore.scoring_files.row_scoring import scoring_settings
from tests.scoring_files.files import score
from tests.scoring_files.instant_judge import InstantJudge, instant_context


class _Deadly(InstantJudge):
    """Kills the worker that labels a poisonous document."""

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        if "poison" in document.text:
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().label(claim, document, meter)


class _Another(InstantJudge):
    """A judge other than the one with which the run was started."""

    identity: Mapping[str, Any] | None = MappingProxyType({"labeler": "another"})


def opened(folder: Path, kind: str) -> RunContext:
    """The context of a worker."""
    context = instant_context(folder / "cache.sqlite", folder / "judged")
    match kind:
        case "refused":
            raise ConflictScoreError("no such model")
        case "another":
            return replace(context, labeler=_Another())
        case "deadly":
            return replace(context, labeler=_Deadly(folder / "judged"))
    return context


def main() -> None:
    """Score the folder's ``in.jsonl`` into ``KIND.jsonl`` for each kind of judge."""
    import ray

    folder, kinds = Path(sys.argv[1]), sys.argv[2:]
    if len(kinds) > 1:  # use the caller's cluster, which stays running
        ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    for kind in kinds:
        context = instant_context(folder / "cache.sqlite", folder / "judged")
        engine = RayEngine(
            partial(opened, folder, kind), scoring_settings(context), concurrency=2, workers=2
        )
        out = folder / f"{kind}.jsonl"
        try:
            summary = score(folder / "in.jsonl", out, context=context, engine=engine)
            print(f"{kind}: {summary.scored_now} scored now, {summary.failed} failed", flush=True)
        except ConflictScoreError as error:
            print(f"{kind}: {error}", flush=True)
    print(f"running: {ray.is_initialized()}")


if __name__ == "__main__":
    main()
