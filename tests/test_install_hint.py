"""What a missing extra's message tells people to type works where they are."""

from pathlib import Path

import pytest

from conflictscore.errors import install_hint


@pytest.mark.parametrize(
    ("origin", "hint"),
    [
        (None, "pip install 'conflictscore[nli]'"),
        ('{"dir_info": {}, "url": "file:///somewhere"}', "pip install '.[nli]' in your clone"),
    ],
    ids=["from an index", "from a clone"],
)
def test_the_hint_fits_where_the_package_came_from(
    origin: str | None, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "conflictscore-9.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: conflictscore\nVersion: 9\n")
    if origin:
        (installed / "direct_url.json").write_text(origin)
    monkeypatch.syspath_prepend(tmp_path)

    assert install_hint("nli").startswith(hint)


def test_no_message_spells_the_hint_out_itself() -> None:
    package = Path(__file__).parents[1] / "conflictscore"
    spelt = "pip install " + "'conflictscore["
    named = [
        path.name
        for path in package.rglob("*.py")
        if path.name != "errors.py" and spelt in path.read_text().replace('"', "'")
    ]

    assert named == []
