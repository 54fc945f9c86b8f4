"""What a simulated model replies to the prompts of peers."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["ragas_reply", "ragchecker_reply"]

_LABELS = {"SUPPORTS": "Entailment", "CONTRADICTS": "Contradiction", "IRRELEVANT": "Neutral"}
_TRIPLET = re.compile(r'\("(.*)", ".*", ".*"\)')


def ragas_reply(prompt: str, label: Callable[[str, str], str]) -> str | None:
    """The reply as JSON; None for a prompt of another kind.

    RAGAS ends a prompt with its input as a JSON object, by whose fields the kinds are told apart:
    an answer to be taken apart, statements to be judged, or a reply that it could not read.

    Args:
        prompt: The prompt.
        label: The label of the text of a claim and that of all documents.
    """
    match _input_of(prompt):
        case {"question": _, "answer": str(answer)}:
            return json.dumps({"statements": answer.split("\n")})
        case {"context": str(context), "statements": [*statements]}:
            verdicts = [
                {
                    "statement": statement,
                    "reason": "As it says.",
                    "verdict": int(label(statement, context) == "SUPPORTS"),
                }
                for statement in statements
            ]
            return json.dumps({"statements": verdicts})
        case {"output_string": _, "prompt_value": str(earlier)}:
            return json.dumps({"text": ragas_reply(earlier, label) or ""})
    return None


def _input_of(prompt: str) -> Mapping[str, Any]:
    """The last input that is an object; one within a text of another is none, being escaped."""
    for mark in reversed(list(re.finditer("input: ", prompt))):
        try:
            found, _ = json.JSONDecoder().raw_decode(prompt, mark.end())
        except ValueError:
            continue
        if isinstance(found, dict):
            return found
    return {}


def ragchecker_reply(prompt: str, label: Callable[[str, str], str]) -> str | None:
    """The reply to a prompt of RAGChecker; None for a prompt of another kind.

    It has answers taken apart into triplets, for which each line of an answer is one here, and then
    a list of these labelled against one document.

    Args:
        prompt: The prompt.
        label: The label of the text of a claim and that of a document.
    """
    if prompt.rstrip().endswith("### KG:"):
        answer = prompt.rpartition("### Candidate Answer:")[2].partition("### KG:")[0]
        return "\n".join(f'("{line}", "is", "said")' for line in answer.strip().split("\n"))
    if "### Reference:" in prompt and "### Claims:" in prompt:
        document, _, rest = prompt.partition("### Reference:")[2].partition("### Claims:")
        claims = _TRIPLET.findall(rest.partition("Your answer should")[0])
        return "\n".join(_LABELS[label(claim, document)] for claim in claims)
    return None
