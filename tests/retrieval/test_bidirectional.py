"""Lines are handed over as they stand on a page, and come out as they are read."""

import pytest

from conflictscore.retrieval.reading.bidirectional import in_reading_order, unit

LINES = {
    "number": ("רנ 1932 רוא", "אור 1932 נר"),
    "date": ("רנ 20 March רוא", "אור 20 March נר"),
    "name in brackets": ("רנ (Point Vennick) 1874 רוא", "אור 1874 (Point Vennick) נר"),
    "brackets stored as they are read": (
        "רנ )Point Vennick( 1874 רוא",
        "אור 1874 (Point Vennick) נר",
    ),
    "name with a note in brackets": ("רנ Alpha (Beta) רוא", "אור Alpha (Beta) נר"),
    "range": ("רנ 1870-1874 רוא", "אור 1870-1874 נר"),
    "range beside Arabic letters": ("رون 1874-1870 رون", "نور 1870-1874 نور"),
    "amount and share": ("רנ $1,250.75 - 50% רוא", "אור 50% - $1,250.75 נר"),
    "letters and digits": ("רנ 3G רוא", "אור 3G נר"),
    "end of a sentence": (".Alpha רוא", "אור Alpha."),
    "end of an English sentence": ("A word is םולש or רוא.", "A word is שלום or אור."),
    "quotation marks": ("»רוא« :נר", "רנ: «אור»"),
    "word in an English line": (
        "The first word of this line is רוא and no other.",
        "The first word of this line is אור and no other.",
    ),
    "brackets of a cell beside such letters": (
        ")Point Vennick) f(x) 1)",
        "(Point Vennick) f(x) 1)",
    ),
    "brackets alone": ("a ) b (", "a ) b ("),
}


@pytest.mark.parametrize("kind", LINES)
def test_a_line_is_read_in_its_direction(kind: str) -> None:
    line, text = LINES[kind]
    assert in_reading_order([*map(unit, line)], page_from_right=True) == text


def test_a_line_with_few_letters_has_the_direction_of_its_page() -> None:
    units = [*map(unit, "Lighthouse Keepers 2.0 :רוא")]
    assert in_reading_order(units, page_from_right=True) == "אור: Lighthouse Keepers 2.0"
