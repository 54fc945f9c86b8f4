"""The example notebook runs unchanged, and its shown output is right."""

import json
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_the_notebook_runs_and_what_it_shows_of_a_flip_is_what_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path))
    monkeypatch.chdir(EXAMPLES)
    notebook = json.loads(Path("score_ask_flip.ipynb").read_text("utf-8"))
    given: dict[str, Any] = {"__name__": "notebook"}
    pairs = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), cell["id"], "exec"), given)
            shown = "".join(line for out in cell["outputs"] for line in out.get("text", ()))
            pairs.append((shown, capfd.readouterr()))

    assert all(came.err == "" for _, came in pairs)
    assert pairs[0][0] == pairs[0][1].out
    # a label's probability differs between processors; the winner does not
    for shown, came in pairs[-2:]:
        assert shown.split(" (")[0] == came.out.split(" (")[0]
    assert "in 1871. -> The lighthouse first lit its lamp in 1874." in pairs[-1][1].out
