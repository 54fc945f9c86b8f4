"""The stages of a profiled request: each names code that is there, and the nearest one counts."""

from pathlib import Path

import conflictscore
from measurements.profiled_service import STAGES, stage_of

HOME = Path(conflictscore.__file__).parent


def test_every_stage_of_ours_names_code_that_is_there() -> None:
    ours = [part for parts in STAGES.values() for part in parts if "/conflictscore/" in part]
    names = [part.removeprefix("/conflictscore/").rstrip("/") for part in ours]
    assert names
    assert [name for name in names if not [*HOME.glob(f"{name}*")]] == []


def test_a_module_with_a_stage_of_its_own_is_not_counted_with_its_room() -> None:
    assert stage_of(str(HOME / "models" / "direct.py")) == "judge's calls: from prompt to reply"
    assert stage_of(str(HOME / "models" / "fitting.py")) == "prompts, texts made safe"
    assert stage_of("/lib/asyncio/events.py") is None
