import copy
import json
import os
import pickle
import re
import sys
from collections.abc import Callable
from contextlib import closing
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conflictscore.errors import InputError, NoDocumentsError
from conflictscore.records import Document
from conflictscore.retrieval.document_files import read_documents
from conflictscore.retrieval.pages.page import UnreadableError
from conflictscore.retrieval.reading.box import ReaderBox
from conflictscore.retrieval.reading.by_ending import read_file
from conflictscore.retrieval.reading.texts import Note, NoteKind


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(path: str, content: str | bytes) -> str:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def only(path: str) -> Document:
    (document,) = read_documents([path]).documents
    return document


def test_a_folder_is_read_with_all_its_folders_by_name() -> None:
    write("docs/b.txt", "second")
    write("docs/a/z.md", "# First things\nfirst")
    write("docs/c.HTML", "<title>Third</title><p>third")
    write("docs/d.jsonl", '{"text": "fourth"}\n{"text": "fifth", "url": "https://e.example/"}\n')
    read = read_documents(["docs"])
    assert [(doc.number, doc.url, doc.title) for doc in read.documents] == [
        (1, "docs/a/z.md", "First things"),
        (2, "docs/b.txt", "b"),
        (3, "docs/c.HTML", "Third"),
        (4, "docs/d.jsonl", ""),
        (5, "https://e.example/", ""),
    ]
    assert read.notes == ()


def test_paths_are_read_in_the_given_order_and_each_file_once() -> None:
    write("docs/a.txt", "a")
    write("docs/b.txt", "b")
    Path("docs/c.txt").symlink_to("b.txt")
    read = read_documents([Path("docs/b.txt"), "docs", "./docs/a.txt"])
    assert [doc.url for doc in read.documents] == ["docs/b.txt", "docs/a.txt"]


def test_hidden_files_are_passed_over_and_other_endings_counted() -> None:
    write("docs/a.txt", "a")
    write("docs/.hidden.txt", "no")
    write("docs/.git/config.txt", "no")
    write("docs/picture.png", "no")
    write("docs/deep/Makefile", "no")
    read = read_documents(["docs"])
    assert [doc.text for doc in read.documents] == ["a"]
    (note,) = read.notes
    assert note.startswith("docs: skipped 2 files whose names do not end in .txt, .md")


def test_a_link_in_a_folder_does_not_lead_out_of_it() -> None:
    write("docs/a.txt", "a")
    write("secret/b.txt", "b")
    write("docs-b/c.txt", "c")
    Path("docs/out.txt").symlink_to("../secret/b.txt")
    Path("docs/near.txt").symlink_to(Path("docs-b/c.txt").resolve())
    Path("linked").symlink_to("docs")
    for folder in ("docs", "linked"):
        read = read_documents([folder])
        assert [doc.text for doc in read.documents] == ["a"]
        assert [note.partition(": ")[::2] for note in read.notes] == [
            (f"{folder}/{name}.txt", "is a link that leads out of the folder, left out")
            for name in ("near", "out")
        ]
    named = read_documents(["docs/out.txt"])
    assert named.documents[0].text == "b", "a link that is named is read"


def test_a_link_does_not_disguise_a_file_that_is_skipped() -> None:
    for path in ("docs/.git/config", "docs/.env", "docs/..now/a.txt"):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(f"The text of {path}.")
    Path("docs/config.txt").symlink_to(".git/config")
    Path("docs/env.md").symlink_to(".env")
    Path("docs/mounted.txt").symlink_to("..now/a.txt")  # as Kubernetes mounts files
    read = read_documents("docs")
    assert [document.text for document in read.documents] == ["The text of docs/..now/a.txt."]
    disguised = "is a link to a hidden file or a file with another ending, left out"
    assert read.notes == (f"docs/config.txt: {disguised}", f"docs/env.md: {disguised}")


