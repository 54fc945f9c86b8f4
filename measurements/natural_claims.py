"""Counts natural answers that are called partly checked although their claims cover them.

The file ``natural_claims.toml`` contains good lists of claims for the answers. Before the
measurement, a person marked whether each list covers its answer. There are five draws of answers:
one of sixty, and four smaller ones. Each later draw was marked after the faults found in the
earlier draws had been fixed; the last two were marked together. Only
:func:`conflictscore.answering.claim_coverage.gaps_of` is measured. Other gaps of a run (missing
labels, cut documents) are ignored here.

    python -m measurements.natural_claims --data FOLDER [--show]
"""

import argparse
import json
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from conflictscore.answering.claim_coverage import gaps_of
from conflictscore.markdown import place_of
from conflictscore.records import Gap

_CASES = Path(__file__).with_suffix(".toml")


class Case(NamedTuple):
    """An answer, a list of its claims, and a person's verdict on the list."""

    name: str
    question: str
    answer: str
    claims: list[str]
    read: str
    draw: int

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """Parts of the answer that no claim covers, and claims that say more than the answer."""
        places = [place_of(claim, "", self.answer) for claim in self.claims]
        spans = [(place.start, place.end) if place else None for place in places]
        return gaps_of(self.answer, list(zip(self.claims, spans, strict=True)), self.question)


def cases(data: Path) -> Iterator[Case]:
    """Yield all cases, with answers from the data folder or from the file itself."""
    listed = tomllib.loads(_CASES.read_text("utf-8"))
    judged = _rows(data / "natconfqa" / "human_judgments.jsonl")
    for case in listed["natconfqa"]:
        row, name = judged[case["row"]], f"natconfqa {case['row']}"
        yield _case(case, name, row["question"], row["model_answer.1"])
    rated = _rows(data / "wikicontradict" / "human_eval.jsonl")
    for case in listed["human_eval"]:
        row, name = rated[case["row"]], f"human_eval {case['row']}.{case['answer']}"
        answer = row[f"answer{case['answer']}"].strip()
        yield _case(case, name, row["question"], answer)
    for number, case in enumerate(listed["own"], 1):
        yield _case(case, f"own {number}", case["question"], case["text"].strip())


def _case(case: dict[str, Any], name: str, question: str, answer: str) -> Case:
    return Case(name, question, answer, case["claims"], case["read"], case.get("draw", 1))


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def main() -> None:
    """Print a table that compares the measured verdicts with those of the person."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a folder with the answers")
    parser.add_argument("--show", action="store_true", help="list each disagreement")
    options = parser.parse_args()
    counts: Counter[tuple[int, str, str]] = Counter()
    for case in cases(options.data):
        result = "partly" if case.gaps else "fully"
        counts[case.draw, case.read, result] += 1
        if options.show and result != case.read:
            print(f"{case.name}: read {case.read}, called {result}")
            for gap in case.gaps:
                print(f"    {gap.kind}: {gap.note}")
    print("| draw | a reader calls it | called fully | called partly |\n|---|---|---|---|")
    for draw in sorted({draw for draw, _, _ in counts}):
        for read in ("fully", "partly"):
            full, part = (counts[draw, read, result] for result in ("fully", "partly"))
            print(f"| {draw} | {read} | {full} | {part} |")


if __name__ == "__main__":
    main()
