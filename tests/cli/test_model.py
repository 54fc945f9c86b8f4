"""``conflictscore model`` lists models and fetches them."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from conflictscore.cli import main


def test_the_list_says_what_each_model_is_and_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path))

    listed = CliRunner().invoke(main, ["model", "list"]).stdout.splitlines()

    assert listed[0] == "local:qwen2.5-coder-1.5b-instruct"
    assert listed[1] == "  Qwen2.5-Coder-1.5B-Instruct, Q4_K_M, 1,117 MB, Apache-2.0"
    assert "conflictscore model fetch qwen2.5-coder-1.5b-instruct" in listed[3]
    assert "local:smollm2-135m-instruct" in listed


@pytest.mark.parametrize("name", ["smollm2-135m-instruct", "local:smollm2-135m-instruct"])
def test_a_model_that_is_there_is_not_fetched_again(
    smollm2_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(smollm2_path.parents[1]))
    fetched = CliRunner().invoke(main, ["model", "fetch", name])

    assert fetched.exit_code == 0
    assert fetched.stdout.strip() == str(smollm2_path)
    assert fetched.stderr == ""


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("nothing", "smollm2-135m-instruct"),
        ("localsmollm2-135m-instruct", "'localsmollm2-135m-instruct'"),
        ("./mine.gguf", "there is no model file ./mine.gguf"),
    ],
)
def test_what_cannot_be_fetched_is_one_line(name: str, line: str) -> None:
    refused = CliRunner().invoke(main, ["model", "fetch", name])

    assert refused.exit_code == 2
    [said] = refused.stderr.splitlines()
    assert line in said
