"""The comparison of first answers from whole documents with those from sentences with times."""

import json
from pathlib import Path

from click.testing import CliRunner

from measurements.time_questions import kept_counts, main, outcome_of, questions_of_ramdocs

MILL = "The mill was built in 1871."
ROW = {
    "question": "When was the mill built?",
    "documents": [
        {"text": f"A dry year. {MILL}", "answer": "1871"},
        {
            "text": "The mill is old. The walls are of granite. The work ended in 1874.",
            "answer": "1874",
        },
        {"text": "The mill has a garden.", "answer": "unknown"},
    ],
    "gold_answers": ["May 1871"],
}
OTHER = {**ROW, "question": "Who built the mill?"}


def files(folder: Path) -> tuple[Path, Path]:
    """RAMDocs with a question for a time in each half, and natural disputes without one."""
    ramdocs, natural = folder / "ramdocs.jsonl", folder / "natural.jsonl"
    ramdocs.write_text("\n".join(map(json.dumps, (ROW, ROW, OTHER))), encoding="utf-8")
    natural.write_text(json.dumps({**OTHER, "right": ["1871"]}), encoding="utf-8")
    return ramdocs, natural


def test_documents_that_keep_their_answer_are_counted(tmp_path: Path) -> None:
    [asked] = questions_of_ramdocs(files(tmp_path)[0], 0)

    states, keeps, tokens, shown = kept_counts([asked])

    assert (states, keeps) == (2, 2)
    assert shown < tokens
    year = asked.for_year()
    assert year is not None
    assert year.question == "In which year was the mill built?"
    assert asked._replace(right=frozenset()).for_year() is None
    lost = year._replace(stated=("1871", "granite", ""))
    assert kept_counts([lost])[:2] == (2, 1)


def test_a_reply_is_right_wrong_both_or_neither(tmp_path: Path) -> None:
    [asked] = questions_of_ramdocs(files(tmp_path)[0], 1)

    assert outcome_of("In 1871.", asked) == "right"
    assert outcome_of("In 1874.", asked) == "wrong"
    assert outcome_of("In 1871 or 1874.", asked) == "both"
    assert outcome_of("In 1999.", asked) == "none"


def test_both_halves_are_counted(tmp_path: Path) -> None:
    ramdocs, natural = files(tmp_path)
    done = CliRunner().invoke(main, ["--ramdocs", str(ramdocs), "--natural", str(natural)])

    assert done.exit_code == 0
    rows = [line.split(" | ")[1:5] for line in done.stdout.splitlines() if "ramdocs" in line]
    assert rows == [["ramdocs", "1", "2", "2"]] * 2
