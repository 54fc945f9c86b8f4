"""Replies of a study in one file: put together, taken back, and refused where they are none."""

import lzma
from pathlib import Path

import pytest
from click.testing import CliRunner

from conflictscore.errors import InputError
from conflictscore.storage.cache import ContentCache
from measurements.kept_replies import main, packed, unpacked


def cache_with(path: Path, **replies: str) -> Path:
    cache = ContentCache(path)
    for key, text in replies.items():
        cache.keep(key, {"text": text})
    cache.close()
    return path


def test_replies_of_several_caches_come_back_from_one_file(tmp_path: Path) -> None:
    one = cache_with(tmp_path / "one.sqlite", a="Yes.\n", b="Straße “x”\u2028")
    other = cache_with(tmp_path / "other.sqlite", c="")
    file = tmp_path / "replies.jsonl.xz"

    shown = CliRunner().invoke(main, [str(one), str(other), str(file)])
    back = ContentCache(tmp_path / "back.sqlite")
    unpacked(file, back)

    assert "3 replies in " in shown.stdout
    assert back.find(["a", "b", "c", "d"]) == {
        "a": {"text": "Yes.\n"},
        "b": {"text": "Straße “x”\u2028"},
        "c": {"text": ""},
    }


def test_the_same_replies_make_the_same_file(tmp_path: Path) -> None:
    one = cache_with(tmp_path / "one.sqlite", a="1", b="2")
    other = cache_with(tmp_path / "other.sqlite", b="2", a="1")
    packed([one], tmp_path / "one.xz")
    packed([other], tmp_path / "other.xz")
    assert (tmp_path / "one.xz").read_bytes() == (tmp_path / "other.xz").read_bytes()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"no xz", "no file of replies"),
        (lzma.compress("ä".encode()), "no file of replies"),
        (lzma.compress(b'["a", "b"]\n["a"]\n'), "row 2: no reply"),
        (lzma.compress(b"nothing\n"), "row 1: no reply"),
    ],
)
def test_a_file_without_replies_is_refused_by_name_and_takes_nothing_in(
    tmp_path: Path, content: bytes, said: str
) -> None:
    file, cache = tmp_path / "any.xz", ContentCache(tmp_path / "cache.sqlite")
    file.write_bytes(content)
    with pytest.raises(InputError, match=said) as refused:
        unpacked(file, cache)
    assert str(file) in str(refused.value)
    assert not cache.find(["a"])


def test_what_is_no_cache_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "text.sqlite").write_text("no base of data, but long enough to be read" * 9)
    for name in ("text.sqlite", "nowhere.sqlite"):
        shown = CliRunner().invoke(main, [str(tmp_path / name), str(tmp_path / "out.xz")])
        assert shown.exit_code == 1
        assert name in shown.output
