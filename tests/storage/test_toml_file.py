"""Untrusted TOML files: reading is fast, and errors are one line."""

from pathlib import Path

import pytest

from conflictscore.errors import InputError
from conflictscore.storage.toml_file import read_toml


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (f"a{'.a' * 400_000} = 1", "nested too deeply"),
        (f"[a{' . a' * 200_000}]", "nested too deeply"),
        (f"""x = [{{"a"{".'b c'" * 100_000} = 1}}]""", "nested too deeply"),
        ("a = " + "[" * 900_000, "nested too deeply"),
        ("a = " + "{a = " * 150_000, "nested too deeply"),
        ("a = 1\n" * 200_000, "more than 1,000,000 bytes"),
        ("a = " + "1" * 900_000, "digits"),
    ],
)
def test_a_deep_or_huge_file_is_refused_in_one_line(
    content: str, reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(content)
    with pytest.raises(InputError, match=reason) as refused:
        read_toml(path)
    assert "\n" not in str(refused.value)


def test_dots_in_texts_are_no_depth(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(f'say = "{"So it is. " * 100}"\nv = [{"1.5, " * 100}]')
    assert len(read_toml(path)["v"]) == 100
