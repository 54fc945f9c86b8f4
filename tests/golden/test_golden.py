"""Pins what users see of whole runs, in ``expected/``.

If a change is intended, rewrite the files and say why in the commit:

    UPDATE_GOLDEN=1 python -m pytest -n0 tests/golden
"""

import csv
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from langchain_core.messages import HumanMessage

from conflictscore import create_self_correcting_rag
from conflictscore.cli import main
from conflictscore.middleware import SelfCorrectingChatModel, self_correct
from tests.benchmarks.harness.quiz import RIGHT, WRONG, Quiz, told
from tests.benchmarks.truthfulqa.files import row, write_csv
from tests.fakes.openai_server import ChatRequest, Fault, Handler, OpenAIServer, Reply
from tests.middleware.agents import AgentWorld, agent_of
from tests.middleware.service.serving import ChatWorld, serving, user
from tests.revising import DOCUMENTS, RevisingWorld
from tests.talking import Shelf
from tests.world import DISAGREEING, PAPER, PAPER_OPTIONS, World, scripted_model

EXPECTED = Path(__file__).parent / "expected"
Golden = dict[str, Any]
QUESTION = "When was the lamp lit?"
AGREEING = [DISAGREEING[0], {**DISAGREEING[1], "text": "They lit the lamp in 1871."}]
LAMPS = (10, 11, 12)
"""Three lamps; the documents disagree about the first two."""
SENT_WITH = ("x-conflictscore-status", "x-conflictscore-checked")
_VERDICTS = ("supports", "contradicts", "irrelevant", "unlabelled")
_COLUMNS = ("method", "answer", "flipped", "kind", "cs_c", "cs_r", "coverage", "claims")


def agreeing(folder: Path) -> Golden:
    """All documents support the answer."""
    return _loop(World(), AGREEING)


def conflict_kept(folder: Path) -> Golden:
    """The documents disagree, and the model stays with its answer."""
    return _loop(World(regenerated="It was lit in 1871."), DISAGREEING, **PAPER)


def flip_in_the_papers_loop(folder: Path) -> Golden:
    """The documents disagree, and the whole answer is rewritten."""
    return _loop(World(), DISAGREEING, **PAPER)


def flip_in_place(folder: Path) -> Golden:
    """Most evidence contradicts one passage of a long answer; only this passage changes."""
    return _loop(RevisingWorld(), DOCUMENTS)


def refused_flip(folder: Path) -> Golden:
    """A reader gives a statement that adds an address."""
    said = "The lamp was lit in 1874 https://a.test/q?n=7."
    world = RevisingWorld(read=lambda topic, document: said)
    return _loop(world, DOCUMENTS)


def failed_judge_of_one_document(folder: Path) -> Golden:
    """One pair gets no verdict: UNLABELLED, and the answer counts as checked in part."""
    return _loop(_unreadable("The log says", World()), DISAGREEING, **PAPER)


def failed_judge(folder: Path) -> Golden:
    """No pair gets a verdict, so there is no score, and nothing is corrected."""
    return _loop(
        World(broken=dict.fromkeys(("label", "batch"), Fault(status=400, message="no"))),
        DISAGREEING,
    )


def spent_budget(folder: Path) -> Golden:
    """``--max-calls`` stops a run; the same command resumes it, and pays for nothing twice."""
    docs = folder / "docs"
    docs.mkdir()
    for document in DISAGREEING:
        (docs / f"{document['title']}.md").write_text(document["text"])
    with OpenAIServer(World()) as server:
        command = ("ask", QUESTION, "--docs", str(docs), "--json", *PAPER_OPTIONS)
        stopped = _cli(server, *command, "--max-calls", "4")
        paid = len(server.requests)
        resumed = _cli(server, *command)
        return {
            "exit_code": stopped.exit_code,
            "printed": stopped.stdout,
            "calls": paid,
            "answer_when_run_again": json.loads(resumed.stdout)["answer"],
            "calls_of_both": len(server.requests),
        }


def agent(folder: Path) -> Golden:
    """The middleware corrects an agent that searches by a tool."""
    with OpenAIServer(AgentWorld()) as server:
        state = agent_of(scripted_model(server)).invoke({"messages": [("user", QUESTION)]})
        said = [message.type for message in state["messages"]]
        run = run_shape(state["conflict"], len(server.requests))
        return {"said": state["messages"][-1].text, "messages": said, **run}


