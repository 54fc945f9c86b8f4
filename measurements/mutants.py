"""How many small faults the tests find: a mutation run over the rooms that decide.

mutmut makes the faults (a changed operator, number, argument or text) and runs the tests that reach
each one. All of them would take hours, so a sample is drawn by seed:

```
pip install --group mutation
python -m measurements.mutants --sample 300
```

What ``pyproject.toml`` says under ``tool.mutmut`` decides which modules are changed and which tests
run. The faults stand in ``mutants/``; ``mutmut show NAME`` prints one.
"""

import argparse
import random
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

__all__ = ["Tally", "main", "sample", "table"]

_FIRST = "conflictscore.metric.x_conflict_report__mutmut_1"
"""One fault to begin with: mutmut writes down all faults before it tries the first."""
_FOUND = frozenset({"killed", "timeout", "segfault", "caught by type check"})

Tally = Counter[str]
"""Faults by what became of them, in mutmut's words: ``killed``, ``survived``, ``no tests`` …"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the faults, try a sample of them, and print what was found."""
    parser = argparse.ArgumentParser(prog="python -m measurements.mutants", description=__doc__)
    parser.add_argument("--sample", type=int, default=300, help="how many faults to try")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    parser.add_argument("--at-once", type=int, default=2, help="how many to try at a time")
    options = parser.parse_args(arguments)
    at_once = ["--max-children", str(options.at_once)]
    _mutmut("run", *at_once, _FIRST)
    chosen = sample(_outcomes(), options.sample, options.seed)
    _mutmut("run", *at_once, *chosen)
    outcomes = _outcomes()
    print(table({name: outcomes[name] for name in chosen}))


def sample(names: Iterable[str], most: int, seed: int) -> list[str]:
    """Draw faults by seed; every room comes in by as many as it has."""
    ordered = sorted(names)
    drawn = random.Random(seed).sample(ordered, min(most, len(ordered)))  # noqa: S311 - no secret
    return sorted(drawn)


def table(outcomes: Mapping[str, str]) -> str:
    """Found and missed faults by room as text, with those that no test found listed below.

    Args:
        outcomes: mutmut's word for each fault, by the fault's name.
    """
    rooms: dict[str, Tally] = defaultdict(Counter)
    for name, outcome in outcomes.items():
        rooms[name.split(".")[1]][outcome] += 1
    total: Tally = sum(rooms.values(), Counter())
    lines = [f"{'room':<16}{'faults':>8}{'found':>8}{'share':>8}"]
    for room, tally in [*sorted(rooms.items()), ("all", total)]:
        count, found = tally.total(), sum(tally[outcome] for outcome in _FOUND)
        lines.append(f"{room:<16}{count:>8}{found:>8}{found / count:>8.2f}")
    missed = [f"{outcomes[name]}: {name}" for name in outcomes if outcomes[name] not in _FOUND]
    return "\n".join([*lines, "", *missed])


def _outcomes() -> dict[str, str]:
    """What became of every fault, in mutmut's words."""
    listed = _mutmut("results", "--all", "true").splitlines()
    return dict(line.strip().rsplit(": ", 1) for line in listed if ": " in line)


def _mutmut(*arguments: str) -> str:
    command = [str(Path(sys.executable).with_name("mutmut")), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        sys.exit(f"mutmut {arguments[0]} failed:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


if __name__ == "__main__":
    main()
