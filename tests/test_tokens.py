"""Counting tokens with what is on this machine; sockets are closed in these tests."""

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

_CL100K = "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"
"""The file that tiktoken keeps the vocabulary of gpt-4 in."""
_LIT, _LIT_COUNTED, _LIT_ESTIMATED = "The lamp was lit", 4, 5
_SPECIAL = "<|endoftext|> and <|endofprompt|> <|im_start|>"


@pytest.fixture(autouse=True)
def vocabularies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder in which tiktoken keeps its downloads; empty, and nothing is remembered."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    tokens._vocabulary.cache_clear()
    yield tmp_path
    tokens._vocabulary.cache_clear()


@pytest.fixture
def without_quicktok(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "quicktok", None)


@pytest.fixture(scope="module")
def cl100k_base() -> bytes:
    """tiktoken's own file of this vocabulary, written from quicktok's copy of its ranks."""
    vocabulary = quicktok.get_encoding("cl100k_base")
    return b"".join(
        base64.b64encode(vocabulary.decode_single_token_bytes(rank)) + b" %d\n" % rank
        for rank in range(100256)
    )


# With quicktok


@pytest.mark.parametrize(
    ("model", "n"),
    [("gpt-4.1-mini", 7), ("gpt-4o", 7), ("openai:gpt-4", 10), ("gpt-3.5-turbo", 10)],
)
def test_a_known_model_is_counted_exactly_by_its_own_vocabulary(model: str, n: int) -> None:
    assert count_tokens("Der Himmel über Köln ist blau.", model) == n


@pytest.mark.parametrize(
    "model", ["", "local:qwen2.5-1.5b-instruct", "gpt2", "text-davinci-003", "q/w"]
)
def test_any_other_model_is_counted_by_the_current_vocabulary(model: str) -> None:
    text = "Der Himmel über Köln ist blau."
    assert count_tokens(text, model) == count_tokens(text, "gpt-4o")


# With a vocabulary that tiktoken has downloaded before


@pytest.mark.usefixtures("without_quicktok")
def test_a_vocabulary_on_disk_is_used(vocabularies: Path, cl100k_base: bytes) -> None:
    text = f"Der Himmel über Köln ist blau. {_SPECIAL} \ud800"
    estimate = count_tokens(text, "gpt-4")
    assert estimate == ceil(len(text.encode(errors="replace")) / 3.5)
    tokens._vocabulary.cache_clear()
    (vocabularies / _CL100K).write_bytes(cl100k_base)
    counted = count_tokens(text, "gpt-4")
    vocabulary = quicktok.get_encoding("cl100k_base")
    assert counted == vocabulary.count(text.replace("\ud800", "?"))
    assert counted != estimate
    assert count_tokens(text, "gpt-4o") == estimate


@pytest.mark.usefixtures("without_quicktok")
def test_a_text_that_tiktoken_gives_up_on_is_estimated(
    vocabularies: Path, cl100k_base: bytes
) -> None:
    (vocabularies / _CL100K).write_bytes(cl100k_base)
    text = " " * 1_000_000 + "x"
    assert count_tokens(text, "gpt-4") == ceil(len(text) / 3.5)


@pytest.mark.usefixtures("without_quicktok")
def test_a_damaged_vocabulary_is_left_alone_and_not_downloaded_again(
    vocabularies: Path, cl100k_base: bytes
) -> None:
    damaged = vocabularies / _CL100K
    damaged.write_bytes(cl100k_base[:-5])
    assert count_tokens(_LIT, "gpt-4") == _LIT_ESTIMATED
    assert damaged.read_bytes() == cl100k_base[:-5]


@pytest.mark.usefixtures("without_quicktok")
def test_the_vocabulary_is_looked_for_where_tiktoken_keeps_it(
    tmp_path: Path, cl100k_base: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    monkeypatch.delenv("DATA_GYM_CACHE_DIR", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    kept = tmp_path / "data-gym-cache"
    kept.mkdir()
    (kept / _CL100K).write_bytes(cl100k_base)
    assert count_tokens(_LIT, "gpt-4") == _LIT_COUNTED
    for folder in ("", str(tmp_path / "missing")):  # the first tells tiktoken to keep nothing
        tokens._vocabulary.cache_clear()
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", folder)
        assert count_tokens(_LIT, "gpt-4") == _LIT_ESTIMATED


# With neither


@pytest.mark.usefixtures("without_quicktok")
def test_the_estimate_of_two_texts_is_that_of_both_together_within_one() -> None:
    @given(st.text(), st.text())
    def within_one(one: str, other: str) -> None:
        both, apart = count_tokens(one + other), count_tokens(one) + count_tokens(other)
        assert both <= apart <= both + 1
        assert both == ceil(len((one + other).encode()) / 3.5)

    within_one()


# Any text


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

    @given(st.text(st.characters(codec=None)), st.sampled_from(["gpt-4", "local"]))
    @example(_SPECIAL, "gpt-4")
    @example("half an emoji \ud83d", "gpt-4")
    @example("\x00", "local")
    def check(text: str, model: str) -> None:
        assert bool(text) <= count_tokens(text, model) <= len(text.encode(errors="replace"))
        starts = token_starts(text)
        assert len(starts) == count_tokens(text)
        assert starts == sorted(starts)
        assert starts[:1] == ([0] if text else [])
        assert all(start < len(text) for start in starts)

    check()
