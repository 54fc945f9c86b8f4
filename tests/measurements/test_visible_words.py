"""The words that a person sees in a file, with which readers are compared."""

from pathlib import Path

from measurements.real_files import RealFile
from measurements.visible_words import viewer, without_marks, words_of
from tests.retrieval.test_docx import docx, p, run


def test_marks_of_pictures_and_addresses_of_links_are_no_words() -> None:
    text = (
        "lit ![a mast](mast.png) [log](http://a.example 'hid') [image: a mast] <!-- image --> 1874"
    )
    assert words_of(without_marks(text)) == ["lit", "log", "1874"]


HIDDEN = run("1950", "<w:vanish/>")
DELETED = "<w:del><w:r><w:delText>1951</w:delText></w:r></w:del>"
SCRIPT = "<script>document.write('1951')</script>"
FILES: dict[str, str | bytes] = {
    "a.html": f"<style>.x{{display:none}}</style><p>Lit <b class=x>1950</b>in 1874{SCRIPT}",
    "a.md": "# Lit\n\n| in | ~~1950~~ |\n|--|--|\n| 1874 | <!-- 1951 --> |",
    "a.docx": docx(p(run("Lit in"), HIDDEN, DELETED) + p(run("1874"))),
    "a.csv": 'Lit,in\n"1874",\n',
}


def test_words_are_those_that_a_person_sees(tmp_path: Path) -> None:
    folder = tmp_path / "pip" / "log"
    folder.mkdir(parents=True)
    with viewer() as visible_in:
        for name, content in FILES.items():
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
            shown = visible_in(RealFile("pip", "log=1", name), tmp_path)
            assert words_of(shown.text) == ["lit", "in", "1874"], name
