"""How often a natural answer is called partly checked although its claims cover it.

There are sixty answers with the claims of a good splitter (``natural_claims.toml``), each marked by
a reader who did not see the result. Only :func:`conflictscore.answering.claim_coverage.gaps_of` is
measured; a run's other gaps (labels, cut documents) play no part here.

    python -m measurements.natural_claims --data ../shared/data [--show]
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
    """An answer, the claims of a splitter, and a reader's verdict on the list of claims."""

    name: str
    question: str
    answer: str
    claims: list[str]
    read: str

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """Parts of the answer that are in no claim, and claims that go beyond the answer."""
        places = [place_of(claim, "", self.answer) for claim in self.claims]
        spans = [(place.start, place.end) if place else None for place in places]
        return gaps_of(self.answer, list(zip(self.claims, spans, strict=True)), self.question)


def cases(data: Path) -> Iterator[Case]:
    """The sixty cases, with the answers of the shared data."""
    listed = tomllib.loads(_CASES.read_text("utf-8"))
    judged = _rows(data / "natconfqa" / "human_judgments.jsonl")
    for case in listed["natconfqa"]:
        row, name = judged[case["row"]], f"natconfqa {case['row']}"
        yield Case(name, row["question"], row["model_answer.1"], case["claims"], case["read"])
    rated = _rows(data / "wikicontradict" / "human_eval.jsonl")
    for case in listed["human_eval"]:
        row, name = rated[case["row"]], f"human_eval {case['row']}.{case['answer']}"
        answer = row[f"answer{case['answer']}"].strip()
        yield Case(name, row["question"], answer, case["claims"], case["read"])
    for number, case in enumerate(listed["own"], 1):
        text = case["text"].strip()
        yield Case(f"own {number}", case["question"], text, case["claims"], case["read"])


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def main() -> None:
    """Print a table of the results by the reader's verdict."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the shared data")
    parser.add_argument("--show", action="store_true", help="list each disagreement")
    options = parser.parse_args()
    counts: Counter[tuple[str, str]] = Counter()
    for case in cases(options.data):
        result = "partly" if case.gaps else "fully"
        counts[case.read, result] += 1
        if options.show and result != case.read:
            print(f"{case.name}: read {case.read}, called {result}")
            for gap in case.gaps:
                print(f"    {gap.kind}: {gap.note}")
    print("| a reader calls it | called fully | called partly |\n|---|---|---|")
    for read in ("fully", "partly"):
        print(f"| {read} | {counts[read, 'fully']} | {counts[read, 'partly']} |")


if __name__ == "__main__":
    main()
