"""Looking further: the retriever is asked once more about claims in doubt."""

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_openai import ChatOpenAI
from pydantic import Field

from conflictscore import create_self_correcting_rag
from conflictscore.errors import ProviderError
from conflictscore.graph.create import run_context
from conflictscore.graph.self_correction import build_self_correction_graph
from conflictscore.models.ledger import Ledger, attach
from conflictscore.models.limits import ConcurrencyLimit
from conflictscore.nodes.record import run_of
from conflictscore.reporting.run_log import log_object
from conflictscore.retrieval import CorpusRetriever
from conflictscore.retrieval.questions import read_questions
from conflictscore.retrieval.recording import RecordedRetriever, record_questions
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply
from tests.models.calling import calling
from tests.revising import LONG, RevisingWorld
from tests.world import applied, scripted_model

FILES = {
    "gazette": "When the lamp was lit: the lamp was lit in 1871.",
    "log": "When the lamp was lit: it was in 1874, says the log of the lamp that was lit.",
    "almanac": "The harbour almanac gives 1874 for the lamp.",
    "diary": "A keeper's diary of 1874 tells of the lamp.",
    "deeds": "The tower was built in 1840 and rises above the shore.",
}
RIGHT = LONG.replace("1871", "1874")
QUESTION = "When was the lamp lit?"


class Searches(BaseRetriever):
    """A corpus that remembers its queries, and can fail at one of the searches."""

    corpus: BaseRetriever
    queries: list[str] = Field(default_factory=list)
    fails_at: int = 0

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        self.queries.append(query)
        if len(self.queries) == self.fails_at:
            raise ProviderError("the search is down", provider="search")
        return self.corpus.invoke(query)


@pytest.fixture
def world() -> RevisingWorld:
    return RevisingWorld(broken={"weigh": "SIDE: NEITHER"})


@pytest.fixture
def corpus(tmp_path: Path) -> Searches:
    """The question finds the gazette and the log, which tie; other queries find more."""
    for name, text in FILES.items():
        (tmp_path / f"{name}.txt").write_text(text, "utf-8")
    return Searches(corpus=CorpusRetriever.from_paths([tmp_path], k=2))


def ask(
    model: Any, retriever: BaseRetriever | None, documents: Any = (), **settings: Any
) -> dict[str, Any]:
    given = {"labeler": "json", "look_further": "disputed", "unsettled": "keep", **settings}
    graph = create_self_correcting_rag(model, retriever, cache=False, **given)
    return graph.invoke({"question": QUESTION, "documents": documents})


def names(state: dict[str, Any]) -> list[str]:
    return [Path(document["url"]).stem for document in state["documents"]]


def test_a_tie_is_unchanged_without_a_further_search(
    model: ChatOpenAI, corpus: Searches, world: RevisingWorld
) -> None:
    state = ask(model, corpus, look_further="off")

    assert sorted(names(state)) == ["gazette", "log"]
    assert (state["answer"], corpus.queries) == (LONG, [QUESTION])
    assert world.asked["look_further"] == 0
    assert not state["searches"]


def test_a_tie_is_settled_by_what_a_further_search_finds_and_only_new_pairs_are_labelled(
    model: ChatOpenAI, corpus: Searches, world: RevisingWorld
) -> None:
    state = ask(model, corpus)

    assert state["answer"] == RIGHT
    assert names(state)[2:] == ["diary", "almanac"]
    assert [document["number"] for document in state["documents"]] == [1, 2, 3, 4]
    assert corpus.queries == [QUESTION, "lamp diary 1871", "lamp almanac 1874"]
    first, second = state["attempts"]
    assert (first["round"], second["round"]) == (0, 1)
    lamp = first["report"]["claims"][0]
    assert [label["document"] for label in lamp["labels"]] == [1, 2, 3, 4]
    assert [flip["balance_before"] for flip in applied(state)] == [[-0.5]]
    # two claims with two documents, the same with two more, and the new claim with one document of
    # each side, since the quotations for the old claim decide the others
    assert world.asked["label"] == 4 + 4 + 2
    assert world.asked["generate"] == 1
    [prompt] = world.prompts["look_further"]
    assert not any(document["text"] in prompt for document in state["documents"])


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (
            {"look_further": "no idea"},
            "the claim itself was the query, since no query could be written",
        ),
        ({"look_further": Fault(status=400, message="not now")}, "not now"),
    ],
)
def test_without_queries_the_claim_itself_is_searched_for(
    model: ChatOpenAI, corpus: Searches, world: RevisingWorld, broken: dict[str, Any], said: str
) -> None:
    world.broken = broken

    state = ask(model, corpus)

    assert corpus.queries == [QUESTION, "The lamp was lit in 1871."]
    assert any(said in note for note in state["notes"])


def test_a_search_that_fails_is_noted_and_the_loop_goes_on(
    model: ChatOpenAI, corpus: Searches
) -> None:
    corpus.fails_at = 2

    state = ask(model, corpus)

    assert state["answer"] == RIGHT, "the second search settles it"
    assert state["searches"][0]["note"] == "the search is down"
    assert any("further search for “The lamp" in n and "is down" in n for n in state["notes"])


