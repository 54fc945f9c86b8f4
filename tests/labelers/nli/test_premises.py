"""A document as premises: every part of it is read, each under the title."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conflictscore.labelers.nli.labeler import MOST_WINDOWS, premises
from conflictscore.labelers.nli.model import NliModel
from tests.labelers.judging import document
from tests.nli_model import WORDS

_SENTENCE = "The old stone tower by the harbour is white and tall and great. "
_texts = st.lists(st.sampled_from([*WORDS, "\n", "ﷺ", "語", "\ud800", "[SEP]", "word" * 20])).map(
    " ".join
) | st.text(max_size=400)


@given(text=_texts, title=st.text(max_size=200), size=st.integers(48, 90))
def test_the_windows_hold_the_whole_document_and_none_is_too_long(
    model: NliModel, text: str, title: str, size: int
) -> None:
    read = document(text or "x", title=title)
    found = premises(read, size, model.tokenizer.vocabulary)
    assert not found.cut
    assert all(model.tokenizer.count(premise) <= size for premise in found.texts)
    place = 0
    for window in found.windows:  # each begins within or right after the one before it
        start = read.text.find(window, max(0, place - len(window)))
        assert 0 <= start <= place
        place = max(place, start + len(window))
    assert place == len(read.text)


def test_windows_begin_and_end_where_sentences_do_and_overlap(model: NliModel) -> None:
    found = premises(document(_SENTENCE * 20), 60, model.tokenizer.vocabulary)
    assert len(found.windows) > 4
    for window in found.windows:
        assert window.startswith("The old")
        assert window.rstrip().endswith("great.")
    assert sum(map(len, found.windows)) > len(_SENTENCE * 20)


def test_the_title_stands_before_each_window_and_is_no_part_of_it(model: NliModel) -> None:
    titled = document(_SENTENCE * 10, title=" The \n Lighthouse")
    found = premises(titled, 60, model.tokenizer.vocabulary)
    assert len(found.texts) > 2
    assert found.texts == tuple(f"The Lighthouse. {window}" for window in found.windows)


@pytest.mark.parametrize(
    ("text", "title", "size", "read"),
    [
        ("The lamp was lit.", "", 60, "The lamp was lit."),
        ("Yes.", "Is it lit?", 60, "Is it lit? Yes."),  # no second point
        ("\nLog\nIt is lit.", "Log", 60, "\nLog\nIt is lit."),  # and not twice
        ("It is lit.", "lamp " * 300, 48, " ".join(["lamp"] * 24) + ". It is lit."),
    ],
)
def test_a_short_document_is_one_window_under_its_title(
    model: NliModel, text: str, title: str, size: int, read: str
) -> None:
    found = premises(document(text, title=title), size, model.tokenizer.vocabulary)
    assert (found.windows, found.texts) == ((text,), (read,))


def test_a_document_with_more_windows_than_are_read_is_cut_and_says_so(model: NliModel) -> None:
    found = premises(document(_SENTENCE * 1000), 60, model.tokenizer.vocabulary)
    assert found.cut
    assert len(found.windows) == MOST_WINDOWS
    assert (_SENTENCE * 1000).startswith(found.windows[0])
