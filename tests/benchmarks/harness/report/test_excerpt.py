"""The part of a document that a report shows."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from conflictscore.benchmarks.harness.report.page.cards import excerpt
from conflictscore.scripts import fold

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
    part = excerpt(f"ßß {FILLER}{said} {FILLER}", quoted)
    assert part.passage.strip(" .") == said.strip(" .")
    assert part.starts_inside
    assert part.ends_inside
    assert 800 < len(part.before + part.passage + part.after) < 900


def test_a_document_that_is_short_is_shown_whole() -> None:
    part = excerpt("Log: lit in 1874, they say.", "lit in 1874")
    assert (part.before, part.passage, part.after) == ("Log: ", "lit in 1874", ", they say.")
    assert not part.starts_inside
    assert not part.ends_inside


@pytest.mark.parametrize("quoted", [None, "", "…", "a quotation of something else"])
def test_without_a_quotation_that_stands_there_the_beginning_is_shown(quoted: str | None) -> None:
    part = excerpt(FILLER, quoted)
    assert part.passage == ""
    assert FILLER.startswith(part.before)
    assert 780 < len(part.before) <= 800
    assert not part.starts_inside
    assert part.ends_inside


def test_however_long_a_quotation_is_what_is_shown_stays_bounded() -> None:
    part = excerpt(FILLER * 5, FILLER * 4)
    assert len(part.before + part.passage + part.after) <= 1200 + 800


_LETTERS = st.text("aB ßİﬁ\n\t'.(*", max_size=30)


@example(before="ﬁ", quoted="İ", after="")
@given(before=_LETTERS, quoted=_LETTERS, after=_LETTERS)
def test_a_quotation_is_found_and_the_document_around_it_is_not_changed(
    before: str, quoted: str, after: str
) -> None:
    text = f"{before}{quoted}{after}"
    part = excerpt(text, quoted)
    assert part.before + part.passage + part.after == text
    # accents make no difference either: a dotted capital I stands in the ligature of fi
    words = fold(quoted.strip("\"'“”‘’… .")).split()
    assert " ".join(words) in " ".join(fold(part.passage).split())


def test_an_excerpt_begins_and_ends_with_a_word() -> None:
    part = excerpt(f"{FILLER}lit in 1874 {FILLER}", "lit in 1874")
    assert {part.before.split(" ")[0], part.after.split(" ")[-1]} <= {*FILLER.split(), ""}
