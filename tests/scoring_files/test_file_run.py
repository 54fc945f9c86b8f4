"""Scoring a file and resuming it, with the instant judge and with a real model."""

import asyncio
import gc
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conflictscore.errors import ConfigurationError, InputError, ProviderError
from conflictscore.graph.create import run_context
from conflictscore.graph.self_correction import build_scoring_graph
from conflictscore.loop.state import RunContext
from conflictscore.scoring_files.file_run import Summary
from conflictscore.storage.cache import ContentCache
from conflictscore.storage.locks import lock_beside
from tests.fakes.openai_server import Fault, OpenAIServer
from tests.full_disk import no_room
from tests.scoring_files.files import answer_row, lines, outcomes, score, write_lines
from tests.scoring_files.instant_judge import instant_context
from tests.world import DISAGREEING, World


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "in.jsonl", [answer_row(number) for number in range(12)])


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out.jsonl"


@pytest.fixture(scope="module", autouse=True)
def without_leftover_tasks() -> Iterator[None]:
    """Collect the tasks of runs that ended with Ctrl-C before other tests begin.

    Their exceptions are logged when they are collected. If this happens while CPython 3.11 converts
    a syntax tree, ``ast.parse`` raises a SystemError.
    """
    yield
    gc.collect()


class Dying:
    """Presses Ctrl-C after this many rows."""

    def __init__(self, most: int) -> None:
        self._left = most
        self.seen: list[str] = []

    def begin(self, total: int, done: int) -> None:
        pass

    def count(self, error: str | None, name: str) -> None:
        self.seen.append(name)
        self._left -= 1
        if not self._left:
            raise KeyboardInterrupt


def one_line(work: Any, *arguments: Any, **more: Any) -> str:
    with pytest.raises((InputError, ProviderError)) as raised:
        work(*arguments, **more)
    assert "\n" not in str(raised.value)
    return str(raised.value)


_names = st.text(max_size=5).filter(lambda name: name != "conflictscore")
_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters()),  # including lone surrogates
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=3),
    max_leaves=5,
)
_rows = (
    st.dictionaries(_names, _values, max_size=3)
    | _values
    | st.builds(
        lambda fields, number: {**fields, **answer_row(number)},
        st.dictionaries(_names, _values, max_size=3),
        st.integers(0, 3),
    )
)


@settings(max_examples=40)
@given(rows=st.lists(_rows, max_size=12), most=st.integers(1, 12), at_once=st.integers(1, 5))
def test_the_output_has_the_rows_of_the_input_whatever_they_are_and_wherever_it_was_stopped(
    rows: list[Any], most: int, at_once: int
) -> None:
    with TemporaryDirectory() as name:
        source, out = Path(name, "in.jsonl"), Path(name, "out.jsonl")
        write_lines(source, [json.dumps(row) for row in rows])
        context = instant_context(Path(name, "cache.sqlite"))
        first, second = Dying(most), Dying(1_000)

        for listener in (first, second):
            with suppress(KeyboardInterrupt):
                score(source, out, context=context, concurrency=at_once, listener=listener)

        written, numbers = lines(out), range(1, len(rows) + 1)
        assert sorted(first.seen + second.seen) == sorted(f"row {n}" for n in numbers)
        assert [row.pop("conflictscore")["row"] for row in written] == [*numbers]
        assert written == [row if isinstance(row, dict) else {} for row in rows]


async def test_a_row_is_scored_as_the_graph_scores_it(tmp_path: Path) -> None:
    fields, out = answer_row(3), tmp_path / "out.jsonl"
    source = write_lines(tmp_path / "in.jsonl", [fields])
    documents = [d if isinstance(d, dict) else {"text": d} for d in fields["documents"]]
    graph = build_scoring_graph(instant_context(tmp_path / "one.sqlite"))

    state = await graph.ainvoke({"answer": fields["answer"], "documents": documents})
    summary = await asyncio.to_thread(score, source, out)

    for claim in state["report"]["claims"]:
        for pair in claim["labels"]:
            del pair["cached"]
    assert state["report"]["coverage"] == 1
    told = {"row": 1, "error": None, "report": state["report"], "notes": state["notes"]}
    assert outcomes(out) == [told]
    assert summary.usage.to_json() == state["usage"]


def test_an_empty_document_of_a_row_is_left_out_with_a_note(tmp_path: Path, out: Path) -> None:
    fields = answer_row(3)
    documents = ["", *fields["documents"], None]
    score(write_lines(tmp_path / "in.jsonl", [{**fields, "documents": documents}]), out)

    [outcome] = outcomes(out)
    assert outcome["error"] is None
    assert outcome["report"]["coverage"] == 1
    counts = ["1 of 4 documents are null", "1 of 4 documents are empty"]
    assert [note.split(",")[0] for note in outcome["notes"]] == counts


