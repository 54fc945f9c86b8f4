"""No file, folder, tokenizer or database is accessed on the event loop, even at the first call.

The entry points are created and called in fresh processes, since a cache filled by another test
would hide a file access.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTROL = "a_file_opened_on_the_loop"


@pytest.mark.timeout(400)
def test_no_entry_point_blocks_the_event_loop() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.hosts.cold_starts"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    outcomes: dict[str, str | None] = dict(map(json.loads, ran.stdout.splitlines()))

    assert "BlockingError" in str(outcomes.pop(CONTROL))
    assert len(outcomes) == 10
    assert not any(outcomes.values()), "\n".join(filter(None, outcomes.values()))
