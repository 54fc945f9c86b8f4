"""Wordings to review, the reading ease of Markdown, and sentences drawn for readers."""

from collections import Counter
from pathlib import Path

import pytest

from measurements.prose import KINDS, Sentence, sentences_of_module, sentences_of_page
from measurements.readability import (
    drawn,
    pages_below,
    reading_ease,
    sentences_below,
    wordings_in,
)


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


PAGE = """# A heading of four words

One sentence that wraps
over lines. Another sentence (e.g. this one) follows it.

| size | effect on the answer |
|---|---|
| small | It is left as it was. |

```python
print("this is not a sentence")
```
"""
MODULE = '''"""A docstring of several words.

Args:
    one: the first of two arguments.
"""
NAMES = "a list of eight words that code searches".split()
raise ValueError(f"{NAMES}: these are too many names; give fewer")
'''


def test_a_page_is_split_into_sentences_with_the_context_of_cells() -> None:
    listed = [(place, text) for _, place, text in sentences_of_page("a.md", PAGE)]
    assert listed == [
        ("a.md:3", "One sentence that wraps over lines."),
        ("a.md:3", "Another sentence (e.g. this one) follows it."),
        ("a.md:8", "[small | effect on the answer] It is left as it was."),
    ]


def test_a_module_is_split_into_docstrings_and_messages() -> None:
    assert [*sentences_of_module("a.py", MODULE)] == [
        Sentence("docstring", "a.py:1", "A docstring of several words."),
        Sentence("docstring", "a.py:1", "one: the first of two arguments."),
        Sentence("message", "a.py:7", "{NAMES}: these are too many names; give fewer"),
    ]


def test_as_many_sentences_of_each_kind_are_drawn_and_the_seed_decides_which() -> None:
    sentences = [
        Sentence(kind, f"{number}", f"{kind} {number}") for kind in KINDS for number in range(50)
    ]
    first = drawn(sentences, seed=1, count=40)
    assert Counter(sentence.kind for sentence in first) == dict.fromkeys(KINDS, 10)
    assert drawn(sentences, seed=1, count=40) == first
    assert drawn(sentences, seed=2, count=40) != first


def test_sentences_of_this_repository_have_places_and_include_help() -> None:
    sentences = sentences_below(Path(__file__).parents[2])
    assert {sentence.kind for sentence in sentences} == {*KINDS}
    help_of_ask = [one for one in sentences if one.text.startswith("[conflictscore ask] ")]
    assert help_of_ask
    assert all(one.place.startswith("conflictscore/cli/answers.py:") for one in help_of_ask)
