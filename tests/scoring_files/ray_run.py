"""Runs on a local Ray cluster of two workers, as a process: FOLDER, and what judges in each."""

import os
import signal
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import ray

from conflictscore.errors import ConflictScoreError
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.state import RunContext
from conflictscore.records import Claim, Document, EvidenceLabel
from conflictscore.scoring_files.ray_engine import RayEngine
from measurements.instant_judge import InstantJudge, instant_context
from tests.scoring_files.files import score

__all__ = ["main"]


class _Deadly(InstantJudge):
    """Kills the worker that holds a poisonous document against a claim."""

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        if "poison" in document.text:
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().label(claim, document, meter)


def opened(folder: Path, kind: str) -> RunContext:
    """What a worker scores with."""
    context = instant_context(folder / "cache.sqlite", folder / "judged")
    match kind:
        case "refused":
            raise ConflictScoreError("no such model")
        case "broken":
            raise ImportError("no module named conflictscore")
        case "deadly":
            return replace(context, labeler=_Deadly(folder / "judged"))
    return context


def main() -> None:
    """Score ``in.jsonl`` of the folder into ``KIND.jsonl`` once for each kind of judge."""
    folder, *kinds = Path(sys.argv[1]), *sys.argv[2:]
    if len(kinds) > 1:  # a cluster that the caller has is used, and left running
        ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    for kind in kinds:
        context = instant_context(folder / "cache.sqlite", folder / "judged")
        workers = 1 if kind in ("refused", "broken") else 2
        engine = RayEngine(partial(opened, folder, kind), concurrency=2, workers=workers)
        out = folder / f"{kind}.jsonl"
        try:
            summary = score(folder / "in.jsonl", out, context=context, engine=engine)
            print(f"{kind}: {summary.scored} scored, {summary.failed} failed")
        except ConflictScoreError as error:
            print(f"{kind}: {error}")
    print(f"running: {ray.is_initialized()}")


if __name__ == "__main__":
    main()
