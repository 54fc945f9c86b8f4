"""Settings and inputs at the edge: nothing is run, judged, counted or overwritten in silence."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel

from conflictscore.benchmarks.harness.definition import Benchmark
from conflictscore.benchmarks.harness.dry_run import estimate
from conflictscore.benchmarks.harness.manifest import found_in, read_manifest, sha256_of_file
from conflictscore.benchmarks.harness.methods.asker import Asker
from conflictscore.benchmarks.harness.methods.debate import MADAM_RAG
from conflictscore.benchmarks.harness.methods.method import Asked
from conflictscore.benchmarks.harness.methods.registry import LOOP, MEANING
from conflictscore.benchmarks.harness.outcome import compared_of
from conflictscore.benchmarks.harness.records import Verdict
from conflictscore.benchmarks.harness.report.call_export import export_calls
from conflictscore.benchmarks.harness.session import Session
from conflictscore.benchmarks.harness.setup import RunSettings, Setup, paper_loop
from conflictscore.benchmarks.harness.statistics import questions_needed_graded
from conflictscore.benchmarks.harness.transcript_files import FOLDER
from conflictscore.benchmarks.harness.transcripts import TranscriptWriter
from conflictscore.errors import InputError
from conflictscore.models.ledger import Ledger
from conflictscore.models.prices import PriceTable
from tests.benchmarks.harness.dry import named
from tests.benchmarks.harness.quiz import Quiz, changed, lamps, run_quiz
from tests.benchmarks.harness.run_folders import opened


def setup(*methods: str, **settings: Any) -> Setup:
    run_settings = RunSettings(methods=methods, **settings)
    loop = paper_loop(labeler="choice", prompts=None)
    return Setup.open(run_settings, loop, model=named(), cache=False)


def calls(benchmark: Benchmark, opened_setup: Setup, step: str, level: str) -> int:
    made = estimate(benchmark, opened_setup, prices=PriceTable({}))
    return sum(amounts.calls for amounts in getattr(made, level) if amounts.step == step)


async def test_a_session_without_workers_is_refused_instead_of_ending_at_once(
    tmp_path: Path,
) -> None:
    benchmark, made = lamps(1), setup("rag")
    with opened(tmp_path / "run") as store:
        session = Session(store, made.context, made.answer_judge, benchmark, ("rag",), Ledger())
        with pytest.raises(ValueError, match="concurrency is 0"):
            await session.run(0)


async def test_a_verdict_on_a_measure_that_the_benchmark_lacks_is_no_verdict(
    tmp_path: Path,
) -> None:
    async def judge(*_: Any, **__: Any) -> dict[str, Verdict]:
        return {"thruthful": Verdict(value=True)}

    asked = replace(lamps(1, free_form=True), judge=judge)
    run = await run_quiz(tmp_path / "run", Quiz(), asked, methods=("rag",))
    verdict = run.results[0].methods["rag"].verdicts["truthful"]
    assert verdict.value is None
    assert "'thruthful', which is not a measure" in str(verdict.error)


def test_the_judge_of_one_method_does_not_decide_grades_that_others_share() -> None:
    benchmark = lamps(1, free_form=True)
    assert benchmark.judge is not None
    own = {"asked-conflict": benchmark.judge}
    assert replace(benchmark, judges=own).judges == own
    with pytest.raises(InputError, match="control-rag, a method without own_judge"):
        replace(benchmark, judges={"control-rag": benchmark.judge})


def test_an_estimate_counts_the_call_that_chooses_the_claim_to_reconsider() -> None:
    benchmark = lamps(1, free_form=True)
    usual = calls(benchmark, setup("regenerated-rag"), LOOP, "high")
    asked = calls(benchmark, setup("regenerated-rag", reconsider="asked"), LOOP, "high")
    assert asked == usual + 1


def test_answers_of_other_methods_are_compared_even_if_no_document_disagrees() -> None:
    benchmark = lamps(1, free_form=True)
    assert calls(benchmark, setup("regenerated-rag"), MEANING, "low") == 0
    assert calls(benchmark, setup("control-rag"), MEANING, "low") > 0


def test_an_estimate_of_no_questions_is_refused() -> None:
    with pytest.raises(InputError, match="no questions to estimate"):
        estimate(replace(lamps(1), questions=()), setup("rag"), prices=PriceTable({}))


async def test_a_limit_for_free_form_answers_leaves_chosen_options_alone(tmp_path: Path) -> None:
    benchmark = replace(lamps(1), reply_tokens=99)
    run = await run_quiz(tmp_path / "run", Quiz(), benchmark, methods=("rag",))
    answer = run.results[0].methods["rag"].answer
    assert answer is not None
    assert answer.option is not None


async def test_a_debate_without_documents_does_not_sum_up_nothing_again(tmp_path: Path) -> None:
    benchmark = changed(lamps(1, free_form=True), lambda _: ())
    made = setup("madam-rag")
    chat = FakeListChatModel(responses=["No document answers it."])
    context = replace(made.context, generator=named(chat=chat))
    ledger = Ledger()
    asker = Asker(context, ledger.step)
    told = await MADAM_RAG.ask(asker, Asked(benchmark.questions[0], ()))
    assert told["rounds"] == 2


def test_a_method_is_not_compared_with_itself() -> None:
    with pytest.raises(InputError, match="name two different methods"):
        compared_of([("rag", "rag")], ("rag",))


def test_a_recording_may_have_a_comma_in_its_name(tmp_path: Path) -> None:
    path = tmp_path / "lamps, found.jsonl"
    path.write_text("{}\n")
    assert found_in(f"recorded: {path}", ()) == {"recording": sha256_of_file(path)}


def test_a_manifest_that_cannot_be_read_is_not_called_damaged(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").mkdir()
    with pytest.raises(InputError, match=r"manifest\.json: cannot be read \(Is a directory\)"):
        read_manifest(tmp_path / "manifest.json")


def test_a_damaged_transcript_leaves_an_earlier_export_as_it_was(tmp_path: Path) -> None:
    call = {"question": "q", "step": "loop", "key": "", "parameters": "{}", "messages": []}
    run, out = tmp_path / "run", tmp_path / "calls.jsonl"
    with TranscriptWriter(run) as writer:
        writer.write({**call, "reply": "a reply"})
    assert export_calls([run], out) == 1
    before = out.read_text()
    assert json.loads(before)["reply"] == "a reply"
    (run / FOLDER / "session-2.jsonl.gz").write_bytes(b"not gzip")
    with pytest.raises(InputError, match="not gzip"):
        export_calls([run], out)
    assert out.read_text() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["calls.jsonl", "run"]


def test_up_to_ten_million_questions_are_considered() -> None:
    needed = questions_needed_graded(1.0, 0.00093)
    assert needed is not None
    assert 8_388_608 < needed < 10_000_000
    assert questions_needed_graded(1.0, 0.0008) is None


async def test_a_judge_may_give_graded_measures_that_its_benchmark_does_not_show(
    tmp_path: Path,
) -> None:
    async def judge(*_: Any, **__: Any) -> dict[str, Verdict]:
        return {"truthful": Verdict(value=0.5), "conflicts recall": Verdict(value=0.5)}

    graded = frozenset({"truthful", "conflicts recall"})
    asked = replace(lamps(1, free_form=True), judge=judge, measures=("truthful",), graded=graded)
    run = await run_quiz(tmp_path / "run", Quiz(), asked, methods=("rag",))
    assert run.results[0].methods["rag"].verdicts["truthful"].value == 0.5
