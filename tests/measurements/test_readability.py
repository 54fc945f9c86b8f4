"""Wordings to review, and the reading ease of Markdown."""

from pathlib import Path

import pytest

from measurements.readability import pages_below, reading_ease, wordings_in


def test_wordings_are_listed_with_their_places() -> None:
    matches = wordings_in(
        [
            ("a.md", "Of two documents one is old. Of course it is."),
            ("b.py:3", "It is held against\n    them; where there is none, it is told."),
        ]
    )
    listed = {name: places for name, places in matches.items() if places}
    assert listed == {
        "fragments that begin with Of": ["a.md: Of two"],
        "'where' for an exception": ["b.py:3: where there is none"],
        "held against": ["b.py:3: held against"],
        "is told": ["b.py:3: is told"],
    }


def test_reading_ease_is_that_of_the_prose_alone() -> None:
    sentence = "The cat sat on the mat."
    assert reading_ease(sentence) == pytest.approx(206.835 - 1.015 * 6 - 84.6)
    beside = "| unintelligible | table |\n\n```python\nincomprehensible()\n```\n"
    assert reading_ease(f"{sentence}\n\n{beside}") == pytest.approx(reading_ease(sentence))
    harder = reading_ease("Institutional heterogeneity complicates organisational interpretation.")
    assert harder is not None
    assert harder < 0
    assert reading_ease("| only | a table |") is None


def test_pages_of_a_repository_are_those_at_the_top_and_below_docs(tmp_path: Path) -> None:
    (tmp_path / "docs" / "guide").mkdir(parents=True)
    for name in ("README.md", "docs/guide/start.md"):
        (tmp_path / name).write_text("Text.", encoding="utf-8")
    assert [name for name, _ in pages_below(tmp_path)] == ["README.md", "docs/guide/start.md"]
