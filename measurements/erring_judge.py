"""A simulated judge that knows people's labels and errs at known rates, by how it is asked.

Documents begin with ``Source N.`` and claims with ``Claim N:``, by which it knows them.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Literal, Self, get_args

from measurements.batch_replies import batch_reply

__all__ = ["ErringJudge", "Mode"]

Mode = Literal["pair", "batch"]
Label = Literal["SUPPORTS", "CONTRADICTS", "IRRELEVANT"]

_SOURCE = re.compile(r"Source (\d+)\.")
_CLAIM = re.compile(r"Claim (\d+):")
_QUOTED_WORDS = 25
_REASONING = (
    "The passage speaks of the same people and the same time as the claim does, and what it says"
    " of them is what decides here."
)


@dataclass(frozen=True)
class ErringJudge:
    """What it replies to a prompt of ``json`` or of a batch.

    A verdict is the same each time that a pair is judged in a mode.

    Attributes:
        truth: People's labels: a row a claim, a label a document.
        documents: The number of the first document of each row.
        pair: Share of the pairs that it labels wrongly on their own.
        batch: The same in a batch.
        shared: Whether it errs in a batch wherever it errs on the pair alone, in the same way;
            otherwise the two have nothing to do with each other.
    """

    truth: Sequence[Sequence[Label]]
    documents: Sequence[int]
    pair: float
    batch: float
    shared: bool

    def write(self, file: Path) -> None:
        """Write it down for another process."""
        file.write_text(json.dumps(asdict(self)), "utf-8")

    @classmethod
    def read(cls, file: Path) -> Self:
        """Read what was written down."""
        return cls(**json.loads(file.read_text("utf-8")))

    def verdict(self, claim: int, document: int, mode: Mode, seed: str = "") -> Label:
        """The label of a pair, by their numbers."""
        truth = self.truth[claim][document - self.documents[claim]]
        once = "" if self.shared else mode
        chance = Random(f"{seed} {claim} {document} {once}")  # noqa: S311 - a draw, not a secret
        wrong = chance.random() < (self.pair if mode == "pair" else self.batch)
        return chance.choice([one for one in get_args(Label) if one != truth]) if wrong else truth

    def reply(self, prompt: str) -> str:
        """What it says to a prompt."""

        def label(claim: str, document: str) -> Label:
            return self.verdict(_number(_CLAIM, claim), _number(_SOURCE, document), "batch")

        if (batch := batch_reply(prompt, label, _snippet)) is not None:
            return batch
        claim = prompt.rpartition("<claim>")[2].partition("</claim>")[0].strip()
        answer = self.verdict(_number(_CLAIM, claim), _number(_SOURCE, prompt), "pair")
        snippet = _snippet(answer, prompt[prompt.index("Source ") :].partition("</document")[0])
        said = {"claim": claim, "document_snippet": snippet, "reasoning": _REASONING}
        return json.dumps({**said, "answer": answer})


def _number(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.search(text)
    if found is None:
        raise ValueError(f"no number in {text[:80]!r}")
    return int(found[1])


def _snippet(answer: str, document: str) -> str:
    words = document.split()[2:]
    return "" if answer == "IRRELEVANT" else " ".join(words[:_QUOTED_WORDS])
