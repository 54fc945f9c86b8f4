import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from conflictscore import tokens
from conflictscore.errors import InputError
from conflictscore.retrieval.token_windows import cut_windows
from conflictscore.tokens import count_tokens, token_starts

pytest.importorskip("quicktok")

LONG = 300_000
"""Bytes of a long text."""


@pytest.fixture(autouse=True, params=["counted", "estimated"])
def counting(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """Run every test with a vocabulary and without."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    if request.param == "estimated":
        monkeypatch.setitem(sys.modules, "quicktok", None)
    tokens._vocabulary.cache_clear()
    yield request.param
    tokens._vocabulary.cache_clear()


_PROSE = st.lists(
    st.sampled_from(
        ["The lamp ", "was lit in 1871. ", "\n\n", "  ", "灯台は白い。", "x" * 90, "😀𒀀", "it’s.) "]
    )
).map("".join)
_TEXT = _PROSE | st.text(st.characters(codec=None), max_size=300)


def test_any_text_is_covered_in_order_by_windows_of_the_size() -> None:
    @given(text=_TEXT, size=st.integers(16, 40), part=st.floats(0, 1))
    @example(text="𒀀" * 60, size=16, part=0.0)
    @example(text="", size=16, part=1.0)
    def check(text: str, size: int, part: float) -> None:
        stride = max(1, round(part * size))
        windows = cut_windows(text, size, stride)
        starts = token_starts(text)
        assert windows[0].start == 0
        assert windows[-1].end == len(text)
        assert (len(windows) == 1) is (len(starts) <= size)
        for window in windows:
            assert count_tokens(text[window.start : window.end]) <= size
        for window, following in pairwise(windows):
            assert window.start < following.start <= window.end < following.end

    check()


@pytest.mark.parametrize("stride", [64, 128])
def test_windows_begin_and_end_with_sentences(stride: int) -> None:
    text = " ".join(f"Sentence number {n} ends (as they do.)" for n in range(60))
    windows = cut_windows(text, 128, stride)
    assert len(windows) > 3
    for window in windows:
        part = text[window.start : window.end]
        assert part.startswith("Sentence")
        assert part.rstrip().endswith(".)")


@pytest.mark.parametrize("end", ["。", "\uff01」", "\n"])
def test_sentences_without_white_space_or_full_stop_end_too(end: str) -> None:
    text = f"灯台は白い{end}" * 60
    for window in cut_windows(text, 64, 32):
        assert text[window.start : window.end].startswith("灯台は白い")
        assert text[window.start : window.end].endswith(end)


def test_words_are_left_whole_if_no_sentence_ends() -> None:
    words = [f"word{n}" for n in range(400)]
    text = " ".join(words)
    windows = cut_windows(text, 64, 32)
    assert {word for w in windows for word in text[w.start : w.end].split()} == set(words)


def test_windows_of_half_the_size_overlap_by_about_half() -> None:
    text = "word " * 2000
    windows = cut_windows(text, 512, 256)
    assert len(windows) == pytest.approx(len(token_starts(text)) / 256, abs=1.5)
    for window, following in pairwise(windows):
        shared = len(token_starts(text[following.start : window.end]))
        assert shared == pytest.approx(256, abs=4)


def test_windows_as_far_apart_as_they_are_long_lie_side_by_side() -> None:
    windows = cut_windows("word " * 500, 64, 64)
    assert all(a.end == b.start for a, b in pairwise(windows))


@pytest.mark.parametrize(
    "unit", ["The lamp was lit in 1871. It is red.\n", "a", "灯台", " ", '."', "𒀀"]
)
def test_any_long_text_is_cut(unit: str) -> None:
    text = unit * (LONG // len(unit.encode()))
    windows = cut_windows(text, 512, 256)
    assert windows[-1].end == len(text)
    assert len(windows) <= len(token_starts(text)) / (256 * 3 / 4)


@pytest.mark.parametrize(("size", "stride"), [(15, 8), (16, 0), (16, 17)])
def test_a_size_or_stride_out_of_range_is_refused(size: int, stride: int) -> None:
    with pytest.raises(
        InputError, match=f"{size} tokens every {stride} tokens: give 16 tokens or more"
    ):
        cut_windows("text", size, stride)
