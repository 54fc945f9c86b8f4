"""The short form of the campaign: one case of every part."""

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from random import Random

import pytest

from measurements.campaign import PARTS, campaign


@pytest.mark.timeout(300)
@pytest.mark.skipif(os.name == "nt", reason="Windows has no such limits")
def test_nothing_breaks_in_a_case_of_each_part(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL")
    outcomes = campaign(PARTS, cases=1, seed=0)

    assert {name: outcome.broken for name, outcome in outcomes.items() if outcome.broken} == {}
    assert {outcome.cases for outcome in outcomes.values()} == {1}


def test_what_breaks_is_told_and_does_not_end_the_campaign() -> None:
    def breaking(chance: Random, folder: Path) -> Generator[str | None]:
        yield None
        yield "the roof"
        raise ValueError("the floor")

    outcome = campaign({"house": breaking, "again": breaking}, seconds=60, seed=0)["again"]

    assert (outcome.cases, outcome.broken) == (2, ["the roof", "ValueError: the floor"])


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot tell a process to end itself")
def test_a_campaign_that_is_told_to_end_prints_its_table() -> None:
    command = [sys.executable, "-m", "measurements.campaign", "--seconds", "600", "--only", "kills"]
    command += ["--only", "tricks"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        head = running.stdout.readline()  # from here on it handles signals
        running.send_signal(signal.SIGTERM)
        rest = running.stdout.read()
    assert head.split()[:3] == ["cases", "broke", "seconds"]
    assert "cut short" in rest or "kills      not begun" in rest
    assert "tricks     not begun" in rest
    assert running.returncode == 128 + signal.SIGTERM
