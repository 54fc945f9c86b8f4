"""Provides an Inspect solver that runs the loop, and an Inspect scorer that reports its scores.

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
"""The key under which the run is saved in a sample's store."""
# the fields of the final state that are saved
_SAVED = ("first_answer", "answer", "flipped", "changes", "checked", "report", "notes")


@solver
def self_correcting_rag(
    retriever: BaseRetriever | None = None, model: Model | None = None, **settings: Any
) -> Solver:
    """Answer with the loop, and save both answers and the evidence in the sample's store.

    If the sample has ``choices``, they are the options of a multiple-choice question. If the
    sample's metadata contains ``documents``, they replace the documents from the retriever. The
    calls to the model are made by conflictscore, not by Inspect, so they do not appear in Inspect's
    log. All other arguments are passed to :func:`~conflictscore.create_self_correcting_rag`.
    """
    graph = create_self_correcting_rag(model, retriever, **settings)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        rag_input: RagInput = {"question": state.input_text}
        if state.choices:
            rag_input["options"] = [choice.value for choice in state.choices]
        if documents := state.metadata.get("documents"):
            rag_input["documents"] = documents
        final = await graph.ainvoke(rag_input)
        state.store.set(RUN, {name: final.get(name) for name in _SAVED})
        # a failed run has no answer, but Inspect needs a text; ``scores`` then says why
        state.output = ModelOutput.from_content(str(state.model), final["answer"] or "")
        # Inspect's own ``generate``, which is not called here, would append the message
        state.messages.append(state.output.message)
        return state

    return solve


@scorer(metrics={"*": [mean(), stderr()]})  # the same metrics for each of the three scores
def scores() -> Scorer:
    """Report CS-C and CS-R of the first answer, in [0, 1], and whether the answer was flipped.

    The score ``flipped`` is 1 if the answer was flipped, otherwise 0. If the answer has no scores,
    the sample is unscored, and its explanation consists of the run's notes.
    """

    async def score(state: TaskState, target: Target) -> Score:
        run = state.store.get(RUN)
        if run is None:
            return Score.unscored(reason="no_response", explanation="a limit ended the sample")
        report = run["report"]
        if report is None or report["cs_c"] is None:
            reason = "scoring_failed" if run["answer"] else "no_response"
            why = "; ".join(run["notes"]) or "the answer has no scores"
            return Score.unscored(reason=reason, explanation=why)
        scores = {"cs_c": report["cs_c"], "cs_r": report["cs_r"]}
        return Score(value={**scores, "flipped": float(run["flipped"])}, answer=run["answer"])

    return score
