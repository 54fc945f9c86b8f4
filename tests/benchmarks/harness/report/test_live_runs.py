"""Runs of ``ask --log`` and of the service, shown and exported like a benchmark's."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from conflictscore import create_self_correcting_rag
from conflictscore.cli import main
from conflictscore.graph.create import run_context
from conflictscore.middleware.service.kept_runs import KeptRuns
from conflictscore.nodes.record import run_of
from conflictscore.records import RUN_DETAILS
from conflictscore.reporting.run_log import append_log, log_object
from tests.fakes.openai_server import OpenAIServer
from tests.world import DISAGREEING, PAPER, World, scripted_model


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log with a flip, half a line, and a kept conflict."""
    path = tmp_path_factory.mktemp("live") / "flips.jsonl"
    for question, world in (("When was it lit?", World()), ("Sure?", World(regenerated=""))):
        with OpenAIServer(world) as server:
            model = scripted_model(server)
            graph = create_self_correcting_rag(model, cache=False, **PAPER)
            state = graph.invoke({"question": question, "documents": DISAGREEING})
            append_log(path, log_object(run_of(state), run_context(model, None), 1.5))
        with path.open("ab") as file:
            file.write(b'{"question": "half a li')
    return path


def run(*args: object) -> Result:
    return CliRunner().invoke(main, [str(arg) for arg in args])


def test_a_log_becomes_a_page_with_its_flips(log: Path, tmp_path: Path) -> None:
    result = run("report", log, "--out", tmp_path / "page.html")

    assert (result.exit_code, result.stderr) == (0, "")
    page = (tmp_path / "page.html").read_text()
    assert page.count('<article class="card') == 2
    assert "live runs, 2 runs, all finished, 0 failed" in page
    assert 'id="figures"' not in page


def test_a_file_of_served_runs_is_read_as_a_log_is(log: Path, tmp_path: Path) -> None:
    kept = KeptRuns(most=9, most_bytes=1_000_000, path=tmp_path / "runs.sqlite")
    for line in log.read_bytes().splitlines()[:1]:
        logged = run_of(json.loads(line))
        kept.begin("r", "owner")
        kept.finish("r", {"status": "annotated", "model": "m", **logged.summary(*RUN_DETAILS)})
    kept.close()  # a run is written in a thread

    result = run("export", tmp_path / "runs.sqlite", log, "--to", tmp_path / "table.jsonl")

    assert result.exit_code == 0
    rows = [json.loads(line) for line in (tmp_path / "table.jsonl").read_text().splitlines()]
    assert [(row["run"], row["category"], row["method"], row["flipped"]) for row in rows] == [
        ("runs.sqlite", "annotated", "rag", False),
        ("runs.sqlite", "annotated", "regenerated-rag", True),
        ("flips.jsonl", "corrected", "rag", False),
        ("flips.jsonl", "corrected", "regenerated-rag", True),
        ("flips.jsonl", "kept", "rag", False),
        ("flips.jsonl", "kept", "regenerated-rag", False),
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", "it contains no run"),
        ('{"question": "q"}', ", line 1: not a run of conflictscore"),
        ('{"run_id": "r", "attempts": [{"round": "x"}]}', ", line 1, field attempts.0.round: "),
        (
            '{"run_id": "r", "attempts": [], "status": "odd"}',
            ", line 1, field status: Input should be",
        ),
    ],
)
def test_a_file_that_is_no_log_is_refused_with_line_and_field(
    tmp_path: Path, line: str, reason: str
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f"{line}\n" if line else "")

    result = run("report", path)

    assert result.exit_code == 2
    assert f"a.jsonl{reason}" in result.stderr.replace("a.jsonl: ", "a.jsonl")
    assert not (tmp_path / "report.html").exists()
