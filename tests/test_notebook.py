"""The notebook among the examples runs as it stands, and shows what it gives."""

from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.timeout(300)  # what it imports takes long where others have the processor
def test_the_notebook_runs_and_what_it_shows_of_a_flip_is_what_comes(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    sockets = tmp_path_factory.mktemp("k")  # the path of a socket is short
    for name in ("CONFLICTSCORE_CACHE_DIR", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLES.parent))
    read: Any = nbformat.read
    notebook = read(EXAMPLES / "score_ask_flip.ipynb", as_version=4)
    shown = _texts(notebook)

    # by files, whose names are nobody else's; a port that was free may be taken before it is used
    kernel = AsyncKernelManager(transport="ipc", connection_file=str(sockets / "k.json"))
    where = {"metadata": {"path": EXAMPLES}}
    NotebookClient(notebook, km=kernel, timeout=250, resources=where).execute()

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
