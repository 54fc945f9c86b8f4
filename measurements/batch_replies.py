"""Replies of a simulated model to a prompt for many pairs."""

import json
import re
from collections.abc import Callable
from typing import Any

__all__ = ["batch_reply"]

_FIELDS = '"verdicts", a list, one on each'
_ID = r'(?: id="(\d+)")?'
_CLAIM = re.compile(rf'<claim{_ID}(?: documents="([\d, ]+)")?>\s*(.*?)\s*</claim>', re.DOTALL)
_DOCUMENT = re.compile(rf'<document{_ID} mark="\w+">\s*(.*?)\s*</document', re.DOTALL)
_LISTED = '"supports", "contradicts" and "irrelevant"'


def batch_reply(
    prompt: str,
    label: Callable[[str, str], str],
    snippet: Callable[[str, str], str] = lambda label, document: "",
) -> str | None:
    """A verdict on every pair that a prompt asks for, as JSON; None for a prompt of another kind.

    Args:
        prompt: The prompt.
        label: The label of the text of a claim and that of a document.
        snippet: What is quoted for a label of the text of a document.
    """
    if _FIELDS not in prompt:
        return None
    documents = _DOCUMENT.findall(prompt)
    verdicts: list[dict[str, Any]] = []
    for claim_id, only, claim in _CLAIM.findall(prompt):
        asked = [one for one in documents if not only or one[0] in only.split(", ")]
        if _LISTED in prompt:
            lists: dict[str, list[int]] = {"supports": [], "contradicts": [], "irrelevant": []}
            for document_id, document in asked:
                lists[label(claim, document).lower()].append(int(document_id))
            verdicts.append({"claim": int(claim_id), **lists})
            continue
        for document_id, document in asked:
            ids = {"claim": claim_id, "document": document_id}
            answer = label(claim, document)
            quoted = snippet(answer, document)
            said = {"snippet": quoted, "reason": "As it says.", "answer": answer}
            verdicts.append({**{key: int(its) for key, its in ids.items() if its}, **said})
    return json.dumps({"verdicts": verdicts})
