"""The loop as a node of somebody else's graph: it uses only its own collaborators."""

from dataclasses import dataclass, replace
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict

from conflictscore import create_conflict_scorer, create_self_correcting_rag
from conflictscore.graph.binding import running_with
from conflictscore.graph.create import run_context
from conflictscore.graph.self_correction import build_self_correction_graph
from conflictscore.records import Method
from tests.world import DISAGREEING, PAPER, paper_loop

QUESTION: Any = {"question": "When was the lamp lit?", "documents": DISAGREEING}
FIRST, LAST = "It was lit in 1871.", "It was lit in 1874."


class Outer(TypedDict, total=False):
    question: str
    documents: list[dict[str, str]]
    answer: str
    asked_by: str


@dataclass
class Person:
    name: str


def parent(inner: Any, schema: Any) -> Any:
    """A graph with its own context, which it reads after the loop."""

    def asked_by(state: Outer, runtime: Runtime[Any]) -> Outer:
        known = runtime.context
        return {
            "asked_by": known["name"] if isinstance(known, dict) else getattr(known, "name", "")
        }

    graph = StateGraph(Outer, context_schema=schema)
    graph.add_node("loop", inner)
    graph.add_node("asked_by", asked_by)
    graph.add_edge(START, "loop")
    graph.add_edge("loop", "asked_by")
    graph.add_edge("asked_by", END)
    return graph.compile()


class Asking(BaseRetriever):
    """A retriever that asks a loop the question, and returns the loop's documents."""

    graph: Any
    methods: list[str] = Field(default_factory=list)

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        state = self.graph.invoke({"question": query, "documents": DISAGREEING})
        self.methods.append(state["method"])
        return [Document(d["text"], metadata={"title": d["title"]}) for d in DISAGREEING]


@pytest.mark.parametrize(
    ("schema", "context"),
    [(dict, {"name": "me"}), (Person, Person("me")), (None, None)],
    ids=["a mapping", "a dataclass", "none"],
)
async def test_the_loop_is_a_node_of_a_parent_with_any_context_whose_streams_have_its_events(
    model: ChatOpenAI, schema: Any, context: Any
) -> None:
    graph = parent(paper_loop(model), schema)

    states = [
        graph.invoke(QUESTION, context=context),
        await graph.ainvoke(QUESTION, context=context),
    ]

    wanted = (LAST, "me" if context else "")
    assert [(state["answer"], state["asked_by"]) for state in states] == [wanted, wanted]

    how: Any = {"stream_mode": "custom", "subgraphs": True, "context": context}

    waited = [event for _, event in graph.stream(QUESTION, **how)]
    awaited = [event async for _, event in graph.astream(QUESTION, **how)]

    for events in (waited, awaited):
        assert [e["answer"] for e in events if e["event"] == "answer"] == [FIRST, LAST]
        assert events[-1]["event"] == "flip"


@pytest.mark.parametrize("context", [{"user": "me"}, Person("me")])
def test_a_context_that_is_given_to_the_graph_itself_is_left_alone(
    model: ChatOpenAI, context: Any
) -> None:
    graph = paper_loop(model)
    scorer = create_conflict_scorer(model, cache=False)

    assert graph.invoke(QUESTION, context=context)["answer"] == LAST
    scored = scorer.invoke({"answer": FIRST, "documents": DISAGREEING}, context=context)
    assert scored["report"]["cs_c"] == 1.0


async def test_a_loop_inside_a_node_of_another_loop_keeps_its_own_settings(
    model: ChatOpenAI,
) -> None:
    """A retriever may run its own loop."""
    once = replace(run_context(model, cache=False), method=Method.RAG)
    search = Asking(graph=build_self_correction_graph(once))
    outer = create_self_correcting_rag(model, search, cache=False, **PAPER)

    with running_with(outer, run_context(model, search, cache=False, **PAPER)):
        state = await outer.ainvoke({"question": "When was the lamp lit?"})

    assert (state["method"], search.methods) == ("regenerated-rag", ["rag"])
    assert outer.get_context_jsonschema() is None, "a host has nothing to bring"