def test_rows_with_faults_fail_and_say_why_and_stay_where_they_are(
    tmp_path: Path, out: Path
) -> None:
    rows = [answer_row(0), "[1]", {"documents": ["x"], "id": 7}, answer_row(3)]
    source = write_lines(tmp_path / "in.jsonl", rows)
    with source.open("a") as file:
        file.write('{"answer": "It wa')

    summary = score(source, out)

    assert (summary.rows, summary.failed, summary.incomplete) == (5, 3, 0)
    assert [row["error"] for row in outcomes(out)] == [
        None,
        "is not an object",
        "has no field answer",
        None,
        "is not JSON (Unterminated string starting at); the file ends within this row",
    ]
    assert lines(out)[2]["id"] == 7
    assert outcomes(out)[2]["report"] is None


def test_a_run_is_not_resumed_with_other_settings_or_another_input(
    source: Path, out: Path, tmp_path: Path
) -> None:
    context = instant_context(tmp_path / "cache.sqlite")
    score(source, out, context=context)
    before = out.read_bytes()
    other = replace(context, settings=context.settings.replace(max_claims=3, duplicates="once"))

    message = one_line(score, source, out, context=other)
    with source.open("a") as file:
        file.write("{}\n")

    assert (
        "out.jsonl.run: the run was started with other input or settings: configuration." in message
    )
    assert 'configuration.duplicates was "vote" and is now "once"' in message
    assert "configuration.max_claims was null and is now 3" in message
    assert "input.rows was 12 and is now 13; input.sha256" in one_line(score, source, out)
    assert out.read_bytes() == before


def test_one_command_at_a_time_works_on_a_run(source: Path, out: Path) -> None:
    score(source, out)
    with lock_beside(out.with_name("out.jsonl.run")):
        assert "another command is writing to it" in one_line(score, source, out)


def test_a_file_of_ones_own_is_never_written_to(source: Path, out: Path) -> None:
    out.write_text("mine\n")
    before = source.read_bytes()

    assert "exists, but is not the output of a run" in one_line(score, source, out)
    assert "exists, but is not" in one_line(score, source, source)
    assert (out.read_text(), source.read_bytes()) == ("mine\n", before)
    assert "must end in .jsonl" in one_line(score, source, out.with_suffix(".csv"))


def test_a_damaged_run_or_one_of_another_version_is_refused(source: Path, out: Path) -> None:
    score(source, out)
    kept = out.with_name("out.jsonl.run")
    first, *rest = kept.read_bytes().splitlines(keepends=True)
    kept.write_bytes(b"".join([first, *rest[:4], b"{}\n", *rest[5:]]))
    assert "out.jsonl.run, line 6: damaged, or changed since" in one_line(score, source, out)
    kept.write_bytes(first.replace(b'"format": 3', b'"format": 4'))
    assert "written by another version of conflictscore" in one_line(score, source, out)
    kept.unlink()
    kept.mkdir()
    assert "written by another version of conflictscore" in one_line(score, source, out)


BROKEN = Fault(500, message="engine trouble", should_retry=False)


def asked(world: World) -> tuple[int, int]:
    return world.asked["decompose"], world.asked["label"]


def lamp_rows(path: Path, number: int) -> Path:
    rows = [
        {"answer": f"The lamp {n} was lit in 1871.", "documents": DISAGREEING}
        for n in range(number)
    ]
    return write_lines(path, rows)


def judged_by(server: OpenAIServer, cache: Path, **more: Any) -> RunContext:
    """Open a judge for every run, as each command does."""
    store = ContentCache(cache)
    return run_context(
        "scripted", base_url=server.base_url, cache=store, **{"labeler": "json", **more}
    )


def scored(server: OpenAIServer, source: Path, out: Path, **more: Any) -> Summary:
    return score(source, out, context=judged_by(server, out.parent / "cache.sqlite"), **more)


def test_rows_that_failed_or_lack_a_verdict_are_scored_again_where_that_is_asked_for(
    tmp_path: Path, out: Path
) -> None:
    source, world = lamp_rows(tmp_path / "in.jsonl", 6), World()
    down = {"The lamp 1 ", "The lamp 4 "}

    def answer(request: Any) -> Any:
        reply, prompt = world(request), request.prompt
        unread = down and "lamp 2" in prompt and "tower is white" in prompt
        return BROKEN if unread or any(lamp in prompt for lamp in down) else reply

    with OpenAIServer(answer) as server:
        first = scored(server, source, out)
        told, before = outcomes(out), out.read_bytes()
        down.clear()
        world.asked.clear()
        second = scored(server, source, out)
        assert asked(world) == (0, 0)
        with pytest.raises(KeyboardInterrupt):
            scored(server, source, out, concurrency=1, listener=Dying(2), retry_failed=True)
        assert out.read_bytes() == before, "until all are scored"
        third = scored(server, source, out, retry_failed=True)
        assert asked(world) == (2, 7)

    assert (first.failed, first.incomplete) == (2, 1)
    assert (second.failed, second.incomplete, second.scored_now) == (2, 1, 0)
    assert (third.failed, third.incomplete, third.scored_now) == (0, 0, 1)
    assert [row["error"] is None for row in told] == [True, False, True, True, False, True]
    assert "engine trouble" in told[1]["error"]
    assert told[2]["report"]["coverage"] == pytest.approx(2 / 3)
    assert [row["row"] for row in outcomes(out)] == [1, 2, 3, 4, 5, 6]
    assert {row["report"]["coverage"] for row in outcomes(out)} == {1}


