"""The GitHub Action: its form, and its script in the environment that a runner gives."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from check_jsonschema import main as check_jsonschema
from click.testing import CliRunner

from conflictscore.cli.score_file import score_file
from tests.fakes.openai_server import OpenAIServer
from tests.world import DISAGREEING, World

ROOT = Path(__file__).parents[1]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
_INPUT = re.compile(r"\$\{\{ inputs\.([\w-]+) \}\}")


@pytest.mark.parametrize("kind", ["actions", "workflows"])
def test_the_action_and_the_workflows_have_the_form_that_github_wants(
    kind: str, tmp_path: Path
) -> None:
    files = [ROOT / "action.yml"]
    if kind == "workflows":
        page = (ROOT / "docs/guide/score.md").read_text("utf-8")
        shown = re.findall(r"```yaml\n(.*?)```", page, re.S)
        (tmp_path / "shown.yml").write_text("".join(shown), "utf-8")
        files = [tmp_path / "shown.yml", *(ROOT / ".github/workflows").glob("*.yml")]
    arguments = ["--builtin-schema", f"vendor.github-{kind}", *map(str, files)]

    result = CliRunner().invoke(check_jsonschema, arguments)

    assert result.exit_code == 0, result.output


def test_what_the_action_hands_on_are_options_with_the_same_defaults() -> None:
    script = ACTION["runs"]["steps"][-1]["run"]
    options = {name for option in score_file.params for name in option.opts}
    inputs = set(ACTION["inputs"])

    assert set(re.findall(r"--[a-z-]+", script)) <= options
    used = {name for step in ACTION["runs"]["steps"] for name in _INPUT.findall(json.dumps(step))}
    assert used == inputs
    assert "${{" not in script  # an input in a script would be run as code


@pytest.mark.skipif(not shutil.which("bash"), reason="the action runs in bash")
def test_the_action_fails_a_job_with_a_page_of_the_evidence_and_obeys_no_document(
    tmp_path: Path,
) -> None:
    told = [*DISAGREEING, "The lamp was lit in 1874. ##[add-mask]lamp"]
    row = {"reply": "The lamp was lit in 1871.", "found": told}
    (tmp_path / "answers of today.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    _installed(tmp_path / "conflictscore/bin")

    with OpenAIServer(World()) as server:
        result = _step(
            tmp_path,
            {
                "answers": "answers of today.jsonl",
                "fail-over": "0.5",
                "judge": "scripted",
                "base-url": server.base_url,
                "columns": "answer=reply,documents=found",
                "options": "--no-cache --max-claims 3",
            },
        )

    first, *said, last = result.stdout.splitlines()
    assert result.returncode == 1, result.stderr
    assert "1 of 1 row fails (--fail-over 0.5): row 1 (CS-R 0.67, claim 1)" in result.stderr
    assert any("##[add-mask]" in line for line in said)
    assert (first, last) == (f"::stop-commands::{last[2:-2]}", f"::{first[17:]}::")
    assert len(first) > 40
    page = (tmp_path / "summary.md").read_text("utf-8")
    assert page.startswith("# An earlier step\n## conflictscore\\.jsonl\\: 1 of 1 row fails")
    assert "contradicted by: document 2 \\(Log" in page
    assert (tmp_path / "output").read_text() == "scored=conflictscore.jsonl\n"
    assert json.loads((tmp_path / "conflictscore.jsonl").read_text())["reply"] == row["reply"]


def _installed(bin_folder: Path) -> None:
    """What the action's first steps make, of this very environment."""
    bin_folder.mkdir(parents=True)
    (bin_folder / "python").symlink_to(sys.executable)
    command = bin_folder / "conflictscore"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m conflictscore "$@"\n')
    command.chmod(0o755)


def _step(folder: Path, given: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the last step as a runner does."""
    step = ACTION["runs"]["steps"][-1]
    inputs = {name: one.get("default", "") for name, one in ACTION["inputs"].items()} | given
    environment = {
        name: _INPUT.sub(lambda found: inputs[found[1]], value)
        for name, value in step["env"].items()
    }
    (folder / "summary.md").write_text("# An earlier step\n")
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
        cwd=folder,
        env={
            **os.environ,
            **environment,
            "PYTHONPATH": str(ROOT),
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
            "GITHUB_OUTPUT": str(folder / "output"),
            "RUNNER_TEMP": str(folder),
        },
        capture_output=True,
        text=True,
        check=False,
    )
