"""The notebook among the examples runs as it stands, and shows what it gives."""

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_the_notebook_runs_and_what_it_shows_of_a_flip_is_what_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CONFLICTSCORE_CACHE_DIR", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLES.parent))
    read: Any = nbformat.read
    notebook = read(EXAMPLES / "score_ask_flip.ipynb", as_version=4)
    shown = _texts(notebook)

    NotebookClient(notebook, timeout=100, resources={"metadata": {"path": EXAMPLES}}).execute()

    came = _texts(notebook)
    assert came[0] == shown[0]
    # how sure a processor's arithmetic is of a label differs; who wins does not
    assert [line.split(" (")[0] for line in came[-2:]] == [
        line.split(" (")[0] for line in shown[-2:]
    ]
    assert "in 1871. -> The lamp was first lit in 1874." in came[-1]


def _texts(notebook: Any) -> list[str]:
    """What each cell prints; nothing goes to its stderr."""
    outputs = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    assert all(one.get("name") != "stderr" for cell in outputs for one in cell)
    return ["".join(one.get("text", "") for one in cell) for cell in outputs]