def test_copies_are_marked_the_known_are_not_taken_again_and_the_rest_is_left_out(
    model: ChatOpenAI,
) -> None:
    long = " ".join(f"word{n}" for n in range(40))
    more = [("a", f"{long} The lamp was lit in 1874."), ("b", f"{long} The lamp was lit in 1874!")]
    more += [(name, f"Note {name}: a lamp.") for name in "cdefg"]

    class Flood(BaseRetriever):
        def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
            first = [("1", FILES["gazette"]), ("2", FILES["log"])]
            found = first if query == QUESTION else [*first, *more]
            return [Document(text, metadata={"url": f"https://{n}.test/"}) for n, text in found]

    state = ask(model, Flood())

    first, second = state["searches"]
    assert (first["known"], first["found"]) == ([1, 2], [3, 4, 5, 6])
    assert (second["known"], second["found"]) == ([1, 2, 3, 4, 5, 6], [7, 8, 9])
    assert first["left_out"] == ["https://e.test/", "https://f.test/", "https://g.test/"]
    assert [d["duplicate_of"] for d in state["documents"][2:5]] == [None, 3, None]


@pytest.mark.parametrize(("calls", "said"), [(7, "further search for"), (8, "removed again")])
def test_a_budget_used_up_on_the_way_leaves_what_was_known(
    world: RevisingWorld, corpus: Searches, calls: int, said: str
) -> None:
    """The answer, claims and labels take seven calls, and the queries one."""
    with OpenAIServer(world) as server:
        asked = attach(calling(server, limit=ConcurrencyLimit(1)), Ledger(max_calls=calls))
        state = ask(asked, corpus)

    assert (state["answer"], state["checked"]) == (LONG, "partly")
    assert len(state["documents"]) == 2
    assert state["report"]["coverage"] == 1
    assert not any(search["found"] for search in state["searches"])
    assert any(said in note for note in state["notes"])


def test_documents_without_a_labelled_pair_are_removed_again(corpus: Searches) -> None:
    class JudgeGoesSilent(RevisingWorld):
        def __call__(self, request: ChatRequest) -> Reply | str | Fault:
            if self.asked["look_further"]:
                self.broken["label"] = "Hm."
            return super().__call__(request)

    with OpenAIServer(JudgeGoesSilent()) as server:
        state = ask(scripted_model(server), corpus)

    assert (state["answer"], state["checked"], len(state["documents"])) == (LONG, "partly", 2)
    [why] = {search["note"] for search in state["searches"]}
    assert why.startswith("none of their pairs could be labelled (unreadable reply")
    assert f"documents found by further searches were removed again: {why}" in state["notes"]


def test_a_second_round_has_new_evidence_to_find(
    model: ChatOpenAI, corpus: Searches, world: RevisingWorld
) -> None:
    world.queries = "FOR: harbour almanac"

    read = world.read

    def reads(topic: str, document: str) -> str | Fault:
        world.queries = "FOR: keeper's diary"
        return read(topic, document)

    world.read = reads

    state = ask(model, corpus, max_rounds=3)

    first, *again = state["searches"]
    assert (first["round"], first["found"]) == (0, [3])
    assert [(search["round"], search["claim"]) for search in again] == [
        (1, "The lamp was lit in 1874.")
    ]
    assert again[0]["found"] == [4]
    assert len(state["changes"]) == 2, "the second time with the diary"
    assert state["reason"] == "there is no new evidence"


async def test_further_searches_are_recorded_from_a_log_and_replayed(
    world: RevisingWorld, corpus: Searches, tmp_path: Path
) -> None:
    with OpenAIServer(world) as server:
        context = run_context(scripted_model(server), corpus, cache=False, look_further="disputed")
        state = await build_self_correction_graph(context).ainvoke({"question": QUESTION})
        log, recording = tmp_path / "log.jsonl", tmp_path / "recording.jsonl"
        log.write_text(json.dumps(log_object(run_of(state), context, 1.0)) + "\n", "utf-8")
        asked = read_questions(log)
        await record_questions(asked, corpus, recording, search="corpus", parameters={"top_k": 2})
        replayed = RecordedRetriever.from_file(recording, k=2)
        again = ask(scripted_model(server), replayed)
        world.queries = "FOR: something else"
        other = ask(scripted_model(server), replayed)

    assert asked == (QUESTION, "lamp diary 1871", "lamp almanac 1874")
    assert again["answer"] == state["answer"] == RIGHT
    assert again["searches"] == state["searches"]
    assert other["answer"] == LONG
    assert "there is no recording for the question 'something else'" in str(other["notes"])


def test_the_diagram_of_the_house_has_the_nodes_and_the_ways_of_the_graph(
    model: ChatOpenAI,
) -> None:
    text = (Path(__file__).parents[2] / "ARCHITECTURE.md").read_text("utf-8")
    diagram = re.sub(r'\(\[[^\]]*\]\)|-- "[^"]*" (?=-->)', "", text.partition("```mermaid")[2])
    drawn = set()
    for line in diagram.partition("```")[0].splitlines()[2:]:
        steps = [[name.strip() for name in part.split("&")] for part in line.split("-->")]
        for before, after in pairwise(steps):
            drawn |= {(one, other) for one in before for other in after}
    graph = create_self_correcting_rag(model, cache=False).get_graph()
    ways = {(edge.source, edge.target) for edge in graph.edges}
    outside = {"question", "conversation", "answer"}

    assert {way for way in drawn if not outside & {*way}} <= ways
    nodes = {node for node in graph.nodes if not node.startswith("__")}
    assert {name for way in drawn for name in way} - outside == nodes
