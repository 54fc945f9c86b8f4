"""How many damaged replies are read rightly, and how many wrongly.

Good replies (a verdict on a pair, a batch of verdicts, a list of claims) are damaged in the ways
that models and servers are known for, in each way alone and in every two together. A reply that has
lost nothing is to be read as the good one; one that was cut is to be refused. Then an answer is
scored by a model all of whose replies of one kind are damaged, in each way alone; told are the
calls beyond those of the good run.

    python -m measurements.damaged_replies
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import Any, Literal, NamedTuple

from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatResult

from conflictscore.graph.create import create_conflict_scorer
from conflictscore.labelers.batch import MODES, VERDICTS, Batch, read_reply
from conflictscore.labelers.label_words import ANSWER_ALIASES, label_of
from conflictscore.models.json_replies import json_reply
from conflictscore.models.replies import abnormal_ending, reply_text
from conflictscore.nodes.claim_replies import read_claims
from conflictscore.prompts import PromptSet
from conflictscore.records import Claim, Document
from measurements.scripted_model import NotedPrompts, ScriptedModel
from tests.batches import batch_of, batch_reply

__all__ = ["DAMAGES", "FATAL", "GOOD", "Outcome", "applied", "outcome_of", "outcomes"]

Kind = Literal["verdict", "batch", "claims"]
Outcome = Literal["right", "wrong", "refused"]
Damage = Callable[[AIMessage], AIMessage]

ANSWER = "The gate opens at nine. It is green, and it has been there for forty years."
_CLAIMS = (
    "The gate opens at nine.",
    "The gate is green.",
    "The gate has been there for forty years.",
)
_QUOTE = "opens at nine, gate is green"
_DOCUMENTS = (
    Document(number=1, text=f"The gate {_QUOTE}."),
    Document(number=2, text="Nothing of the kind."),
)
_PAIRS = tuple(
    (Claim(number=n, text=text), document)
    for n, text in enumerate(_CLAIMS, start=1)
    for document in _DOCUMENTS
)
_BATCH = Batch(
    tuple(Claim(number=n, text=text) for n, text in enumerate(_CLAIMS, start=1)),
    _DOCUMENTS,
    {document.number: document.text for document in _DOCUMENTS},
    frozenset(),
    _PAIRS,
)
_LABELS = ("SUPPORTS", "IRRELEVANT", "CONTRADICTS", "IRRELEVANT", "IRRELEVANT", "SUPPORTS")


def _verdicts() -> list[dict[str, Any]]:
    claims, documents = _BATCH.claim_ids(), _BATCH.document_ids()
    return [
        {
            "claim": int(claims[claim.number]),
            "document": int(documents[document.number]),
            "snippet": "",
            "reason": "because it says so",
            "answer": label,
        }
        for (claim, document), label in zip(_PAIRS, _LABELS, strict=True)
    ]


_VERDICT = {
    "claim": _CLAIMS[0],
    "document_snippet": _QUOTE,
    "reasoning": "The document says so.",
    "answer": "SUPPORTS",
}
_ITEM = re.compile(r"^(?!.*[cC]laims:)(?=[\w\d-])", re.MULTILINE)
GOOD: Mapping[Kind, str] = {
    "verdict": json.dumps(_VERDICT),
    "batch": json.dumps({VERDICTS: _verdicts()}),
    "claims": "Claims:\n" + "\n".join(_CLAIMS),
}
"""A reply of each kind as it is asked for."""


def read(kind: Kind, message: AIMessage) -> Any:
    """Read a reply as a step does.

    Raises:
        ValueError: It is refused.
    """
    if ending := abnormal_ending(message):
        raise ValueError(ending)
    if kind == "verdict":
        return label_of(json_reply(message, frozenset({"answer"}), aliases=ANSWER_ALIASES))
    if kind == "claims":
        return read_claims(reply_text(message), ANSWER)
    reply = json_reply(message, frozenset({VERDICTS}), listed=VERDICTS)
    labels, _ = read_reply(reply, _BATCH, MODES["matrix"])
    return {(one.claim, one.document): one.label for one in labels}


def outcome_of(kind: Kind, message: AIMessage) -> Outcome:
    """Whether a reply is read as the good one of its kind; of a batch, every verdict it has."""
    try:
        found = read(kind, message)
    except ValueError:
        return "refused"
    good = read(kind, AIMessage(GOOD[kind]))
    if kind == "batch" and found != good:  # what is left open is asked for again
        return "refused" if found.items() <= good.items() else "wrong"
    return "right" if found == good else "wrong"


def _text(change: Callable[[str], str]) -> Damage:
    return lambda message: message.model_copy(update={"content": change(str(message.content))})


def _around(before: str, after: str = "") -> Damage:
    return _text(lambda text: f"{before}{text}{after}")


def _object(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Damage:
    """A change of the verdict, or of each in a batch; none where the text is no JSON any more."""

    def changed(text: str) -> str:
        try:
            value = json.loads(text)
        except ValueError:
            return text
        if not isinstance(value, dict):
            return text
        if VERDICTS in value:
            return json.dumps({VERDICTS: [change(one) for one in value[VERDICTS]]})
        return json.dumps(change(value))

    return _text(changed)


def _said(forms: Mapping[str, str]) -> Damage:
    return _object(lambda one: {**one, "answer": forms.get(one["answer"], one["answer"])})


def _as_tool_call(message: AIMessage) -> AIMessage:
    try:
        args = json.loads(str(message.content))
    except ValueError:
        args = None
    if not isinstance(args, dict):
        return message
    call = {"name": "evidence_label", "args": args, "id": "1", "type": "tool_call"}
    return message.model_copy(update={"content": "", "tool_calls": [call]})


def _lines(mark: Callable[[int, str], str]) -> Damage:
    """A change of each line of claims."""

    def changed(text: str) -> str:
        head, *lines = text.split("\n")
        return "\n".join([head, *(mark(n, line) for n, line in enumerate(lines, start=1) if line)])

    return _text(changed)


def _bare(text: str) -> list[str]:
    """The claims of an undamaged list; the lines of any other."""
    return [line for line in text.removeprefix("Claims:\n").split("\n") if line]


def _listed(form: Callable[[list[str]], str]) -> Damage:
    """The claims in another form; nothing where they are in one already."""
    return _text(lambda text: text if text[:1] in {"[", "{", "|", "<"} else form(_bare(text)))


def _ended(reason: str) -> Damage:
    return lambda message: message.model_copy(
        update={"response_metadata": {"finish_reason": reason}}
    )


_REASONED: dict[str, Damage] = {
    "think block": _around("<think>\nIt says nine: {supports}.\nClaims: three?\n</think>\n\n"),
    "lone closing think": _around("It says nine, so SUPPORTS.\n</think>\n\n"),
    "Harmony channels": _around(
        "<|channel|>analysis<|message|>So it is.<|end|><|start|>assistant"
        "<|channel|>final<|message|>",
        "<|return|>",
    ),
    "tag with attributes": _around('<think effort="high">\nIt says nine.\nClaims: a?\n</think>\n'),
    "tag of another name": _around("<scratchpad>\nIt says nine.\nClaims: a?\n</scratchpad>\n"),
    "code fence": _around("```\n", "\n```"),
    "tokens of a chat template": _around("<|im_start|>assistant\n", "<|im_end|>"),
    "byte-order mark": _around("\ufeff"),
}
_JSON: dict[str, Damage] = {
    "label in small letters": _said(
        {"SUPPORTS": "supports", "CONTRADICTS": "Contradicts.", "IRRELEVANT": "irrelevant"}
    ),
    "label inflected": _said(
        {"SUPPORTS": "SUPPORTED", "CONTRADICTS": "CONTRADICTED", "IRRELEVANT": "Not relevant"}
    ),
    "label in German": _said(
        {"SUPPORTS": "unterstützt", "CONTRADICTS": "widerspricht", "IRRELEVANT": "irrelevant"}
    ),
    "label in Polish": _said(
        {"SUPPORTS": "potwierdza", "CONTRADICTS": "zaprzecza", "IRRELEVANT": "nieistotne"}
    ),
    "words of entailment": _said(
        {"SUPPORTS": "Entailment", "CONTRADICTS": "Refuted", "IRRELEVANT": "NEUTRAL"}
    ),
    "label in bold after a word": _object(
        lambda one: {**one, "answer": f"Final answer: **{one['answer']}**"}
    ),
    "label in an object": _object(lambda one: {**one, "answer": {"label": one["answer"]}}),
    "label under another name": _object(
        lambda one: (
            {**{k: v for k, v in one.items() if k != "answer"}, "label": one["answer"]}
            if "answer" in one
            else one
        )
    ),
    "list for a text": _object(
        lambda one: {k: [v, "more"] if k.startswith("reason") else v for k, v in one.items()}
    ),
    "no number": _object(lambda one: {**one, "confidence": float("nan")}),
    "unknown field": _object(lambda one: {**one, "confidence": 0.9}),
    "no echo of the claim": _object(
        lambda one: {k: v for k, v in one.items() if k != "claim" or "document" in one}
    ),
    "null for a text": _object(
        lambda one: {k: None if k in {"snippet", "document_snippet"} else v for k, v in one.items()}
    ),
    "under a field": _text(lambda text: f'{{"result": {text}, "status": "ok"}}'),
    "Windows line ends": _text(lambda text: text.replace(", ", ",\r\n")),
    "comments": _text(lambda text: text.replace('", ', '", // so it is\n')),
    "zero-width spaces": _text(lambda text: text.replace('"', '\u200b"', 3)),
    "raw line break": _text(lambda text: text.replace("says so", "says\nso")),
    "bare quotation marks": _text(lambda text: text.replace("says so", 'says "so" here')),
    "trailing comma": _text(lambda text: re.sub(r"\}$", ",}", text)),
    "single quotes": _text(lambda text: text.replace('"', "'")),
    "typographic quotes": _text(lambda text: re.sub(r'"([^"]*)"', "“\\1”", text)),
    "template before": _around('{"claim": "...", "answer": "SUPPORTS | CONTRADICTS"}\n'),
    "one-element list": _text(lambda text: f"[{text}]" if text.startswith("{") else text),
    "the same twice": _text(lambda text: f"{text}\n{text}" if text.startswith("{") else text),
    "prose around": _around("Here it is {as asked}:\n\n", "\n\nTell me if you need more!"),
    "JSON fence": _around("```json\n", "\n```"),
    "tool call": _as_tool_call,
    "tool call in text": _around('<tool_call>\n{"name": "label", "arguments": ', "}\n</tool_call>"),
}
_LISTS: dict[str, Damage] = {
    "bullets": _lines(lambda n, line: f"- {line}"),
    "numbers": _lines(lambda n, line: f"{n}. {line}"),
    "blank lines": _text(lambda text: text.replace("\n", "\n\n")),
    "another heading": _text(
        lambda text: text.replace("Claims:", "Here are the atomic claims:", 1)
    ),
    "no heading": _text(lambda text: text.removeprefix("Claims:\n")),
    "heading in bold": _text(lambda text: text.replace("Claims:", "**Claims:**", 1)),
    "JSON list": _text(lambda text: json.dumps(text.removeprefix("Claims:\n").split("\n"))),
    "JSON objects": _listed(
        lambda lines: json.dumps(
            {"claims": [{"id": f"c{n}", "claim": line} for n, line in enumerate(lines)]}
        )
    ),
    "JSON lines": _listed(lambda lines: "\n".join(json.dumps({"claim": one}) for one in lines)),
    "table": _listed(
        lambda lines: (
            "| # | Claim |\n|---|---|\n"
            + "\n".join(f"| {n} | {line} |" for n, line in enumerate(lines, start=1))
        )
    ),
    "HTML list": _listed(lambda lines: "<ul>\n<li>" + "</li>\n<li>".join(lines) + "</li>\n</ul>"),
    "quotation marks": _lines(lambda n, line: line if line[:1] in {"|", "<", "{"} else f'"{line}"'),
    "parent of nested bullets": _text(
        lambda text: re.sub(_ITEM, "  - ", text).replace("  - ", "- About the gate:\n  - ", 1)
    ),
    "remark at the end": _around("", "\n\nTell me if you want them shorter!"),
}
DAMAGES: Mapping[Kind, Mapping[str, Damage]] = {
    "verdict": {**_JSON, **_REASONED},
    "batch": {**_JSON, **_REASONED},
    "claims": {**_LISTS, **_REASONED},
}
"""Damages that lose nothing, in the order in which damages of one reply are applied."""
FATAL: Mapping[str, Damage] = {
    "cut by length": lambda message: _ended("length")(
        _text(lambda text: text[: len(text) // 2])(message)
    ),
    "ended by a filter": _ended("content_filter"),
    "unclosed think block": _around("<think>\nIt says nine. "),
    "empty": lambda message: AIMessage(""),
}
"""Damages that lose something: a reply that has it must never be read as a whole one."""


def applied(message: AIMessage, *damages: Damage) -> AIMessage:
    """A reply with damages, one after the other."""
    for damage in damages:
        message = damage(message)
    return message


class Damaged(NamedTuple):
    """Outcome of a damaged reply."""

    kind: Kind
    names: tuple[str, ...]
    fatal: bool
    outcome: Outcome
    reply: AIMessage


def outcomes() -> Iterator[Damaged]:
    """Every damage alone and every two together, in all kinds of replies."""
    for kind, harmless in DAMAGES.items():
        known = {**harmless, **FATAL}
        for names in [*((name,) for name in known), *combinations(known, 2)]:
            reply = applied(AIMessage(GOOD[kind]), *(known[name] for name in names))
            fatal = not FATAL.keys().isdisjoint(names)
            yield Damaged(kind, names, fatal, outcome_of(kind, reply), reply)


class _Damaging(ScriptedModel):
    """Damages its replies to the prompts of one step."""

    step: str
    damage: Damage
    asked: list[str]

    def _generate(self, messages: Any, *more: Any, **named: Any) -> ChatResult:
        self.asked.append(self.step)  # a list, which copies of the model share
        result = super()._generate(messages, *more, **named)
        name, _ = self.prompts.made(messages[0].text)
        if name.startswith(self.step):
            for one in result.generations:
                one.message = self.damage(one.message)  # type: ignore[arg-type]
        return result


_STEPS: Mapping[Kind, tuple[str, str]] = {
    "verdict": ("label_json", "json"),
    "batch": ("label_per_document", "per-document"),
    "claims": ("decompose", "json"),
}


def calls_with(kind: Kind, damage: Damage) -> int:
    """Calls that scoring an answer takes where all replies of a kind have a damage."""
    step, labeler = _STEPS[kind]
    prompts = NotedPrompts(PromptSet.load())

    def reply(name: str, fields: Mapping[str, Any]) -> str:
        if name.startswith("decompose"):
            return GOOD["claims"]
        if name == "label_json":
            return json.dumps({**_VERDICT, "claim": fields["claim"], "document_snippet": ""})
        asked = batch_of(prompts.render(name, **fields))
        return batch_reply([asked.verdict(*pair, lambda *_: "SUPPORTS") for pair in asked.pairs])

    model = _Damaging(prompts=prompts, reply=reply, step=step, damage=damage, asked=[])
    settings: Any = {"labeler": labeler, "prompts": prompts, "context_window": 32_000}
    scorer = create_conflict_scorer(model, cache=False, **settings)
    texts = [f"{n}. {document.text}" for n, document in enumerate(_DOCUMENTS * 3)]
    scorer.invoke({"answer": ANSWER, "documents": texts})
    return len(model.asked)


def main() -> None:
    """Print the shares, every reply without a loss that was not read rightly."""
    found = [*outcomes()]
    for kind in DAMAGES:
        for several in (1, 2):
            of_them = [one for one in found if one.kind == kind and len(one.names) == several]
            for fatal in (False, True):
                counts = Counter(one.outcome for one in of_them if one.fatal is fatal)
                what = "something lost" if fatal else "nothing lost"
                shares = ", ".join(f"{name} {n}" for name, n in sorted(counts.items()))
                print(f"{kind:8} {several} damage(s), {what:14}: {shares} of {counts.total()}")
    for one in found:
        if one.outcome == "wrong" or (not one.fatal and one.outcome != "right"):
            print(f"  {one.outcome}: {one.kind}: {' + '.join(one.names)}")
    for kind, harmless in DAMAGES.items():
        good = calls_with(kind, lambda message: message)
        for what, damages in (("nothing lost", harmless), ("something lost", FATAL)):
            extra = {name: calls_with(kind, damage) - good for name, damage in damages.items()}
            none = sum(not calls for calls in extra.values())
            told = ", ".join(f"{name} {calls:+}" for name, calls in extra.items() if calls)
            print(f"{kind:8} {what:14}: {good} calls, no more in {none} of {len(extra)}; {told}")


if __name__ == "__main__":
    main()
