"""What a prompt for many pairs asks, read as a model would, and replies to it."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

_DOCUMENT = re.compile(
    r'<document(?: id="(\d+)")? mark="\w+">\n(.*?)\n</document mark="\w+">', re.DOTALL
)
_CLAIM = re.compile(
    r'<claim(?: id="(\d+)")?(?: documents="([\d, ]+)")?>\s*(.*?)\s*</claim>', re.DOTALL
)


@dataclass(frozen=True)
class AskedBatch:
    """The texts of a prompt by their ids; an empty id where the mode has none."""

    claims: dict[str, str]
    documents: dict[str, str]
    pairs: list[tuple[str, str]]
    """Ids of a claim and a document, for each pair that is asked for."""

    def verdict(
        self, claim: str, document: str, compared: Callable[[str, str], str]
    ) -> dict[str, Any]:
        """What a model says that compares texts; it quotes the document's last line."""
        ids = {"claim": int(claim)} if claim else {}
        ids |= {"document": int(document)} if document else {}
        text = self.documents[document]
        answer = compared(self.claims[claim], text)
        return {
            **ids,
            "snippet": "".join(text.splitlines()[-1:]),
            "reason": "Read it.",
            "answer": answer,
        }


def batch_of(prompt: str) -> AskedBatch:
    """Read a prompt for many pairs."""
    documents = dict(_DOCUMENT.findall(prompt))
    claims, pairs = {}, []
    for its_id, only, text in _CLAIM.findall(prompt):
        claims[its_id] = text
        pairs += [(its_id, document) for document in only.split(", ") if only]
        pairs += [(its_id, document) for document in documents if not only]
    return AskedBatch(claims, documents, pairs)


def batch_reply(verdicts: Sequence[Any]) -> str:
    """A reply of these verdicts."""
    return json.dumps({"verdicts": list(verdicts)})
