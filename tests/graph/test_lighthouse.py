"""The README's demo: three later sources say 1871, and two records say 1874."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conflictscore import create_self_correcting_rag
from conflictscore.models import LOCAL_ENDPOINT
from conflictscore.models.spec import from_chat_model
from conflictscore.records import Run
from conflictscore.retrieval import CorpusRetriever
from conflictscore.tokens import count_tokens
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply
from tests.world import World, scripted_model

FOLDER = Path(__file__).parents[2] / "examples" / "lighthouse"
QUESTION = "In which year did the Vennick Point lighthouse first light its lamp?"
SAID = "The Vennick Point lighthouse first lit its lamp in {}."
RECORDS = {"engineers-report.txt", "keepers-log.md"}
LATER = {"encyclopedia.md", "visitor-guide.html", "county-gazette.md"}


def year_of(prompt: str) -> str | None:
    """The year that the document in a prompt gives for the lamp; None if it gives none."""
    marks = {"Lamp lit this evening": "1874", "exhibited for the first time": "1874"}
    marks |= {"first shown in 1871": "1871", "shone out over": "1871", "lamp was lit for": "1871"}
    return next((year for mark, year in marks.items() if mark in " ".join(prompt.split())), None)


class Capable(World):
    """Reads and judges correctly, and sees which documents were written at the time."""

    def __call__(self, request: ChatRequest) -> Reply | str | Fault:
        prompt = request.prompt
        if "Two statements answer the same question" in prompt:
            first = "1874" in prompt.partition("Documents behind statement A")[0]
            self.prompts.setdefault("weigh", []).append(prompt)
            return (
                f"SIDE: {'A' if first else 'B'}\nGROUND: EXPLAINS\n"
                "REASON: The report says why the stone has an earlier date (Doc 1)."
            )
        if "Reply with one short full sentence that repeats" in prompt:
            year = year_of(prompt)
            return SAID.format(year) if year else "The document does not say."
        if '"document_snippet"' in prompt:
            claim = prompt.rpartition("<claim>")[2].partition("</claim>")[0].strip()
            year = year_of(prompt)
            label = "IRRELEVANT" if not year else "SUPPORTS" if year in claim else "CONTRADICTS"
            said = {"claim": claim, "document_snippet": "", "reasoning": "So.", "answer": label}
            return json.dumps(said)
        return super().__call__(request)


class Small(World):
    """Recorded replies of the embedded model (Qwen2.5-Coder-1.5B) to these documents."""

    def __call__(self, request: ChatRequest) -> Reply | str | Fault:
        prompt = request.messages[0]["content"]
        if "Reply with one short full sentence that repeats" in prompt:
            if "lens of Vennick Point" in prompt:
                return "The Vennick Point lighthouse first lit its lamp in the winter of 2021."
            if "saltmarsh_sue" in prompt:
                return "The Vennick Point lighthouse first lit its lamp in 1883."
            return f"The Vennick Point lighthouse first light its lamp in {year_of(prompt)}."
        if "Two statements answer the same question" in prompt:
            return "The Vennick Point lighthouse first lit its lamp in 1874."
        return super().__call__(request)


def run(world: World, **settings: Any) -> Run:
    """Run the demo with this model; by default a judge that compares years labels."""
    with OpenAIServer(world) as server:
        graph = create_self_correcting_rag(
            scripted_model(server),
            CorpusRetriever.from_paths([FOLDER]),
            cache=False,
            **{"labeler": "json", **settings},
        )
        state = graph.invoke({"question": QUESTION})
    known = {name: state[name] for name in Run.model_fields if state.get(name) is not None}
    return Run.model_validate(known)


def names(run: Run, numbers: tuple[int, ...]) -> set[str]:
    return {Path(document.url).name for document in run.documents if document.number in numbers}


def test_a_capable_model_answers_with_the_records_though_more_sources_say_otherwise() -> None:
    world = Capable(answer=SAID.format(1871), regenerated=SAID.format(1874))

    ended = run(world)

    assert ended.answer == SAID.format(1874)
    [look] = ended.changes[0].looks
    own, rival = look.candidates
    assert names(ended, own.votes) >= LATER
    assert names(ended, rival.votes) == RECORDS
    assert (look.decided_by, look.weighing and look.weighing.ground) == ("weighing", "explains")
    for prompt in world.prompts["weigh"]:
        assert "that date was cut above the door in the expectation" in prompt
    assert ended.justification is not None
    assert "why the stone has an earlier date" in ended.justification


def test_the_embedded_models_name_both_years_with_their_documents() -> None:
    pytest.importorskip("onnxruntime", reason="the bundled NLI model needs the extra nli")
    world = Small(answer=SAID.format(1871))

    ended = run(world, labeler="nli")

    assert ended.answer is not None
    assert ended.answer.startswith("Sources disagree")
    [look] = ended.changes[0].looks
    own, rival = look.candidates
    assert look.decision == "hedge"
    assert names(ended, own.votes) == LATER
    assert names(ended, rival.votes) == RECORDS
    # The labeler is sure that the page on the lens says nothing about it, so it is not asked.
    assert {one.why for one in look.dropped} == {"the document has no 1883"}
    for year, title in (("1871", "Vennick Point Light"), ("1874", "keepers-log")):
        assert year in ended.answer
        assert title in ended.answer
    assert any("(from the answer): documents" in line for line in look.told())


def test_embedded_models_do_not_read_documents_again_that_state_one_year() -> None:
    pytest.importorskip("onnxruntime", reason="the bundled NLI model needs the extra nli")
    prompts = list[str]()

    class Noting(Small):
        def __call__(self, request: ChatRequest) -> Reply | str | Fault:
            prompts.append(request.prompt)
            return super().__call__(request)

    with OpenAIServer(Noting(answer=SAID.format(1871))) as server:
        model = replace(from_chat_model(scripted_model(server)), endpoint=LOCAL_ENDPOINT)
        graph = create_self_correcting_rag(
            model, CorpusRetriever.from_paths([FOLDER]), cache=False, labeler="nli"
        )
        state = graph.invoke({"question": QUESTION})

    assert state["answer"].startswith("Sources disagree")
    first, *others = prompts
    alone = [prompt for prompt in others if "one short full sentence" in prompt]
    by_title = {re.findall(r'title="(.*?)"', prompt)[0]: prompt for prompt in alone}
    assert by_title.keys() == {
        "engineers-report",  # it states both years
        "Vennick Point Light",  # it also states other years
        "Vennick Point circular: is the cliff path open again?",  # it states no year
    }
    read_before, question, _ = by_title["engineers-report"].partition("\n\nQuestion: ")
    assert question
    assert first.startswith(read_before), "the server has read this document already"
    assert count_tokens(first) <= 966
    assert sum(map(count_tokens, alone)) <= 810
