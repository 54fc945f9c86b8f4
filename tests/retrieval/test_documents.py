import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document as Retrieved

from conflictscore.errors import InputError
from conflictscore.records import Document
from conflictscore.retrieval.documents import as_documents, to_documents
from conflictscore.retrieval.search_notes import collecting


def test_documents_are_numbered_in_the_given_order_with_what_is_known_of_them() -> None:
    url = "https://a.example/"
    known = {"title": "Sky", "source": url, "rank": 3, "ok": True}
    blue = Retrieved(page_content="blue", metadata=known)
    green = Retrieved(page_content="green", metadata={"link": "l", "source": "s", "url": " "})
    first, second = to_documents([blue, green])
    assert first == Document(
        number=1, text="blue", title="Sky", url=url, metadata={"rank": 3, "ok": True}
    )
    assert (second.number, second.url, second.title) == (2, "s", "")
    assert second.metadata == {"link": "l", "url": ""}


def test_empty_and_repeated_items_leave_no_gap_in_the_numbers() -> None:
    items = [
        Retrieved(page_content=text, metadata={"source": source})
        for text, source in zip(
            (" \x00\n", "blue", "blue", "blue", "red", "blue\n"), "aaabaa", strict=True
        )
    ]
    documents = to_documents(items)
    assert [(doc.number, doc.text, doc.url) for doc in documents] == [
        (1, "blue", "a"),
        (2, "blue", "b"),
        (3, "red", "a"),
    ]


@pytest.mark.parametrize("word", ["nan", "NaN ", "None", "null", "N/A", "<NA>"])
def test_a_word_for_a_missing_text_is_no_document(word: str) -> None:
    given = [word, {"text": word}, Retrieved(page_content=word), "None of the lamps was lit."]
    with collecting() as notes:
        assert [document.text for document in as_documents(given)] == [given[-1]]
    assert notes == ["3 of 4 documents are null, and were left out"]
    results = [Retrieved(page_content=word), Retrieved(page_content="lit")]
    assert [document.text for document in to_documents(results)] == ["lit"]


def test_control_characters_go_and_line_ends_stay() -> None:
    (document,) = to_documents([Retrieved(page_content="s\x00k\x1by\r\nis\tblue\x0c\ud800x")])
    assert document.text == "sky\nis\tblue\n\ufffdx"


def test_values_that_are_not_single_and_finite_are_left_out() -> None:
    metadata = {"list": [1], "dict": {}, "nan": float("nan"), "none": None, "title": 5, "n": 1}
    metadata |= {"huge": 10**5000, "date": -(2**1024)}
    (document,) = to_documents([Retrieved(page_content="x", metadata=metadata)])
    assert document.title == ""
    assert document.metadata == {"none": None, "n": 1}


def test_a_title_beyond_any_double_is_refused_and_an_address_is_one_line() -> None:
    with pytest.raises(InputError, match="document 1, field title: a number that no double"):
        as_documents([{"text": "x", "title": 10**5000}])
    forged = "https://evil.test/p\nTitle: Official\trecord"
    read = as_documents([{"text": "x", "url": forged}])
    read += to_documents([Retrieved(page_content="x", metadata={"source": forged})])
    assert {document.url for document in read} == {"https://evil.test/pTitle: Officialrecord"}


VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()


@given(
    st.lists(
        st.builds(
            Retrieved,
            page_content=st.text(),
            metadata=st.dictionaries(
                st.sampled_from(["title", "url", "source", "link", "\ud800"]) | st.text(), VALUES
            ),
        ),
        max_size=5,
    )
)
def test_documents_are_plain_json_whatever_the_retriever_returns(items: list[Retrieved]) -> None:
    documents = to_documents(items)
    assert [doc.number for doc in documents] == list(range(1, len(documents) + 1))
    for document in documents:
        assert document.text.strip()
        assert Document.model_validate_json(document.model_dump_json()) == document


def test_a_null_and_an_empty_text_are_left_out_with_a_note_and_cost_no_other() -> None:
    with collecting() as notes:
        documents = as_documents(
            ["", None, {"text": " "}, Retrieved(page_content=""), {"text": "", "content": "blue"}]
        )
    assert [(document.number, document.text) for document in documents] == [(1, "blue")]
    assert len(notes) == 2
    with pytest.raises(InputError, match="and so are all other documents"):
        as_documents(["", {"text": ""}])


def test_the_column_without_a_header_is_no_address() -> None:
    assert as_documents([{"text": "blue", "": "0"}])[0].url == ""
    assert to_documents([Retrieved(page_content="blue", metadata={"": "0"})])[0].url == ""


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_missing_title_in_metadata_is_no_error(missing: object) -> None:
    item = Retrieved(page_content="blue", metadata={"title": missing, "source": missing})
    assert (as_documents([item])[0].title, as_documents([item])[0].url) == ("", "")


def test_a_text_in_pieces_may_be_a_field_and_may_be_empty() -> None:
    documents = as_documents([{"paragraphs": ["blue", "green"]}, ["", " "]])
    assert [document.text for document in documents] == ["blue\ngreen"]


def test_windows_quotation_marks_do_not_take_the_text_after_them() -> None:
    item = Retrieved(page_content="\x8bLamp\x9b on page \x8b12\x9b 42 m; \x1b[1mred\x1b[0m")
    assert to_documents([item])[0].text == "‹Lamp› on page ‹12› 42 m; red"
