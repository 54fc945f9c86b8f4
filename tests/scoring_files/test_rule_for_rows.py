"""The guide's table of rows: each cell is tried with a file or a frame."""

import json
from pathlib import Path
from typing import Any

import pytest

from conflictscore import score_frame
from conflictscore.errors import InputError
from conflictscore.loop.inputs import given_documents
from conflictscore.scoring_files.columns import Columns
from conflictscore.scoring_files.input_rows import Source, task_of
from tests.scoring_files.instant_judge import InstantJudge, InstantModel

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "score.md"
ANSWER = "It was lit in 1871."
ROWS = {
    "empty documents": {"answer": ANSWER, "documents": ["", "It was.", " "]},
    "unusable rows": {"answer": "", "documents": ["It was."]},
}
KINDS = (".jsonl", ".json", ".csv", ".parquet", "frame")


def texts_of(kind: str, rows: list[dict[str, Any]], folder: Path) -> list[list[str] | None]:
    """The texts of each row's documents, or None for a row that cannot be scored."""
    if kind == "frame":
        columns = {name: [row[name] for row in rows] for name in ("answer", "documents")}
        settings: dict[str, Any] = {"labeler": InstantJudge(), "cache": False, "progress": False}
        runs = score_frame(columns, InstantModel(), **settings)
        return [[d.text for d in run.documents] if run.report else None for run in runs]
    texts: list[list[str] | None] = []
    for row in Source(written(kind, rows, folder)).rows():
        try:
            texts.append([document.text for document in given_documents(task_of(row, Columns()))])
        except InputError:
            texts.append(None)
    return texts


def written(kind: str, rows: list[dict[str, Any]], folder: Path) -> Path:
    """A file with these rows."""
    path = folder / f"in{kind}"
    if kind == ".parquet":
        arrow, parquet = map(pytest.importorskip, ("pyarrow", "pyarrow.parquet"))
        parquet.write_table(arrow.Table.from_pylist(rows), path)
    elif kind == ".csv":
        cells = (
            f'{row["answer"]},"{json.dumps(row["documents"]).replace(chr(34), chr(34) * 2)}"\n'
            for row in rows
        )
        path.write_text("answer,documents\n" + "".join(cells))
    elif kind == ".json":
        path.write_text(json.dumps(rows))
    else:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("aspect", ROWS)
def test_each_cell_of_the_guide_s_table_of_rows_holds(
    kind: str, aspect: str, tmp_path: Path
) -> None:
    good = {"answer": ANSWER, "documents": ["Ledger."]}
    expected = ["It was."] if aspect == "empty documents" else None
    assert texts_of(kind, [good, ROWS[aspect], good], tmp_path) == [
        ["Ledger."],
        expected,
        ["Ledger."],
    ]


def test_the_guide_s_table_of_rows_has_these_cells() -> None:
    head, _, *body = GUIDE.read_text().split("| input ")[1].split("\n\n")[0].split("\n")
    assert [cell.strip(" `") for cell in head.strip("| ").split("|")] == list(KINDS)
    assert [line.split("|")[1].strip() for line in body] == list(ROWS)
    assert all(cell.strip() for line in body for cell in line.strip("|").split("|"))