def chat_model(folder: Path) -> Golden:
    """The drop-in chat model."""
    with OpenAIServer(AgentWorld(tools=())) as server:
        chat = SelfCorrectingChatModel(
            scripted_model(server), Shelf(), content_cache=False, **PAPER
        )
        reply = chat.invoke([HumanMessage(QUESTION)])
        run = reply.response_metadata["conflictscore"]
        return {"said": reply.text, **run_shape(run, len(server.requests))}


def decorator(folder: Path) -> Golden:
    """A decorated function is asked again with the evidence in the question."""
    questions = []

    def answer(question: str, documents: Any) -> str:
        questions.append(question)
        return "It was lit in 1871." if len(questions) == 1 else "It was lit in 1874."

    with OpenAIServer(World()) as server:
        judge = scripted_model(server)
        decorate = self_correct(judge=judge, retriever=Shelf(), cache=False, **PAPER)
        run = decorate(answer).run(QUESTION)
        return {"asked": len(questions), **run_shape(run, len(server.requests))}


def service(folder: Path) -> Golden:
    """A chat completion of the service."""
    with OpenAIServer(ChatWorld()) as upstream, serving(upstream) as served:
        response = served.ask()
        run = served.run(response)
        return {
            "said": response.json()["choices"][0]["message"]["content"],
            "headers": {name: response.headers[name] for name in SENT_WITH},
            **run_shape(run, len(upstream.requests)),
        }


def service_streamed(folder: Path) -> Golden:
    """The same, streamed: the first answer is never sent."""
    with OpenAIServer(ChatWorld()) as upstream, serving(upstream) as served:
        client = served.openai.chat.completions.with_raw_response
        raw = client.create(model="conflictscore", messages=user(), stream=True)
        chunks = list(raw.parse())
        run = served.run(raw.http_response)
        return {
            "said": "".join(c.choices[0].delta.content or "" for c in chunks if c.choices),
            "finish_reason": next(c.choices[0].finish_reason for c in chunks[::-1] if c.choices),
            **run_shape(run, len(upstream.requests)),
        }


def truthfulqa_multiple_choice(folder: Path) -> Golden:
    """A correction, a harm, and a question whose documents agree, with two options each."""
    return _truthfulqa(folder, "multiple-choice", ["accuracy"])


def truthfulqa_free_form(folder: Path) -> Golden:
    """The same in free form, judged by a model."""
    return _truthfulqa(folder, "free-form", ["truthful", "informative"])


def _loop(world: Handler, found: list[dict[str, str]], **settings: Any) -> Golden:
    with OpenAIServer(world) as server:
        model, shelf = scripted_model(server), Shelf(found=found)
        graph = create_self_correcting_rag(model, shelf, cache=False, **settings)
        return run_shape(graph.invoke({"question": QUESTION}), len(server.requests))


def _unreadable(document: str, world: World) -> Handler:
    """The judge's replies about a document are no verdicts."""

    def answer(request: ChatRequest) -> Reply | str | Fault:
        said = world(request)
        judged = isinstance(said, str) and '"document_snippet"' in said
        return "I would rather not say." if judged and document in str(request.messages) else said

    return answer


def _truthfulqa(folder: Path, form: str, measures: list[str]) -> Golden:
    data, pages, out, table = (
        str(folder / name) for name in ("TruthfulQA.csv", "pages.jsonl", "run", "answers.csv")
    )
    write_csv(Path(data), _questions())
    Path(pages).write_text("\n".join(_pages()))
    options = ("--form", form, "--data", data, "--docs", pages, "--top-k", "3", "--out", out)
    methods = ("--methods", "rag,control-rag,regenerated-rag", "--labeler", "choice")
    with OpenAIServer(Quiz(first={11: RIGHT}, second={11: WRONG})) as server:
        done = _cli(server, "bench", "truthfulqa", *options, *methods, "--json", "--quiet")
        calls = len(server.requests)
    _run("export", out, "--to", table)
    with Path(table).open(encoding="utf-8", newline="") as file:
        rows = rows_shape(list(csv.DictReader(file)), measures)
    figures = json.loads(done.stdout)
    counted = {
        method["method"]: {name: method["measures"][name]["count"] for name in measures}
        for method in figures["methods"]
    }
    return {"ended": figures["ended"], "counted": counted, "rows": rows, "calls": calls}