def test_a_wrong_key_ends_the_run_at_once_is_not_kept_and_the_same_command_goes_on(
    tmp_path: Path, out: Path
) -> None:
    source, world = lamp_rows(tmp_path / "in.jsonl", 6), World()
    world.broken["decompose"] = Fault(401, message="Incorrect API key provided", code="invalid")
    with OpenAIServer(world) as server:
        with pytest.raises(ConfigurationError, match="key"):
            scored(server, source, out, concurrency=1)
        assert asked(world) == (1, 0)
        world.broken.clear()
        assert scored(server, source, out).failed == 0

    assert [row["row"] for row in outcomes(out)] == [1, 2, 3, 4, 5, 6]
    manifest, *_ = (tmp_path / "out.jsonl.run").read_text().splitlines()
    judge = json.loads(manifest)["configuration"]["judge"]
    assert (judge["name"], json.loads(manifest)["input"]["rows"]) == ("scripted", 6)
    assert judge["endpoint"].startswith("http://127.0.0.1")
    assert '"key"' not in manifest


def test_a_judge_that_fails_row_after_row_does_not_burn_the_whole_file(
    tmp_path: Path, out: Path
) -> None:
    source, world = lamp_rows(tmp_path / "in.jsonl", 80), World()
    world.broken["decompose"] = BROKEN
    with OpenAIServer(world) as server:
        message = one_line(scored, server, source, out, concurrency=1)
        world.broken.clear()
        summary = scored(server, source, out, retry_failed=True)

    assert "the last 50 rows all failed" in message
    assert "engine trouble" in message
    assert (summary.scored_now, summary.failed) == (80, 0)


def test_faults_of_the_rows_themselves_are_no_reason_to_stop(tmp_path: Path, out: Path) -> None:
    source = write_lines(tmp_path / "in.jsonl", [{}] * 80)

    assert score(source, out).failed == 80


def test_on_a_full_disk_the_output_stays_sound_and_the_same_command_goes_on(
    tmp_path: Path, out: Path
) -> None:
    rows = [answer_row(number) | {"much": "x" * 100_000} for number in range(12)]
    source = write_lines(tmp_path / "in.jsonl", rows)

    with no_room(650_000), pytest.raises(ConfigurationError) as refused:
        score(source, out, concurrency=1)

    assert f"{out}: cannot be written (File too large); free up space there" in str(refused.value)
    assert sorted(path.name for path in out.parent.glob("out*")) == ["out.jsonl.run"]
    assert score(source, out).scored_now == 0
    assert [row["conflictscore"]["row"] for row in lines(out)] == list(range(1, 13))


def test_a_journal_without_its_last_newline_is_resumed(source: Path, out: Path) -> None:
    with suppress(KeyboardInterrupt):
        score(source, out, listener=Dying(3), concurrency=1)
    journal = out.with_name(f"{out.name}.run")
    journal.write_bytes(journal.read_bytes().removesuffix(b"\n"))  # a kill within a write

    assert score(source, out).scored_now == 9
    assert [one["row"] for one in outcomes(out)] == [*range(1, 13)]
    assert score(source, out).scored_now == 0


def test_a_run_whose_input_changes_meanwhile_has_no_output_and_is_not_resumed(
    source: Path, out: Path
) -> None:
    before = source.read_bytes()

    class Writing(Dying):
        """Another program appends a row while the rows are scored."""

        def count(self, error: str | None, name: str) -> None:
            source.write_bytes(before + before.splitlines(keepends=True)[0])

    assert "the input changed" in one_line(score, source, out, listener=Writing(0))
    source.write_bytes(before)
    assert "the input changed" in one_line(score, source, out)
    assert not out.exists()
    score(source, out.with_name("anew.jsonl"))
    assert len(lines(out.with_name("anew.jsonl"))) == 12


def test_a_journal_that_vanishes_is_named_and_not_the_output(tmp_path: Path, out: Path) -> None:
    class Removing(Dying):
        def count(self, error: str | None, name: str) -> None:
            out.with_name(f"{out.name}.run").unlink()

    source = write_lines(tmp_path / "in.jsonl", [answer_row(1)])
    with pytest.raises(InputError, match=r"\.run: cannot be read"):
        score(source, out, listener=Removing(99))
