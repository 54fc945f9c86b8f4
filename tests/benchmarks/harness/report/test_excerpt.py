"""The part of a document that a report shows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conflictscore.benchmarks.harness.report.page.cards import excerpts

FILLER = "The keeper wrote the log by hand every night. " * 100


@pytest.mark.parametrize(
    ("said", "quoted"),
    [
        ("The lamp was lit in 1874.", "The lamp was lit in 1874."),
        ("The lamp\n was  lit in 1874.", "the LAMP was lit\tin 1874"),
        ("The lamp was lit in 1874.", "“The lamp was lit in 1874…”"),
        ("Die Straße zum LEUCHTTURM", "die strasse zum Leuchtturm"),
        ("lit (1874) [sic] a+b", "LIT (1874) [sic] A+B"),
    ],
)
def test_the_quotation_is_marked_whatever_its_white_space_and_case(said: str, quoted: str) -> None:
    near, far = excerpts(f"ßß {FILLER}{said} {FILLER}", quoted)
    assert near.passage.strip(" .") == said.strip(" .")
    assert near.starts_inside
    assert near.ends_inside
    assert near.length < 600
    assert far is not None
    assert far.passage == near.passage
    assert 1200 < far.length < 1300


def test_a_document_that_is_short_is_shown_whole() -> None:
    near, far = excerpts("Log: lit in 1874, they say.", "lit in 1874")
    assert (near.before, near.passage, near.after) == ("Log: ", "lit in 1874", ", they say.")
    assert not near.starts_inside
    assert not near.ends_inside
    assert far is None


@pytest.mark.parametrize("quoted", [None, "", "…", "a quotation of something else"])
def test_without_a_quotation_that_stands_there_the_beginning_is_shown(quoted: str | None) -> None:
    near, far = excerpts(FILLER, quoted)
    assert near.passage == ""
    assert near.before == FILLER[:480]
    assert not near.starts_inside
    assert near.ends_inside
    assert far is not None


def test_however_long_a_quotation_is_what_is_shown_stays_bounded() -> None:
    near, far = excerpts(FILLER * 5, FILLER * 4)
    assert near.length <= 1200 + 480
    assert far is not None
    assert far.length <= 1200 + 1200


_LETTERS = st.text("aB ßİﬁ\n\t'.(*", max_size=30)


@given(before=_LETTERS, quoted=_LETTERS, after=_LETTERS)
def test_a_quotation_is_found_and_the_document_around_it_is_not_changed(
    before: str, quoted: str, after: str
) -> None:
    text = f"{before}{quoted}{after}"
    near, _ = excerpts(text, quoted)
    assert near.before + near.passage + near.after == text
    words = quoted.strip("\"'“”‘’… .").casefold().split()
    assert " ".join(words) in " ".join(near.passage.casefold().split())


def test_an_excerpt_begins_and_ends_with_a_word() -> None:
    near, far = excerpts(f"{FILLER}lit in 1874 {FILLER}", "lit in 1874")
    assert far is not None
    for shown in (near, far):
        words = {*FILLER.split(), ""}
        assert {shown.before.split(" ")[0], shown.after.split(" ")[-1]} <= words