def test_a_folder_that_links_to_itself_is_read_once() -> None:
    write("docs/deep/a.txt", "a")
    Path("docs/deep/loop").symlink_to("..")
    Path("docs/again").symlink_to("deep")
    assert len(read_documents(["docs"]).documents) == 1


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Before\n\n## The lamp  ##\nAfter", "The lamp"),
        ("# C# in a day", "C# in a day"),
        ("# #\n### \n# Second", "Second"),
        ("#hashtag", "notes"),
        ("# Wide" + " " * 50_000 + "table", "Wide table"),
        ("```sh\n# no heading\n```\n\n# The lamp", "The lamp"),
        ("    # no heading\n\nThe lamp\n========", "The lamp"),
        ("---\ntitle: 'The lamp'\n---\n# First", "The lamp"),
    ],
)
def test_a_text_is_called_by_its_first_heading_or_else_by_its_file(text: str, title: str) -> None:
    assert only(write("notes.md", text)).title == title


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("# C#", "C#"),
        ("# The lamp ##", "The lamp"),
        ("# Lamp # 2 \t#", "Lamp # 2"),
        ("# F# # ", "F#"),
    ],
)
def test_only_signs_after_a_space_close_the_heading_of_a_plain_text(line: str, title: str) -> None:
    assert only(write("notes.txt", f"{line}\nIt was lit.")).title == title


def test_a_web_page_gives_its_title_and_its_text_without_menus_and_scripts() -> None:
    write(
        "page.html",
        "<html><head><title> Sky &amp;\n sea </title><style>p {}</style></head><body>"
        "<svg><title>Icon</title></svg><nav>Menu</nav>Ask:<h1>Why?</h1>\n\n"
        "<p>The <b>sky</b>, it\n is blue.</p><p>More.<br>End</p>"
        "<script>alert(1)</script><ul><li>one</li><li>two</li></ul></body></html>",
    )
    page = only("page.html")
    assert page.title == "Sky & sea"
    assert page.text == "Ask:\nWhy?\nThe sky, it is blue.\nMore.\nEnd\none\ntwo"


def test_jsonl_keeps_single_values_and_says_which_fields_it_left_out() -> None:
    row = {"text": "t", "title": None, "url": "u", "year": 2024, "ok": True, "by": None, "p": 0.5}
    lines = [json.dumps({**row, "tags": ["a"]}), "", json.dumps({"text": "v", "tags": {}})]
    read = read_documents([write("d.jsonl", "\n".join(lines))])
    first, second = read.documents
    assert (first.title, first.url) == ("", "u")
    assert first.metadata == {"year": 2024, "ok": True, "p": 0.5}
    assert (second.number, second.text, second.url) == (2, "v", "d.jsonl")
    assert read.notes == ("d.jsonl: the field 'tags' is not a single value and was left out",)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"text": "cut', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('["text"]', "not a JSON object"),
        ('{"title": "a"}', "field text: it is missing"),
        ('{"text": " \\u0000 "}', "field text: it is empty"),
        ('{"text": 5}', "field text: int, not a string"),
        ('{"text": "a", "title": true}', "field title: bool, not a string"),
        ('{"text": "a", "url": false}', "field url: bool, not a string"),
    ],
)
def test_a_wrong_line_is_left_out_and_named_with_its_file_and_field(line: str, words: str) -> None:
    write("docs/d.jsonl", '{"text": "fine"}\n\n' + line + '\n{"text": "good"}\n')
    read = read_documents(["docs"])
    assert [document.text for document in read.documents] == ["fine", "good"]
    (note,) = read.notes
    assert note.kind is NoteKind.ROW_LEFT_OUT
    assert re.match(r"docs/d\.jsonl, line 3[:,] ", note)
    assert words in note
    assert "\n" not in note


def test_a_file_of_wrong_lines_alone_is_refused_by_the_first() -> None:
    write("d.jsonl", "no\nnor this\n")
    with pytest.raises(InputError, match=r"d\.jsonl: line 1: not JSON"):
        read_documents(["d.jsonl"])


