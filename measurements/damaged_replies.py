"""Counts the extra calls that damaged replies cause.

An answer is scored by a scripted model. All its replies of one kind (a verdict on a pair, a batch
of verdicts, or a list of claims) are damaged in a way that occurs with real models and servers.
Each row shows how many more calls scoring takes than without damage.
``tests/models/test_damaged_replies.py`` checks that each damaged reply is either read correctly or
refused.

    python -m measurements.damaged_replies
"""

import json
from collections.abc import Mapping
from typing import Any

from langchain_core.outputs import ChatResult

from conflictscore.graph.create import create_conflict_scorer
from conflictscore.prompts import PromptSet
from measurements.scripted_model import NotedPrompts, ScriptedModel
from tests.batches import batch_of, batch_reply
from tests.models.damages import ANSWER, DAMAGES, DOCUMENTS, FATAL, GOOD, Damage, Kind


class _Damaging(ScriptedModel):
    """A model that damages its replies to the prompts of one step."""

    step: str
    damage: Damage
    asked: list[str]

    def _generate(self, messages: Any, *more: Any, **named: Any) -> ChatResult:
        self.asked.append(self.step)  # a list, so that copies of the model share it
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
    """Return how many calls scoring takes if all replies of a kind are damaged in the same way."""
    step, labeler = _STEPS[kind]
    prompts = NotedPrompts(PromptSet.load())

    def reply(name: str, fields: Mapping[str, Any]) -> str:
        if name.startswith("decompose"):
            return GOOD["claims"]
        if name == "label_json":
            return json.dumps(
                {**json.loads(GOOD["verdict"]), "claim": fields["claim"], "document_snippet": ""}
            )
        asked = batch_of(prompts.render(name, **fields))
        return batch_reply(
            [asked.verdict(its_id, lambda *_: "SUPPORTS") for its_id in asked.claims]
        )

    model = _Damaging(prompts=prompts, reply=reply, step=step, damage=damage, asked=[])
    settings: Any = {"labeler": labeler, "prompts": prompts, "context_window": 32_000}
    scorer = create_conflict_scorer(model, cache=False, **settings)
    texts = [f"{n}. {document.text}" for n, document in enumerate(DOCUMENTS * 3)]
    scorer.invoke({"answer": ANSWER, "documents": texts})
    return len(model.asked)


def main() -> None:
    """Print two rows for each kind of reply, without and with loss of content."""
    for kind, harmless in DAMAGES.items():
        good = calls_with(kind, lambda message: message)
        for what, damages in (("nothing lost", harmless), ("something lost", FATAL)):
            extra = {name: calls_with(kind, damage) - good for name, damage in damages.items()}
            none = sum(not calls for calls in extra.values())
            told = ", ".join(f"{name} {calls:+}" for name, calls in extra.items() if calls)
            print(f"{kind:8} {what:14}: {good} calls, no more in {none} of {len(extra)}; {told}")


if __name__ == "__main__":
    main()
