"""The tables, the page and the progress of conflict detection."""

import re
from io import StringIO

from rich.console import Console

from conflictscore.benchmarks.conflict_detection.display import print_detection
from conflictscore.benchmarks.conflict_detection.measures import DetectionFigures, detection_figures
from conflictscore.records import Usage
from tests.benchmarks.conflict_detection.claims import C, N, S, U, claim_group, judged


def figures(set_name: str = "lamps") -> DetectionFigures:
    return detection_figures(
        "judge [bold]",
        [
            judged(claim_group("1", set_name=set_name), (S, C)),
            judged(claim_group("2", set_name=set_name), (S, N)),
            judged(claim_group("3", (S, N), set_name=set_name), (S, N)),
            judged(claim_group("4", (S, N), set_name="piers"), (S, C)),
            judged(claim_group("5", (S, None), set_name="piers", conflict=False), (U, C)),
        ],
        Usage(calls=9),
        2.0,
    )


def tables(given: DetectionFigures) -> str:
    out = StringIO()
    print_detection(given, Console(file=out, width=90, highlight=False, markup=False))
    return out.getvalue()


def cells(text: str, after: str, start: str) -> list[str]:
    lines = text[text.index(after) :].splitlines()
    return re.split(r"\s{2,}", next(x.strip() for x in lines if x.strip().startswith(start)))


def test_every_set_and_all_together_have_their_rows() -> None:
    text = tables(figures())

    found = cells(text, "Is there a conflict?", "overall")
    assert found == ["overall", "50.0", "50.0", "50.0", "50.0", "50.0"]
    assert cells(text, "single labels", "lamps")[:5] == ["lamps", "3", "2", "1", "0"]
    assert cells(text, "single labels", "piers")[:8] == ["piers", *"20214", "1", "50.0"]
    assert "9 calls, 0 from the cache" in text
    assert all(len(line) <= 90 for line in text.splitlines())


def test_one_set_is_not_shown_twice() -> None:
    alone = detection_figures("judge", [judged(claim_group("1"), (S, C))], Usage(), 0)
    assert "overall" not in tables(alone)


def test_names_are_text_and_steer_nothing() -> None:
    text = tables(figures("[red]\x1b[31mlamps"))
    assert "judge [bold]" in text
    assert "[red]" in text
    assert "\x1b" not in text
