"""Pages in Hebrew and Arabic are read as a person reads them."""

import base64
from urllib.parse import quote

import pytest

from conflictscore.retrieval.reading.by_ending import read_file

pytest.importorskip("pypdfium2")
pytest.importorskip("selenium")

from tests.browser import browser

LINES = [
    "המגדלור נדלק בשנת 1874 (Point Vennick) על ידי השומר.",
    "הָאוֹר לֹא נִדְלַק בַּלַּיְלָה.",
    "המחיר עלה מ-1,250.75 ל-1,300, כלומר ב-4%, בין 1870-1874.",
    "כותרת: Lighthouse Keepers 2.0",
    "في عام 1932 أغلقت المنارة (انظر الفصل 3).",
    "الفترة 1870-1874 كانت طويلة جدا.",
    "يَكتُبُ الكِتابَ في البَيتِ لأنَّ اللهَ كَريمٌ.",
    "The word שלום means peace in 1932, and سلام too.",
    "قَرَأَ الطَّالِبُ أَنَّ الأَوْلَادَ لَا يُنكِرونَ في سَنَةِ 1932 بَعدَ الحَريقِ.",
    "קְרַב תֹהוּ וָבֹהוּ.",
    "The word تَأَخَّرَ is said of سِعْرِ الأَرُزِّ.",
    "قَالَ: «لَنْ نَتَأَخَّرَ».",
]
ROWS = [("שם", "שנה", "גובה"), ("מגדל צפון", "1874", "31"), ("מגדל דרום", "1932", "12")]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("border", [0, 1])
def test_a_page_that_a_browser_prints_is_read_in_order(border: int) -> None:
    paragraphs = "".join(f"<p dir=auto>{line}</p>" for line in LINES)
    rows = "".join("<tr><td>" + "<td>".join(row) for row in ROWS)
    table = f"<table dir=rtl cellpadding=20 border={border}>{rows}</table>"
    with browser() as driver:
        driver.get("data:text/html;charset=utf-8," + quote(paragraphs + table))
        data = base64.b64decode(driver.print_page())

    (document,), _ = read_file(data, ".pdf", "log.pdf")

    assert document.text.split("\n") == [*LINES, *map(" | ".join, ROWS)]
