"""Rich Text files are read as they are shown."""

import pytest

from conflictscore.retrieval.pages.page import UnreadableError
from conflictscore.retrieval.reading.by_ending import read_file
from conflictscore.retrieval.reading.texts import Note, NoteKind
from tests.retrieval.office_files import rtf

FONTS = r"{\fonttbl{\f0\fswiss\fcharset0 Arial;}{\f1\ftech\fcharset2{\*\panose 01}Symbol;}{\f2\fcharset2 Wingdings;}{\f3\fcharset204 Arial Cyr;}}"


def read(data: bytes) -> tuple[list[str], str, list[Note]]:
    (document,), notes = read_file(data, ".rtf", "log.rtf")
    return document.text.split("\n"), document.title, notes


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (r"Lit in 1932.\par Out\line and\~cold.", "Lit in 1932.\nOut\nand\u00a0cold."),
        (r"a{\v 1950}{\v0 b}{\strike 1950}{\strike0 c}{\deleted 1950}{\revised d}", "abcd"),
        (r"\v 1950\plain 1932", "1932"),
        (r"10{\super 6} m, H{\sub 2}O, 1{\super st}, a{\super 2\nosupersub 3}", "10^6 m, H_2O, 1st, a^23"),
        (r"5 {\f1 m}g {\f2\'fe} {\f1\u-3987?}", "5 μg ☑ μ"),
        (r"\uc1 Br\u252?cke \'fcber {\f3\'cc\'ee\'f1\'f2} {\uc0\u252}x \u-10179?\u-8648?", "Brücke über Мост üx 😸"),
        (r"{\*\unknown x}{\stylesheet{\s0 Normal;}}{\*\generator x;}a{\*\shppict x}", "ax"),
        (r"{\field{\*\fldinst HYPERLINK x}{\fldrslt link}} b{\listtext\tab}", "link b"),
        (r"{\listtext 4.\tab}Toll\par", "4.\tToll"),
        (r"\uc-3 \u8364 per lamp", "€per lamp"),
        (r"noted{\super\chftn}{\footnote{\super\chftn} A note.} on\par c", "noted[1] on\nc\n[1] A note."),
        (r"{\header Log\par}{\footer Log\par 7\par}a", "Log\na"),
        (r"\bin5 {{{{{a\{b\}\\", "a{b}\\"),
        (r"\trowd\trhdr\cellx1\cellx2\cellx3\intbl Bridge\cell Opened\cell Toll\cell\row\trowd\cellx1\cellx2\cellx3\intbl Vik\par north\cell\cell 2\cell\row\pard After\par", "Bridge | Opened | Toll\nVik north |  | 2\nAfter"),
        (r"\trowd\cellx2000\cellx4000\intbl Toll\cell Due\cell\row\pard\par\trowd\cellx1000\cellx2000\cellx4000\intbl Vik\cell 1932\cell 2\cell\row", "Toll | Due\nVik | 1932 | 2"),
        (r"{\revised\revauth1\revdttm1203768000 new} lamp", "new lamp"),
        (r"\trowd\clvmgf\cellx1\clmgf\cellx2\clmrg\cellx3 a\cell b\cell\cell\row\trowd\clvmrg\cellx1\cellx2\cellx3\cell c\cell d\cell\row", "a | b | b\na | c | d"),
    ],
)  # fmt: skip
def test_text_is_read_as_shown(body: str, text: str) -> None:
    assert read(rtf(FONTS + body))[0] == text.split("\n")


def test_the_title_pictures_and_comments_are_read_or_noted() -> None:
    body = (
        r"{\info{\author Poe}{\title The light}}a {\*\shppict{\pict\pngblip 89504e}}"
        r"{\nonshppict{\pict 00}}{\*\atnid P}{\*\annotation who says?} b"
    )
    lines, title, notes = read(rtf(body))
    assert (lines, title) == (["a [picture] b"], "The light")
    assert notes == ["log.rtf: left out a picture, a comment"]
    assert [note.kind for note in notes] == [NoteKind.NOT_IN_WORDS]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"lit in 1932", "is not an RTF that can be read .*does not begin with"),
        (rtf(""), "has no text"),
        (rtf("{" * 2_000), "nested more than 1,000 deep"),
        (rtf("}" * 2_000), "has no text"),
        (rtf(r"\bin999999999 a"), "has no text"),
    ],
)
def test_what_is_no_such_file_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason):
        read_file(data, ".rtf", "log.rtf")


WHITE = "{\\colortbl;\\red255\\green255\\blue255;\\red0\\green0\\blue128;}"


def box(states: str) -> str:
    """A check box of a form."""
    words = f"FORMCHECKBOX {{\\*\\formfield{{\\fftype1{states}}}}}"
    return f"{{\\field{{\\*\\fldinst {words}}}{{\\fldrslt}}}}"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (f'{FONTS}5 {{\\field{{\\*\\fldinst SYMBOL 109 \\\\f "Symbol"}}{{\\fldrslt\\f1}}}}g', "5 μg"),
        ("{\\field{\\*\\fldinst IF {\\field{\\*\\fldinst N}{\\fldrslt 5}} = 5}{\\fldrslt twelve}}", "twelve"),
        ("{\\field{\\*\\fldinst PAGE}{\\fldrslt 7}}", "7"),
        (box("\\ffres1") + box("\\ffres0\\ffdefres1") + box("\\ffres25\\ffdefres1") + box(""), "☒☐☒☐"),
        ("E={\\mmath{\\*\\moMath{\\mf{\\mnum{\\mr 1}}{\\mden{\\mr a+b}}}}}", "E=1/(a+b)"),
        ("{\\mmath{\\*\\moMath{\\md{\\mdPr{\\mbegChr [}{\\mendChr ]}}{\\me{\\mr x}}}}}", "[x]"),
        (f"{WHITE}open {{\\cf1 secret}}end", "open end"),
        (f"{WHITE}{{\\cf1\\highlight2 shown}} {{\\cf1\\chcbpat2 too}} {{\\cf2 blue}}", "shown too blue"),
        (f"{WHITE}\\pard\\cbpat2{{\\cf1 shown}}\\par", "shown"),
        (f"{WHITE}\\viewbksp1{{\\*\\background{{\\shp x}}}}{{\\cf1 shown}}", "shown"),
        (f"{WHITE}{{\\*\\background{{\\shp x}}}}open {{\\cf1 secret}}end", "open end"),
        (f"{WHITE}\\viewbksp1 open {{\\cf1 secret}}end", "open end"),
        (f"{WHITE}\\trowd\\clcbpat2\\cellx1\\intbl{{\\cf1 shown}}\\cell\\row\\pard", "shown"),
    ],
)  # fmt: skip
def test_fields_boxes_formulas_and_white_text_are_read_as_shown(body: str, text: str) -> None:
    assert read(rtf(body))[0] == [text]