WRITTEN_BY_OTHERS = {
    "LangChain": '{"lc": 1, "kwargs": {"page_content": "Lit.", "metadata": {"title": "Log"}}}',
    "LlamaIndex": '{"id_": "1", "metadata": {"title": "Log"}, "text_resource": {"text": "Lit."}}',
    "LlamaIndex, store": '{"__data__": {"text": "Lit.", "extra_info": {"title": "Log"}}}',
    "Haystack": '{"id": "1", "content": "Lit.", "meta": {"title": "Log"}}',
    "Pyserini": '{"id": "1", "contents": "Lit.", "title": "Log"}',
    "Elasticsearch": '{"_index": "a", "_source": {"text": "Lit.", "title": "Log"}}',
    "pandas": '{"text": "Lit.", "title": "Log", "score": NaN}',
    "in pieces": '{"text": ["Lit."], "title": "Log"}',
    "over several lines": '{\n "text": "Lit.",\n "title": "Log"\n}',
    "a list": '[{"text": "Lit.", "title": "Log"}]',
    "a sequence": '\x1e{"text": "Lit.", "title": "Log"}',
    "Pinecone": '{"id": "1", "metadata": {"text": "Lit.", "title": "Log"}}',
    "an object for the text": '{"text": {"value": "Lit."}, "title": "Log"}',
    "Chroma": '{"id": "1", "document": "Lit.", "metadata": {"title": "Log"}}',
    "Firecrawl": '{"markdown": "Lit.", "metadata": {"title": "Log"}}',
    "Common Crawl": '{"url": "http://a.test", "raw_content": "Lit.", "title": "Log"}',
    "paragraphs": '{"paragraphs": ["Lit."], "title": "Log"}',
    "a search result": '{"node": {"text": "Lit.", "metadata": {"title": "Log"}}, "score": 0.5}',
    "an identifier beside it": '{"document": "d1", "text": "Lit.", "title": "Log"}',
    "an object for the document": '{"document": {"text": "Lit.", "title": "Log"}, "score": 0.5}',
    "a title around the document": '{"title": "Log", "passage": {"content": "Lit."}}',
    "parts of a message": '{"content": [{"type": "text", "text": "Lit."}], "title": "Log"}',
    "beside an empty field": '{"text": "", "content": "Lit.", "title": "Log"}',
}


@pytest.mark.parametrize("tool", WRITTEN_BY_OTHERS)
def test_json_lines_are_read_as_other_tools_write_them(tool: str) -> None:
    line = WRITTEN_BY_OTHERS[tool]
    first, second = read_documents([write("d.jsonl", f"{line}\n{line}\n")]).documents
    assert {(first.text, first.title), (second.text, second.title)} == {("Lit.", "Log")}


def test_an_object_in_a_row_keeps_its_own_title_and_address() -> None:
    inner = '{"text": "Lit.", "metadata": {"title": "Log", "source": "https://a.test"}}'
    row = f'{{"title": "Results", "url": "https://b.test", "document": {inner}}}'
    (document,) = read_documents([write("d.jsonl", row)]).documents
    assert (document.title, document.url) == ("Log", "https://a.test")


def test_a_character_nul_does_not_refuse_a_file() -> None:
    read = read_documents([write("d.csv", "text\nLit in\0 1871.\nLit in 1874 says the log.\n")])
    assert [document.text for document in read.documents] == [
        "Lit in\ufffd 1871.",
        "Lit in 1874 says the log.",
    ]
    assert [note.kind for note in read.notes] == [NoteKind.ENCODING]


def test_two_objects_on_a_line_are_two_documents() -> None:
    read = read_documents([write("d.jsonl", '{"text": "a"} {"text": "b"}\n')])
    assert [document.text for document in read.documents] == ["a", "b"]


def test_each_row_of_a_table_is_a_document() -> None:
    long = "It was lit in 1874. " * 10_000
    rows = (
        ",Text,title,URL,number,metadata\r\n"
        '0,"Lit in 1871,\n""they"" say",Log,https://log.example/,1871,\r\n'
        f"\r\n1,{long},,,,Ann\r\n2,,No text,,,\r\n"
    )
    read = read_documents([write("d.csv", rows.encode("utf-8-sig"))])
    first, second = read.documents
    assert (first.text, first.title) == ('Lit in 1871,\n"they" say', "Log")
    assert (first.url, first.metadata) == ("https://log.example/", {"number": "1871"})
    assert (second.number, second.text, second.url) == (2, long.strip(), "d.csv")
    assert second.metadata == {"metadata": "Ann"}
    assert read.notes == ("d.csv: rows skipped because they have no text: 1",)


