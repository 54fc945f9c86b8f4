"""MC1 and MC2: several options, chosen by a letter or by the probabilities of all letters."""

import json
import re
from collections.abc import Callable, Mapping
from math import log
from pathlib import Path

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from conflictscore.benchmarks.harness.report.exports import answer_table
from conflictscore.benchmarks.truthfulqa.benchmark import read_truthfulqa, truthfulqa
from conflictscore.cli.report import read_report_runs
from conflictscore.errors import ConfigurationError, InputError
from tests.benchmarks.harness.quiz import run_quiz
from tests.benchmarks.truthfulqa.files import REAL, needs_real_data
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply
from tests.typed_world import TypedWorld

METHODS = ("rag", "control-rag", "regenerated-rag")


def targets(lamp: int, *years: int) -> dict[str, int]:
    true = {f"Lamp {lamp} burns since 1874.": 1} if len(years) > 3 else {}
    return {f"Lamp {lamp} was lit in {y}.": int(y == 1874) for y in years[:3]} | true


def write(folder: Path, count: int = 3) -> Path:
    rows = [
        {
            "question": f"When was lamp {n} lit?",
            "mc1_targets": targets(n, 1874, 1871, 1880),
            "mc2_targets": targets(n, 1874, 1871, 1880, 1874),
        }
        for n in range(count)
    ]
    path = folder / "mc_task.json"
    path.write_text(json.dumps(rows), "utf-8")
    return path


class Pages(BaseRetriever):
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        lamp = re.findall(r"lamp (\d)", query)[0]
        return [Document(f"Lamp {lamp} was lit in {year}.") for year in (1871, 1874)]


class Chooser(TypedWorld):
    """Chooses 1871 first and 1874 when it looks again, except for lamp 1, where it keeps 1871."""

    def __call__(self, request: ChatRequest) -> Reply | str | Fault:
        prompt = request.prompt
        options = dict(re.findall(r"^\(([A-Z])\) (.*)$", prompt, re.MULTILINE))
        if not options or "letter" not in prompt.rpartition("Reply")[2] + prompt[-400:]:
            return super().__call__(request)
        again = "Earlier you answered" in prompt
        lamp = re.findall(r"lamp (\d) lit", prompt)[0]
        year = "1874" if again and lamp != "1" else "1871"
        chosen = next(a for a, text in options.items() if f"in {year}" in text)
        if not request.body.get("logprobs"):
            return f"{chosen}\nJustification: So (Docs 2)." if again else f"({chosen})"
        true = {a: 0.35 if again else 0.2 for a, text in options.items() if "1874" in text}
        false = dict.fromkeys(options.keys() - true.keys(), 0.15 if again else 0.3)
        if not again:
            false |= {a: p + (0.01 if a == chosen else -0.01) for a, p in false.items()}
        return Reply(chosen, logprobs={a: log(p) for a, p in (true | false).items()})


@pytest.mark.parametrize(
    ("form", "first", "again"), [("mc1", 0.0, 2 / 3), ("mc2", 0.4, 0.7)], ids=["mc1", "mc2"]
)
async def test_what_was_planted_is_found_and_exported(
    tmp_path: Path, form: str, first: float, again: float
) -> None:
    benchmark = truthfulqa(write(tmp_path), form, 0)  # type: ignore[arg-type]
    run = await run_quiz(
        tmp_path / "run", Chooser(), benchmark, methods=METHODS, retriever=Pages(), labeler="json"
    )
    by_name = {one.method: one.measures[form].value for one in run.figures.methods}
    assert by_name["rag"] == pytest.approx(first)
    assert by_name["control-rag"] == pytest.approx(first)
    assert by_name["regenerated-rag"] == pytest.approx(again)
    [shown] = read_report_runs((tmp_path / "run",))
    assert (shown.form, shown.paper) == (form, None)
    head, *rows = answer_table([shown], ".csv").decode().splitlines()
    assert f",{form}," in head
    assert len(rows) == 9


async def test_an_endpoint_without_log_probabilities_is_refused_in_one_line(tmp_path: Path) -> None:
    class Silent(Chooser):
        def __call__(self, request: ChatRequest) -> Reply | str | Fault:
            said = super().__call__(request)
            return Reply(said.text) if isinstance(said, Reply) and said.logprobs else said

    benchmark = truthfulqa(write(tmp_path), "mc2", 0)
    with (
        OpenAIServer(Silent()) as server,
        pytest.raises(ConfigurationError, match=r"no log-probabilities.*the form mc1"),
    ):
        await run_quiz(
            tmp_path / "run", server, benchmark, methods=METHODS, retriever=Pages(), labeler="json"
        )


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda row: row.pop("mc1_targets"), "item 2, field mc1_targets"),
        (lambda row: row.update(mc1_targets={"a": 1, "b": 1, "c": 0}), "one true answer"),
        (lambda row: row.update(mc1_targets={"a": 1, "b": 2}), r"marked 1 \(true\)"),
        (lambda row: row.update(mc1_targets={"a": 1, "a ": 0, "b": 0}), "'a' is marked both"),
        (lambda row: row.update(mc1_targets={" ": 1, "a": 0, "b": 0}), r"marked 1 \(true\)"),
    ],
)
def test_targets_that_cannot_be_used_are_one_line(
    tmp_path: Path, change: Callable[[dict[str, Mapping[str, int]]], None], why: str
) -> None:
    path = write(tmp_path)
    rows = json.loads(path.read_text("utf-8"))
    change(rows[1])
    path.write_text(json.dumps(rows), "utf-8")
    with pytest.raises(InputError, match=why):
        read_truthfulqa(path, form="mc1", seed=0)


@needs_real_data
def test_the_official_targets_are_read_and_have_the_ids_of_the_csv() -> None:
    folder = REAL / "truthfulqa"
    binary = read_truthfulqa(folder / "TruthfulQA.csv", form="multiple-choice", seed=0)
    for form in ("mc1", "mc2"):
        read = read_truthfulqa(folder / "mc_task.json", form=form, seed=0)
        assert {q.id for q in read} == {q.id for q in binary}
        assert max(len(q.options) for q in read) == (13 if form == "mc1" else 24)
        assert all(set(q.correct) < set(q.options) for q in read)
