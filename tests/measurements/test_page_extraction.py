"""Measuring how fast pages are read, on made-up ones."""

import random

import pytest
from click.testing import CliRunner

from measurements import page_extraction


def test_the_pages_are_served_read_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_extraction, "_LARGEST", 60_000)
    shown = CliRunner().invoke(page_extraction.main, ["--pages", "3"], catch_exceptions=False)
    assert shown.exit_code == 0, shown.output
    for line in ("fetch alone", "fetch and plain text", "extraction alone", "fetch and extraction"):
        assert line in shown.stdout
    assert "0 pages failed, 0 were cut" in shown.stdout
    kept, total = shown.stdout.split("whole ones ")[1].split(" paragraphs")[0].split(" of ")
    assert kept == total
    assert int(total) > 3
    assert "with 0 menu entries, notices and comments" in shown.stdout


@pytest.mark.parametrize("size", [10_000, 300_000])
def test_a_made_up_article_has_its_size_and_comes_again_from_its_seed(size: int) -> None:
    text, paragraphs = page_extraction.article(size, random.Random(1))
    assert len(text) == pytest.approx(size, rel=0.2)
    assert text.count(page_extraction.KEPT) == paragraphs
    assert text == page_extraction.article(size, random.Random(1))[0]
    assert text != page_extraction.article(size, random.Random(2))[0]
