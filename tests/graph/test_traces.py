"""What a tracer sees of the model calls of a run."""

from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_openai import ChatOpenAI

from conflictscore.labelers import LabelerName
from tests.world import DISAGREEING, paper_loop


class Tracer(BaseCallbackHandler):
    """Notes each model call's name, tags and metadata."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, list[str], dict[str, Any]]] = []

    def on_chat_model_start(self, serialized: Any, messages: Any, **told: Any) -> None:
        self.calls.append((told["name"], told["tags"], told["metadata"]))


@pytest.mark.parametrize(
    ("labeler", "label"),
    [
        ("json", ["label claim 1, document 1", "label claim 1, document 2"]),
        ("per-document", ["label claim 1, document 1", "label claim 1, document 2"]),
    ],
)
def test_each_call_says_what_it_is_for(
    model: ChatOpenAI, labeler: LabelerName, label: list[str]
) -> None:
    tracer = Tracer()
    graph = paper_loop(model, labeler=labeler)
    graph.invoke(
        {"question": "When was it lit?", "documents": DISAGREEING[:2]}, {"callbacks": [tracer]}
    )

    again = ["correct", "decompose", *label, "justify"]
    assert sorted(call[0] for call in tracer.calls) == sorted(
        ["generate", "decompose", *label, *again]
    )
    tags, metadata = next(call[1:] for call in tracer.calls if call[0] == label[0])
    assert "conflictscore:label" in tags
    assert metadata["conflictscore_step"] == "label"
    assert str(metadata["conflictscore_claim"]) == "1"
