"""Letters whose accents are drawn on their own are read with them."""

import pytest

from conflictscore.retrieval.reading.by_ending import read_file
from tests.retrieval.pdf_files import drawn, pdf

pytest.importorskip("pypdfium2")

# in Helvetica of 12 points: M, u, f, l and r are 9.996, 6.672, 3.336, 2.664 and 3.996 wide, the
# diaeresis and the caron 3.996
MULLER = drawn("M", 72) + drawn("\\250", 83.3) + drawn("uller kam.", 81.996)
FUR = drawn("fur alle", 72) + drawn("\\250", 76.7)
CODE = drawn("x = `a` + \\250 b", 72)


@pytest.mark.parametrize(
    ("operators", "text"),
    [
        (MULLER, "Müller kam."),
        (FUR, "für alle"),
        (CODE, "x = `a` + ¨ b"),
    ],
)
def test_an_accent_over_a_letter_belongs_to_it(operators: str, text: str) -> None:
    (document,), _ = read_file(pdf(operators), ".pdf", "log.pdf")
    assert document.text == text
