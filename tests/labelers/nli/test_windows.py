"""A window can be read alone: the context that it needs is put before it."""

from collections.abc import Iterator
from itertools import count, pairwise

import pytest

from conflictscore.labelers.nli.model import NliModel
from conflictscore.labelers.nli.windows import premises
from conflictscore.records import Document

_SIZE = 100


def read(model: NliModel, text: str, *, title: str = "", date: str = "") -> list[tuple[str, str]]:
    """The context before each window, and the window."""
    document = Document(number=1, text=text, title=title, metadata={"date": date})
    cut = premises(document, _SIZE, model.tokenizer.vocabulary)
    assert all(model.tokenizer.count(shown) <= _SIZE for shown in cut.texts)
    return [
        (shown.removesuffix(window), window)
        for shown, window in zip(cut.texts, cut.windows, strict=True)
    ]


def sentences() -> Iterator[str]:
    """Sentences that are all different."""
    return (f"The lamp on pier {number} was lit by the old keeper in spring." for number in count())


@pytest.mark.parametrize(
    ("date", "shown"),
    [
        ("2024-02-03", "Notice. 2024-02-03. "),
        ("2024-02-03T10:00:00Z", "Notice. 2024-02-03. "),
        ("3 Feb. 2024", "Notice. 3 Feb. 2024. "),
        ("", "Notice. "),
        ("x" * 41, "Notice. "),
    ],
)
def test_title_and_date_precede_each_window(model: NliModel, date: str, shown: str) -> None:
    spoken = sentences()
    text = " ".join(next(spoken) for _ in range(30))
    for before, _ in read(model, text, title="Notice", date=date):
        assert before.startswith(shown)
    assert read(model, "It is lit.", title="Notice", date=date) == [(shown, "It is lit.")]


def test_the_sentence_before_a_window_leads_into_it(model: NliModel) -> None:
    spoken = sentences()
    windows = read(model, " ".join(next(spoken) for _ in range(30)))
    assert windows[0][0] == ""
    for (_, previous), (before, window) in pairwise(windows):
        assert before.strip()
        assert before.strip(" …") in previous
        assert not window.startswith(before)


def test_the_head_of_a_table_and_the_heading_above_lead_into_a_window_of_rows(
    model: NliModel,
) -> None:
    rows = [f"| pier {number} | {number + 3} lamps | the old keeper |" for number in range(40)]
    table = ["| place | lamps | who lit them |", "|---|---|---|", *rows]
    _, *later = read(model, "\n".join(["## The harbour", "", *table]))
    assert later
    for before, _ in later:
        assert "The harbour" in before
        assert "who lit them" in before


def test_rows_of_comma_separated_values_have_their_head(model: NliModel) -> None:
    rows = [f"pier {number}, {number + 3} lamps, the old keeper" for number in range(40)]
    _, *later = read(model, "\n".join(["place, lamps, who lit them", *rows]))
    assert later
    assert all("who lit them" in before for before, _ in later)


def test_a_list_has_the_line_that_announces_it(model: NliModel) -> None:
    items = [f"- the lamp on pier {number}, lit by the keeper" for number in range(40)]
    _, *later = read(model, "\n".join(["Closed from tomorrow:", *items]))
    assert later
    assert all("Closed from tomorrow:" in before for before, _ in later)
