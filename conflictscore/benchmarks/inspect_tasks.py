"""Offers the loop as a solver for Inspect, and its scores as a scorer, for your own tasks.

```python
Task(dataset, solver=self_correcting_rag(retriever, model="openai:gpt-4.1-mini"), scorer=scores())
```
"""

from typing import Any

from langchain_core.retrievers import BaseRetriever

from conflictscore import create_self_correcting_rag
from conflictscore.errors import ConfigurationError, install_hint
from conflictscore.graph.keywords import Model
from conflictscore.loop.state import RagInput

try:
    from inspect_ai.model import ModelOutput
    from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
    from inspect_ai.solver import Generate, Solver, TaskState, solver
except ModuleNotFoundError:
    raise ConfigurationError(
        f"Inspect tasks need the package inspect-ai: {install_hint('inspect')}"
    ) from None

RUN = "conflictscore"
"""The key of the run in a sample's store."""
_KEPT = ("first_answer", "answer", "flipped", "changes", "checked", "report", "notes")


@solver
def self_correcting_rag(
    retriever: BaseRetriever | None = None, model: Model | None = None, **settings: Any
) -> Solver:
    """Answer with the loop, and store both answers and the evidence in the sample's store.

    In multiple choice, the sample's ``choices`` are the options. ``documents`` in the sample's
    metadata replace the documents of the retriever. The model is called by conflictscore, not by
    Inspect, so its calls do not appear in Inspect's log. The other arguments are those of
    :func:`~conflictscore.create_self_correcting_rag`.
    """
    graph = create_self_correcting_rag(model, retriever, **settings)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        rag_input: RagInput = {"question": state.input_text}
        if state.choices:
            rag_input["options"] = [choice.value for choice in state.choices]
        if documents := state.metadata.get("documents"):
            rag_input["documents"] = documents
        final = await graph.ainvoke(rag_input)
        state.store.set(RUN, {name: final.get(name) for name in _KEPT})
        state.output = ModelOutput.from_content(str(state.model), final["answer"])
        state.messages.append(state.output.message)
        return state

    return solve


@scorer(metrics={"*": [mean(), stderr()]})
def scores() -> Scorer:
    """Score the first answer by CS-C and CS-R, in [0, 1], and add 1 if the answer was changed."""

    async def score(state: TaskState, target: Target) -> Score:
        run = state.store.get(RUN) or {"report": None, "notes": ["a limit ended the sample"]}
        report = run["report"]
        if report is None or report["cs_c"] is None:
            return Score.unscored(reason="no_response", explanation="; ".join(run["notes"]))
        scores = {"cs_c": report["cs_c"], "cs_r": report["cs_r"]}
        return Score(value={**scores, "flipped": float(run["flipped"])}, answer=run["answer"])

    return score
