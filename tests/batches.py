"""Reads a prompt for several claims as a model would, and replies to it."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

_DOCUMENT = re.compile(r'<document mark="\w+">\n(.*?)\n</document mark="\w+">', re.DOTALL)
_CLAIM = re.compile(r'<claim id="(\d+)">\s*(.*?)\s*</claim>', re.DOTALL)


@dataclass(frozen=True)
class AskedBatch:
    """A prompt's claims by their ids, and its document."""

    claims: dict[str, str]
    document: str

    def verdict(self, claim: str, compared: Callable[[str, str], str]) -> dict[str, Any]:
        """The verdict of a model that compares texts, quoting the document's last line."""
        return {
            "claim": int(claim),
            "snippet": "".join(self.document.splitlines()[-1:]),
            "reason": "Read it.",
            "answer": compared(self.claims[claim], self.document),
        }


def batch_of(prompt: str) -> AskedBatch:
    """Read a prompt for several claims."""
    [document] = _DOCUMENT.findall(prompt)
    last = prompt.splitlines()[-1]
    claims = json.loads(last) if last.startswith("{") else dict(_CLAIM.findall(prompt))
    return AskedBatch(claims, document)


def brief_reply(verdicts: Sequence[dict[str, Any]]) -> str:
    """A reply with these verdicts in the brief form, with reasons for contradictions alone."""
    sides = [verdict for verdict in verdicts if verdict["answer"] != "IRRELEVANT"]
    rows = [
        [str(verdict["claim"]), verdict["snippet"], verdict["answer"].lower()] for verdict in sides
    ]
    for row, verdict in zip(rows, sides, strict=True):
        row += [verdict["reason"]] if verdict["answer"] == "CONTRADICTS" else []
    irrelevant = [str(verdict["claim"]) for verdict in verdicts if verdict not in sides]
    return json.dumps({"verdicts": rows, "irrelevant": irrelevant}, separators=(",", ":"))


def batch_reply(verdicts: Sequence[Any]) -> str:
    """A reply with these verdicts."""
    return json.dumps({"verdicts": list(verdicts)})