def _questions() -> Iterator[dict[str, str]]:
    for lamp in LAMPS:
        right, wrong = told(lamp, RIGHT), told(lamp, WRONG)
        yield row(
            f"When was lamp {lamp} lit?",
            best_answer=right,
            best_incorrect_answer=wrong,
            correct_answers=right,
            incorrect_answers=wrong,
        )


def _pages() -> Iterator[str]:
    for lamp in LAMPS:
        years = [WRONG, RIGHT, RIGHT] if lamp in LAMPS[:2] else [WRONG] * 3
        for keeper, year in zip("ABC", years, strict=True):
            yield json.dumps({"text": f"Keeper {keeper} of lamp {lamp} says: {told(lamp, year)}"})


def _cli(server: OpenAIServer, *args: str) -> Result:
    return _run(*args, "--model", "scripted", "--base-url", server.base_url)


def _run(*args: str) -> Result:
    return CliRunner().invoke(main, args)


# A run is pinned in the form that its user sees, under independent names. Records change their
# names and fields; the pinned files should not. So only these functions know where a run stores
# what. Times, ids, ports, paths and hashes are left out.


def run_shape(run: Mapping[str, Any], calls: int) -> dict[str, Any]:
    """A run, from its summary as plain JSON or the final state of the graph.

    Args:
        run: The summary or the state.
        calls: How many requests the endpoint got.
    """
    return {
        "answer": run["answer"],
        "first_answer": run["first_answer"],
        "flipped": run["flipped"],
        "checked": run["checked"],
        "justified": bool(run.get("justification")),
        "documents": len(run["documents"]),
        "first_scores": _scores(run["report"]),
        "final_scores": _scores(run["final_report"]),
        "changes": _changes(run),
        "has_notes": bool(run["notes"]),
        "calls": calls,
    }


def rows_shape(rows: Sequence[Mapping[str, str]], measures: Sequence[str]) -> list[dict[str, str]]:
    """The rows of a benchmark's exported CSV file, in the order of questions and methods."""
    columns = ("question", *_COLUMNS, *measures)
    shown = [{name: row[name] for name in columns} for row in rows]
    return sorted(shown, key=lambda row: (row["question"], row["method"]))


def _scores(report: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if report is None:
        return None
    labels = {
        claim["text"]: {
            str(number): verdict.upper() for verdict in _VERDICTS for number in claim[verdict]
        }
        for claim in report["claims"]
    }
    return {
        "cs_c": _rounded(report["cs_c"]),
        "cs_r": _rounded(report["cs_r"]),
        "coverage": _rounded(report["coverage"]),
        "labels": {claim: dict(sorted(pairs.items())) for claim, pairs in labels.items()},
        "failed": bool(report["error"]),
    }


def _rounded(score: float | None) -> float | None:
    return None if score is None else round(score, 6)


def _changes(run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The proposed changes, accepted or refused, in order.

    A passage that was reviewed and kept is not a change.
    """
    return [
        {
            "before": one["before"],
            "after": one["after"],
            "action": str(one["action"]),
            "claims": [evidence["claim"]["text"] for evidence in one["claims"]],
            "accepted": one["accepted"],
            "has_reason": bool(one["reason"] if one["accepted"] else one["note"]),
        }
        for one in run["changes"]
        if one["before"] != one["after"]
    ]


RUNS: list[Callable[[Path], Golden]] = [
    agreeing,
    conflict_kept,
    flip_in_the_papers_loop,
    flip_in_place,
    refused_flip,
    failed_judge_of_one_document,
    failed_judge,
    spent_budget,
    agent,
    chat_model,
    decorator,
    service,
    service_streamed,
    truthfulqa_multiple_choice,
    truthfulqa_free_form,
]


@pytest.mark.parametrize("play", RUNS, ids=[run.__name__ for run in RUNS])
def test_a_run_is_as_pinned(
    play: Callable[[Path], dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    pinned = EXPECTED / f"{play.__name__}.json"

    got = play(tmp_path)

    if os.environ.get("UPDATE_GOLDEN"):
        pinned.write_text(json.dumps(got, indent=2, ensure_ascii=False) + "\n", "utf-8")
    assert got == json.loads(pinned.read_text("utf-8"))


def test_every_pinned_file_has_its_run() -> None:
    assert {path.stem for path in EXPECTED.iterdir()} == {run.__name__ for run in RUNS}