@pytest.mark.parametrize("name", ["text", "content", "page_content"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_table_may_have_other_separators_and_names(separator: str, name: str) -> None:
    rows = f"title;{name}\nLog;Lit at last\n".replace(";", separator)
    (document,) = read_documents([write("d.csv", rows)]).documents
    assert (document.title, document.text) == ("Log", "Lit at last")


@pytest.mark.parametrize(
    ("rows", "texts"),
    [
        ('"Grey lady" opened in 1932.,t', ["Grey lady opened in 1932."]),
        ("opened in 1932,t,,", ["opened in 1932"]),
        ("opened in 1932", ["opened in 1932"]),
        ('"He says ""1932""",t', ['He says "1932"']),
        (r'"He says \"1932\", they say",t', ['He says "1932", they say']),
        ('"two\nlines",t\nlast,t', ["two\nlines", "last"]),
    ],
)
def test_rows_are_read_as_spreadsheets_read_them(rows: str, texts: list[str]) -> None:
    read = read_documents([write("d.csv", f"text,title\n{rows}\n")])
    assert [document.text for document in read.documents] == texts
    assert read.notes == ()


@pytest.mark.parametrize("first", ["sep=;\n", "Lamps of the coast\n\n", "\n\n"])
def test_a_line_above_the_header_is_passed_over(first: str) -> None:
    (document,) = read_documents(
        [write("d.csv", f"{first}title;text\nLog;Lit, at last\n")]
    ).documents
    assert (document.title, document.text) == ("Log", "Lit, at last")


def test_a_row_with_more_cells_than_columns_is_left_out_or_joined_with_a_note() -> None:
    write("docs/d.csv", 'text,title\n"two\nlines",t\na,b,c\n')
    read = read_documents(["docs"])
    assert [document.text for document in read.documents] == ["two\nlines"]
    (note,) = read.notes
    assert note.kind is NoteKind.ROW_LEFT_OUT
    assert note.startswith("docs/d.csv, line 4: the row has 3 cells, but the header has 2")

    (document,), notes = read_file(b"title,text\nLog,Lit, at last\n", ".csv", "d.csv")
    assert document.text == "Lit, at last"
    assert [note.kind for note in notes] == [NoteKind.ROW_MENDED]


def test_a_quotation_mark_that_nothing_closes_does_not_swallow_the_rows_below() -> None:
    read = read_documents([write("d.csv", 'text,title\na,t\n"cut,t\nb,t\n')])
    assert [document.text for document in read.documents] == ["a", "cut", "b"]
    (note,) = read.notes
    assert note.kind is NoteKind.ROW_MENDED
    assert note.startswith("d.csv, line 3:")


@pytest.mark.parametrize(
    ("rows", "texts"),
    [
        ("text,title\n'Lit, at last, it''s said',Log\n'Dark',Log\n", ["Lit, at last, it's said", "Dark"]),
        ("'title';'text'\n'Log';'Lit; at last'\n", ["Lit; at last"]),
        ("title,text\n'Log','It\\'s lit, at last'\n", ["It's lit, at last"]),
        ("text,title\n'Tis lit,Log\nIt's dark,Log\n", ["'Tis lit", "It's dark"]),
        ("text,title\n\"The 'old, odd' lamp\",Log\n", ["The 'old, odd' lamp"]),
    ],
)  # fmt: skip
def test_cells_may_stand_between_apostrophes(rows: str, texts: list[str]) -> None:
    documents, notes = read_file(rows.encode(), ".csv", "d.csv")
    assert [document.text for document in documents] == texts
    assert not notes


def test_columns_with_the_same_name_are_all_kept() -> None:
    rows = b"text,date,text,date\nLit in 1874,1932,by Poe,\n,,Out in 1901,1950\n"
    documents, _ = read_file(rows, ".csv", "d.csv")
    assert [(document.text, dict(document.metadata)) for document in documents] == [
        ("Lit in 1874", {"date": "1932", "text (2)": "by Poe"}),
        ("Out in 1901", {"date": "1950"}),
    ]


@given(data=st.binary(), ending=st.sampled_from(["txt", "html", "jsonl", "csv"]))
def test_any_bytes_are_text_or_an_error_that_names_the_file(
    data: bytes, ending: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.getbasetemp() / f"bytes.{ending}"
    file.write_bytes(data)
    try:
        documents = read_documents([file]).documents
    except InputError as error:
        refused = str(error)
    else:
        assert documents[0].text.strip()
        assert documents[0].model_dump_json().encode()
        return
    assert f"bytes.{ending}" in refused


def test_a_note_names_an_encoding_other_than_utf8() -> None:
    write("notes.txt", "空は青い。レイリー散乱".encode("cp932"))
    read = read_documents(["notes.txt"])
    assert read.documents[0].text == "空は青い。レイリー散乱"
    assert read.notes == ("notes.txt: not UTF-8, read as cp932",)


def test_a_link_to_nowhere_and_a_pipe_are_left_out_of_a_folder() -> None:
    write("docs/good.txt", "good")
    Path("docs/link.txt").symlink_to("gone.txt")
    os.mkfifo("docs/pipe.txt")
    read = read_documents(["docs"])
    assert len(read.documents) == 1
    assert [note.split(":")[0] for note in read.notes] == ["docs/link.txt", "docs/pipe.txt"]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("gone.txt", "gone.txt: there is no such file"),
        ("a\x00b.txt", "cannot be read"),
        ("x" * 300, "xxx: cannot be read"),
        ("picture.png", "picture.png: its extension is not supported; files must end in .txt, .md"),
        ("", "path .* is empty"),
    ],
)
def test_a_path_that_cannot_be_read_is_named(path: str, words: str) -> None:
    write("picture.png", "x")
    with pytest.raises(InputError, match=words):
        read_documents([path])


def test_no_path_at_all_is_an_error() -> None:
    with pytest.raises(InputError, match="no file or folder"):
        read_documents([])


def test_nothing_to_read_names_the_folder_the_endings_and_the_reasons() -> None:
    write("docs/a.txt", "")
    write("docs/b.png", "x")
    with pytest.raises(NoDocumentsError) as caught:
        read_documents(["docs"])
    for word in ("nothing to read in docs", ".jsonl", "docs/a.txt: has no text", "1 file"):
        assert word in str(caught.value)


@pytest.mark.skipif(os.name != "posix" or os.uname().sysname != "Linux", reason="any bytes name")
def test_a_file_name_that_is_not_text_is_shown_as_far_as_possible() -> None:
    Path("docs").mkdir()
    Path(os.fsdecode(b"docs/sky-\xff.txt")).write_text("blue")
    document = only("docs")
    assert (document.url, document.title) == ("docs/sky-\ufffd.txt", "sky-\ufffd")


def pdf(*pages: str) -> bytes:
    """A PDF with one line of text per page, or none."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for n, text in enumerate(pages):
        drawn = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET" if text else ""
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * n} 0 R"
            " /Resources << /Font << /F1 3 0 R >> >> >>",
            f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream",
        ]
    body, places = "%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(body))
        body += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    return (
        f"{body}xref\n0 {size}\n0000000000 65535 f \n{table}"
        f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF\n"
    ).encode()


def test_a_pdf_is_one_document_and_a_note_counts_pages_without_text() -> None:
    pytest.importorskip("pypdfium2")
    write("log.pdf", pdf("Lit in 1874.", "", "It is white."))

    read = read_documents(["log.pdf"])

    (document,) = read.documents
    assert (document.text, document.title) == ("Lit in 1874.\n\nIt is white.", "log")
    assert read.notes == ("log.pdf: 1 of its 3 pages have no text",)


LOCK = f"<< /Filter /Standard /V 1 /R 2 /P -4 /O ({'o' * 32}) /U ({'u' * 32}) >>"
LOCKED = pdf("x").replace(b"/Root", f"/ID [(a) (b)] /Encrypt {LOCK} /Root".encode())
NO_COLUMN = "has no column called text, content or page_content, but 'item', 'price'"
UNUSABLE: dict[str, tuple[str, bytes, str]] = {
    "empty": ("bad.txt", b" \n", "has no text"),
    "binary": ("bad.txt", b"\x89PNG\r\n\x1a\n\x00\x00", "not text"),
    "undecodable": ("bad.txt", bytes(range(128, 256)), "in an encoding that can be determined"),
    "too large": ("bad.txt", b"a" * 20_000_001, "larger than 20 MB"),
    "scripts only": ("bad.html", b"<script>x</script>", "has no text"),
    "no column of texts": ("bad.csv", b"item,price\nlamp,3\n", NO_COLUMN),
    "scanned": ("bad.pdf", pdf("", ""), "has no text; if its pages are pictures"),
    "no PDF": ("bad.pdf", b"%PDF-1.4\nnothing", "not a PDF that can be read"),
    "a locked PDF": ("bad.pdf", LOCKED, "is locked; save a copy that opens"),
    "an empty PDF": ("bad.pdf", b"", "not a PDF that can be read"),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_an_unusable_file_is_left_out_of_a_folder_and_refused_by_name(case: str) -> None:
    name, content, words = UNUSABLE[case]
    if name.endswith(".pdf"):
        pytest.importorskip("pypdfium2")
    write(f"docs/{name}", content)
    write("docs/good.txt", "good")
    read = read_documents(["docs"])
    assert [doc.url for doc in read.documents] == ["docs/good.txt"]
    (note,) = read.notes
    assert note.startswith(f"docs/{name}: ")
    assert words in note
    with pytest.raises(InputError, match=rf"^docs/{re.escape(name)}: .*{words}"):
        read_documents(["docs/good.txt", f"docs/{name}"])


def test_a_pdf_marks_what_is_raised_joins_divided_words_and_reads_columns() -> None:
    pytest.importorskip("pypdfium2")
    small, normal = ") Tj 6 Ts /F1 7 Tf (", ") Tj 0 Ts /F1 12 Tf ("
    raised = (
        f"10{small}6{normal} engi-) Tj 0 -14 Td (neers{small}a{normal} left on"
        f" the 1{small}st{normal}, Barnes-) Tj 0 -14 Td (Jewish left."
    )
    left = ("The bridge opened in", "1932 and was painted", "red by the town.")
    right = ("The mill stands by", "the river and burned", "down in the end.")
    rows = (f"{a}) Tj 200 0 Td ({b}) Tj -200 -14 Td (" for a, b in zip(left, right, strict=True))
    write("log.pdf", pdf(raised, "".join(rows)))

    first, second = only("log.pdf").text.split("\n\n")

    assert first == "10^6 engineers^a left on the 1st, Barnes-Jewish left."
    assert second.split("\n") == [*left, *right]


def test_a_file_that_takes_too_much_is_refused_with_the_reason() -> None:
    made = BytesIO()
    with ZipFile(made, "w", ZIP_DEFLATED) as file:
        file.writestr("word/document.xml", "<w><p>" + "<r><t>a</t></r>" * 2_000_000 + "</p></w>")
    with closing(ReaderBox(megabytes=100)) as box:
        with pytest.raises(UnreadableError, match="needs more than 100 MB of memory"):
            box.read(made.getvalue(), ".docx", "bomb.docx")
        assert box.read(b"<p>Blue.", ".html", "a.html")[0][0].text == "Blue."
    attributes = b"<p " + b"".join(b"a%d=1 " % n for n in range(80_000)) + b">x"
    with pytest.raises(UnreadableError, match="a tag with more than 2,000 attributes"):
        read_file(attributes, ".html", "a.html")
    with (
        # five minutes of clock time, which even a busy machine does not need for one second
        closing(ReaderBox(file_seconds=1, clock=300)) as box,
        pytest.raises(UnreadableError, match="could not be read within 1 s of processor time"),
    ):
        box.read(made.getvalue(), ".docx", "bomb.docx")
    with (
        # processor time cannot run out before the clock, since it passes no faster
        closing(ReaderBox(file_seconds=60, clock=1 / 60)) as box,
        pytest.raises(UnreadableError, match=r"could not be read within 1 s$"),
    ):
        box.read(made.getvalue(), ".docx", "bomb.docx")


def test_a_reader_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdfium2", None)

    with pytest.raises(UnreadableError, match=r"needs pypdfium2 to be read: pip install"):
        read_file(pdf("Lit in 1874."), ".pdf", "log.pdf")


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("Opened <!-- 1950 --> in 1932.", "Opened  in 1932."),
        ("a\n\n<!-- one\n\ntwo -->\nb", "a\n\n\nb"),
        ("Opened in ~~1930~~ 1932.", "Opened in  1932."),
        ("<del>\n\n1930\n\n</del>\n\n1932", "1932"),
        ("It cost <s>4</s> 5, 10<sup>6</sup> in all.", "It cost  5, 10^6 in all."),
        ("a\n\n[//]: # (1950)\n[plate]: http://a.example '1950'\n\nb", "a\n\n\n\n\nb"),
        ("`~~x~~ <!-- y -->`", "`~~x~~ <!-- y -->`"),
        ("```\n<!-- kept -->\n~~kept~~\n```", "```\n<!-- kept -->\n~~kept~~\n```"),
        ("<p hidden>1950</p>\n\n1932 &gt; 1931", "1932 > 1931"),
        ("| toll | :white_check_mark: |\n|--|--|\n| dogs | :x: |", "| toll | ✅ |\n|--|--|\n| dogs | ❌ |"),
        ("- [x] painted\n- [ ] lit", "- [x] painted\n- [ ] lit"),
        ("![a bridge](a.png) of 1932", "[image: a bridge] of 1932"),
        ("![](a.png) <img alt='a mast' src=b> <img alt='' src=c>x", "[image] [image: a mast] x"),
        ("+++\ntitle = 'Vik'\ndate = 1950\n+++\n1932", "1932"),
        ("~~It opened\nin 1930.~~ ~1931~ H~2~O `~~a~~` 1932", "H~2~O `~~a~~` 1932"),
        ("<div hidden>\n\n1950\n\n</div>\n\n1932", "1932"),
        (r"5\*3 is 1932\.", "5*3 is 1932."),
        ("Opened.[^1]\n\n[^1]: In 1932.\n\n[Note]: It opened.", "Opened.[^1]\n[^1]: In 1932.\n[Note]: It opened."),
        ("4. a\n4. b\n   1. c\n   1. d", "4. a\n5. b\n   1. c\n   2. d"),
        ("<https://a.example/1932> or <ann@a.example>, <b>lit</b>", "https://a.example/1932 or ann@a.example, lit"),
        ("Quay 12\\\nVik\\\n1932 `\\` $a\\\\$", "Quay 12\nVik\n1932 `\\` $a\\\\$"),
    ],
)  # fmt: skip
def test_markdown_is_read_as_its_page_shows_it(markdown: str, text: str) -> None:
    assert re.sub(r"\n+", "\n", only(write("a.md", markdown)).text) == re.sub(r"\n+", "\n", text)


def test_colours_and_overstruck_letters_of_a_terminal_are_not_read() -> None:
    log = "\x1b[1mO\x1b[0mpened \x1b]8;;http://a.example\x1b\\in\x1b]8;;\x1b\\ _\x081_\x089_\x083_\x082."
    assert only(write("log.txt", log)).text == "Opened in 1932."


def test_a_dash_of_windows_1252_keeps_two_years_apart() -> None:
    assert only(write("log.txt", "1932\x961945, North\x1f5")).text == "1932–1945, North 5"


def test_a_text_in_utf8_stays_so_in_spite_of_some_bytes_from_elsewhere() -> None:
    read = read_documents([write("log.txt", "Brücke, Qualität, März, Wände. ".encode() + b"\xe4.")])
    assert read.documents[0].text == "Brücke, Qualität, März, Wände. \ufffd."
    assert [note.kind for note in read.notes] == [NoteKind.ENCODING]


def test_a_pdf_is_read_without_unpainted_text_and_repeated_heads() -> None:
    pytest.importorskip("pypdfium2")
    write("log.pdf", pdf("Lit in 1932.) Tj 3 Tr 0 -14 Td (Lit in 1950."))
    assert only("log.pdf").text == "Lit in 1932."

    head, step = "Harbour Board 1950", ") Tj 0 -14 Td ("
    write(
        "two.pdf",
        pdf(f"{head}{step}Opened on 19{step}1 of 2", f"{head}{step}March 1932.{step}2 of 2"),
    )
    assert only("two.pdf").text == f"{head}\nOpened on 19\n\nMarch 1932."


def test_a_single_path_is_a_list_of_one() -> None:
    write("a/one.txt", "Lit in 1871.")
    assert [document.url for document in read_documents("a").documents] == ["a/one.txt"]


def test_a_linked_folder_is_named_in_a_note() -> None:
    write("a/one.txt", "Lit in 1871.")
    write("b/two.txt", "Lit in 1874.")
    Path("a/linked").symlink_to(Path("b").resolve())
    read = read_documents(["a"])
    assert len(read.documents) == 1
    assert [str(note) for note in read.notes] == ["a/linked: is a link to a folder, left out"]


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda n: pickle.loads(pickle.dumps(n))]
)
def test_a_copied_note_keeps_its_kind(again: Callable[[Note], Note]) -> None:
    note = again(Note(NoteKind.UNSEEN, "hidden text"))
    assert (note, note.kind) == ("hidden text", NoteKind.UNSEEN)
