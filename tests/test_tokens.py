"""Counting tokens with the files on this machine; these tests have no network."""

import base64
import sys
from collections.abc import Iterator
from itertools import pairwise
from math import ceil
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from conflictscore import tokens
from conflictscore.tokens import count_tokens, token_starts

quicktok = pytest.importorskip("quicktok")

_FILE = "fb374d419588a4632f3f557e76b4b70aebbca790"
"""The file in which tiktoken stores the vocabulary."""
_SPECIAL = "<|endoftext|> and <|endofprompt|> <|im_start|>"
_TEXT = f"Der Himmel über Köln ist blau. {_SPECIAL}"


@pytest.fixture(autouse=True)
def vocabularies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The empty folder for tiktoken's downloads, with no vocabulary in memory."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    tokens._vocabulary.cache_clear()
    yield tmp_path
    tokens._vocabulary.cache_clear()


@pytest.fixture
def without_quicktok(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "quicktok", None)


@pytest.fixture(scope="module")
def ranks() -> bytes:
    """tiktoken's own file of the vocabulary, written from quicktok's copy of its ranks."""
    vocabulary = quicktok.get_encoding("o200k_base")
    return b"".join(
        base64.b64encode(vocabulary.decode_single_token_bytes(rank)) + b" %d\n" % rank
        for rank in range(199998)
    )


def test_a_text_is_counted_by_the_current_vocabulary() -> None:
    assert count_tokens("Der Himmel über Köln ist blau.") == 7
    assert count_tokens(_TEXT) == quicktok.get_encoding("o200k_base").count(_TEXT)


# With a vocabulary that tiktoken has downloaded before


@pytest.mark.usefixtures("without_quicktok")
@pytest.mark.parametrize("variable", ["TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR", "TMPDIR"])
def test_a_vocabulary_on_disk_is_used_where_tiktoken_keeps_it(
    variable: str, tmp_path: Path, ranks: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    estimate = count_tokens(_TEXT)
    assert estimate == ceil(len(_TEXT.encode()) / 3.5)
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    monkeypatch.delenv("DATA_GYM_CACHE_DIR", raising=False)
    kept = tmp_path / "data-gym-cache"
    if variable == "TMPDIR":
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    else:
        monkeypatch.setenv(variable, str(kept))
    kept.mkdir()
    (kept / _FILE).write_bytes(ranks)
    tokens._vocabulary.cache_clear()
    assert count_tokens(_TEXT) == quicktok.get_encoding("o200k_base").count(_TEXT) != estimate
    endless = " " * 1_000_000 + "x"  # tiktoken gives up on it
    assert count_tokens(endless) == ceil(len(endless) / 3.5)

    (kept / _FILE).write_bytes(ranks[:-5])  # left alone, and not downloaded again
    tokens._vocabulary.cache_clear()
    assert count_tokens(_TEXT) == estimate
    assert (kept / _FILE).read_bytes() == ranks[:-5]


# Without a vocabulary


@pytest.mark.usefixtures("without_quicktok")
def test_a_folder_of_vocabularies_that_does_not_exist_is_like_an_empty_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "missing"))
    assert count_tokens("abc") == 1


@pytest.mark.usefixtures("without_quicktok")
def test_the_estimate_of_two_texts_is_that_of_both_together_within_one() -> None:
    @given(st.text(), st.text())
    def within_one(one: str, other: str) -> None:
        both, apart = count_tokens(one + other), count_tokens(one) + count_tokens(other)
        assert both <= apart <= both + 1
        assert both == ceil(len((one + other).encode()) / 3.5)

    within_one()


# Any text


@pytest.mark.parametrize("quick", [True, False])
def test_no_text_makes_counting_fail(quick: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not quick:
        monkeypatch.setitem(sys.modules, "quicktok", None)

    @given(st.text(st.characters()))
    @example(_SPECIAL)
    @example("half an emoji \ud83d")
    @example("\x00")
    def count(text: str) -> None:
        n = count_tokens(text)
        assert bool(n) == bool(text)
        assert n <= len(text.encode(errors="replace"))

    count()


_WORDS = st.text(st.characters(categories=["Ll"]), min_size=1)


@given(_WORDS, st.lists(_WORDS, min_size=1))
def test_a_text_grows_by_the_tokens_of_every_further_word(word: str, more: list[str]) -> None:
    text, n = word, count_tokens(word)
    for further in more:
        text, n = f"{text} {further}", n + count_tokens(f" {further}")
    assert count_tokens(text) == n


# Where tokens begin


def test_each_token_begins_where_the_one_before_it_ends() -> None:
    text = "Unbelievable: the lamp of 1871!\n\n  It\u2019s red \u2026"
    starts = token_starts(text)
    parts = [text[start:end] for start, end in pairwise([*starts, len(text)])]
    assert "".join(parts) == text
    assert [count_tokens(part) for part in parts] == [1] * len(starts)
    assert " lamp" in parts


def test_a_token_inside_a_character_begins_with_that_character() -> None:
    assert count_tokens("\U00012000") == 4
    assert token_starts("a\U00012000b") == [0, 1, 1, 1, 1, 2]


@pytest.mark.usefixtures("without_quicktok")
def test_without_a_vocabulary_the_places_are_estimated_from_bytes() -> None:
    assert token_starts("abcdefgh") == [0, 3, 7]
    assert token_starts("üüüü") == [0, 1, 3]


@pytest.mark.parametrize("quick", [True, False])
def test_as_many_tokens_begin_as_are_counted(quick: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not quick:
        monkeypatch.setitem(sys.modules, "quicktok", None)

    @given(st.text(st.characters(codec=None)))
    @example(_SPECIAL)
    @example("half an emoji \ud83d")
    def check(text: str) -> None:
        starts = token_starts(text)
        assert len(starts) == count_tokens(text)
        assert starts == sorted(starts)
        assert starts[:1] == ([0] if text else [])
        assert all(start < len(text) for start in starts)

    check()
