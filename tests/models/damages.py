"""Good replies of each kind, and the ways in which models and servers are known to damage them.

A damaged reply without loss must be read like the good one; a cut reply must be refused.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import Any, Literal, NamedTuple

from langchain_core.messages import AIMessage

from conflictscore.answering.claim_replies import read_claims
from conflictscore.labelers.batch_judge import VERDICTS, Batch, read_reply
from conflictscore.labelers.label_words import ANSWER_ALIASES, label_of
from conflictscore.models.endings import abnormal_ending
from conflictscore.models.json_replies import json_reply
from conflictscore.models.replies import reply_text
from conflictscore.records import Claim, Document

Kind = Literal["verdict", "batch", "claims"]
Outcome = Literal["right", "wrong", "refused"]
Damage = Callable[[AIMessage], AIMessage]

ANSWER = "The gate opens at nine. It is green, and it has been there for forty years."
_CLAIMS = tuple(
    Claim(number=n, text=f"The gate {what}.")
    for n, what in enumerate(("opens at nine", "is green", "has been there for forty years"), 1)
)
_QUOTE = "opens at nine, gate is green"
DOCUMENTS = (
    Document(number=1, text=f"The gate {_QUOTE}."),
    Document(number=2, text="Nothing of the kind."),
)
_BATCH = Batch(_CLAIMS, DOCUMENTS[0])
_VERDICTS = [
    {"claim": int(its_id), "snippet": "", "reason": "because it says so", "answer": label}
    for its_id, label in zip(
        _BATCH.ids().values(), ("SUPPORTS", "CONTRADICTS", "IRRELEVANT"), strict=True
    )
]
_VERDICT = {
    "claim": _CLAIMS[0].text,
    "document_snippet": _QUOTE,
    "reasoning": "The document says so.",
    "answer": "SUPPORTS",
}
_ITEM = re.compile(r"^(?!.*[cC]laims:)(?=[\w\d-])", re.MULTILINE)
GOOD: Mapping[Kind, str] = {
    "verdict": json.dumps(_VERDICT),
    "batch": json.dumps({VERDICTS: _VERDICTS}),
    "claims": "\n".join(["Claims:", *(claim.text for claim in _CLAIMS)]),
}
"""A good reply of each kind."""


def read(kind: Kind, message: AIMessage) -> Any:
    """Read a reply as a step does.

    Raises:
        ValueError: The reply is refused.
    """
    if ending := abnormal_ending(message):
        raise ValueError(ending)
    if kind == "verdict":
        return label_of(json_reply(message, frozenset({"answer"}), aliases=ANSWER_ALIASES))
    if kind == "claims":
        return read_claims(reply_text(message), ANSWER)
    reply = json_reply(message, frozenset({VERDICTS}), list_field=VERDICTS)
    labels, _ = read_reply(reply, _BATCH)
    return {one.claim: one.label for one in labels}


def outcome_of(kind: Kind, message: AIMessage) -> Outcome:
    """Whether a reply is read like the good one of its kind; for a batch, each verdict it has."""
    try:
        found = read(kind, message)
    except ValueError:
        return "refused"
    good = read(kind, AIMessage(GOOD[kind]))
    if kind == "batch" and found != good:  # missing verdicts are requested again
        return "refused" if found.items() <= good.items() else "wrong"
    return "right" if found == good else "wrong"


def _text(change: Callable[[str], str]) -> Damage:
    return lambda message: message.model_copy(update={"content": change(str(message.content))})


def _object(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Damage:
    """A change of the verdict, or of each in a batch; no change if the text is no longer JSON."""

    def changed(text: str) -> str:
        if not isinstance(value := _loaded(text), dict):
            return text
        if VERDICTS in value:
            return json.dumps({VERDICTS: [change(one) for one in value[VERDICTS]]})
        return json.dumps(change(value))

    return _text(changed)


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _said(*forms: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    words = dict(zip(("SUPPORTS", "CONTRADICTS", "IRRELEVANT"), forms, strict=True))
    return lambda one: {**one, "answer": words.get(one["answer"], one["answer"])}


def _as_tool_call(message: AIMessage) -> AIMessage:
    if not isinstance(args := _loaded(str(message.content)), dict):
        return message
    call = {"name": "evidence_label", "args": args, "id": "1", "type": "tool_call"}
    return message.model_copy(update={"content": "", "tool_calls": [call]})


def _lines(mark: Callable[[int, str], str]) -> Callable[[str], str]:
    """A change of each line with a claim."""

    def changed(text: str) -> str:
        head, *lines = text.split("\n")
        return "\n".join([head, *(mark(n, line) for n, line in enumerate(lines, start=1) if line)])

    return changed


def _listed(form: Callable[[list[str]], str]) -> Callable[[str], str]:
    """The claims in another form; unchanged if they are in another form already."""

    def changed(text: str) -> str:
        lines = [line for line in text.removeprefix("Claims:\n").split("\n") if line]
        return text if text[:1] in {"[", "{"} else form(lines)

    return changed


def _ended(reason: str) -> Damage:
    told = {"response_metadata": {"finish_reason": reason}}
    return lambda message: message.model_copy(update=told)


_REASONED: dict[str, Callable[[str], str]] = {
    "think block": lambda t: (
        f"<think>\nIt says nine: {{supports}}.\nClaims: three?\n</think>\n\n{t}"
    ),
    "lone closing think": lambda t: f"It says nine, so SUPPORTS.\n</think>\n\n{t}",
    "Harmony channels": lambda t: (
        "<|channel|>analysis<|message|>So it is.<|end|><|start|>assistant"
        f"<|channel|>final<|message|>{t}<|return|>"
    ),
    "tag with attributes": lambda t: (
        f'<think effort="high">\nIt says nine.\nClaims: a?\n</think>\n{t}'
    ),
    "tag of another name": lambda t: f"<scratchpad>\nIt says nine.\nClaims: a?\n</scratchpad>\n{t}",
    "code fence": lambda t: f"```\n{t}\n```",
    "tokens of a chat template": lambda t: f"<|im_start|>assistant\n{t}<|im_end|>",
    "byte-order mark": lambda t: f"\ufeff{t}",
}
_FIELDS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "label in small letters": _said("supports", "Contradicts.", "irrelevant"),
    "label inflected": _said("SUPPORTED", "CONTRADICTED", "Not relevant"),
    "label in German": _said("unterstützt", "widerspricht", "irrelevant"),
    "label in Polish": _said("potwierdza", "zaprzecza", "nieistotne"),
    "words of entailment": _said("Entailment", "Refuted", "NEUTRAL"),
    "label in bold after a word": lambda one: {
        **one,
        "answer": f"Final answer: **{one['answer']}**",
    },
    "label in an object": lambda one: {**one, "answer": {"label": one["answer"]}},
    "label under another name": lambda one: {
        "label" if name == "answer" else name: value for name, value in one.items()
    },
    "list for a text": lambda one: {
        k: [v, "more"] if k.startswith("reason") else v for k, v in one.items()
    },
    "no number": lambda one: {**one, "confidence": float("nan")},
    "unknown field": lambda one: {**one, "confidence": 0.9},
    "no echo of the claim": lambda one: {
        k: v for k, v in one.items() if k != "claim" or isinstance(v, int)
    },
    "null for a text": lambda one: {
        k: None if k in {"snippet", "document_snippet"} else v for k, v in one.items()
    },
}
_JSON: dict[str, Callable[[str], str]] = {
    "under a field": lambda t: f'{{"result": {t}, "status": "ok"}}',
    "Windows line ends": lambda t: t.replace(", ", ",\r\n"),
    "comments": lambda t: t.replace('", ', '", // so it is\n'),
    "zero-width spaces": lambda t: t.replace('"', '\u200b"', 3),
    "raw line break": lambda t: t.replace("says so", "says\nso"),
    "bare quotation marks": lambda t: t.replace("says so", 'says "so" here'),
    "trailing comma": lambda t: re.sub(r"\}$", ",}", t),
    "single quotes": lambda t: t.replace('"', "'"),
    "typographic quotes": lambda t: re.sub(r'"([^"]*)"', "“\\1”", t),
    "template before": lambda t: f'{{"claim": "...", "answer": "SUPPORTS | CONTRADICTS"}}\n{t}',
    "one-element list": lambda t: f"[{t}]" if t.startswith("{") else t,
    "the same twice": lambda t: f"{t}\n{t}" if t.startswith("{") else t,
    "prose around": lambda t: f"Here it is {{as asked}}:\n\n{t}\n\nTell me if you need more!",
    "JSON fence": lambda t: f"```json\n{t}\n```",
}
_TOOL_CALLS: dict[str, Damage] = {
    "tool call": _as_tool_call,
    "tool call in text": _text(
        lambda t: f'<tool_call>\n{{"name": "label", "arguments": {t}}}\n</tool_call>'
    ),
}
_LISTS: dict[str, Callable[[str], str]] = {
    "bullets": _lines(lambda n, line: f"- {line}"),
    "numbers": _lines(lambda n, line: f"{n}. {line}"),
    "blank lines": lambda t: t.replace("\n", "\n\n"),
    "another heading": lambda t: t.replace("Claims:", "Here are the atomic claims:", 1),
    "no heading": lambda t: t.removeprefix("Claims:\n"),
    "heading in bold": lambda t: t.replace("Claims:", "**Claims:**", 1),
    "JSON list": lambda t: json.dumps(t.removeprefix("Claims:\n").split("\n")),
    "JSON objects": _listed(
        lambda lines: json.dumps(
            {"claims": [{"id": f"c{n}", "claim": line} for n, line in enumerate(lines)]}
        )
    ),
    "JSON lines": _listed(lambda lines: "\n".join(json.dumps({"claim": one}) for one in lines)),
    "quotation marks": _lines(lambda n, line: line if line[:1] == "{" else f'"{line}"'),
    "parent of nested bullets": lambda t: re.sub(_ITEM, "  - ", t).replace(
        "  - ", "- About the gate:\n  - ", 1
    ),
    "remark at the end": lambda t: f"{t}\n\nTell me if you want them shorter!",
}


def _texts(changes: Mapping[str, Callable[[str], str]]) -> dict[str, Damage]:
    return {name: _text(change) for name, change in changes.items()}


_OF_JSON = {
    **{name: _object(change) for name, change in _FIELDS.items()},
    **_texts(_JSON),
    **_TOOL_CALLS,
    **_texts(_REASONED),
}
DAMAGES: Mapping[Kind, Mapping[str, Damage]] = {
    "verdict": _OF_JSON,
    "batch": _OF_JSON,
    "claims": _texts({**_LISTS, **_REASONED}),
}
"""Damages without loss, in the order in which they are applied to one reply."""
FATAL: Mapping[str, Damage] = {
    "cut by length": lambda message: _ended("length")(
        _text(lambda text: text[: len(text) // 2])(message)
    ),
    "ended by a filter": _ended("content_filter"),
    "unclosed think block": _text(lambda text: f"<think>\nIt says nine. {text}"),
    "empty": lambda message: AIMessage(""),
}
"""Damages with loss: a reply that has one must never be read as complete."""


def applied(message: AIMessage, *damages: Damage) -> AIMessage:
    """A reply after several damages in turn."""
    for damage in damages:
        message = damage(message)
    return message


class Damaged(NamedTuple):
    """The outcome of a damaged reply."""

    kind: Kind
    names: tuple[str, ...]
    fatal: bool
    outcome: Outcome


def outcomes() -> Iterator[Damaged]:
    """Every damage alone and every pair of damages, in all kinds of replies."""
    for kind, harmless in DAMAGES.items():
        known = {**harmless, **FATAL}
        for names in [*((name,) for name in known), *combinations(known, 2)]:
            reply = applied(AIMessage(GOOD[kind]), *(known[name] for name in names))
            fatal = not FATAL.keys().isdisjoint(names)
            yield Damaged(kind, names, fatal, outcome_of(kind, reply))
