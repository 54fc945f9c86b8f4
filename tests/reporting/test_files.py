"""Files that are written whole."""

from pathlib import Path

import pytest

from conflictscore.errors import InputError
from conflictscore.reporting.files import write_whole


@pytest.mark.parametrize("place", ["no/such/folder/page.html", "file/page.html", f"{'x' * 255}"])
def test_what_cannot_be_written_is_one_line_with_a_way_out(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"cannot be written .*give a path"):
        write_whole(tmp_path / place, b"page")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_only_the_owner_may_read_what_is_written(tmp_path: Path) -> None:
    write_whole(tmp_path / "page.html", b"page")
    assert (tmp_path / "page.html").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "page.html").read_bytes() == b"page"
