"""Near-identical documents: ten copies of one press release are one witness."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conflictscore.records import Document
from conflictscore.retrieval.duplicates import _is_all_over, mark_duplicates

LIGHTHOUSE = Path(__file__).parents[2] / "examples" / "lighthouse"
RELEASE = (LIGHTHOUSE / "encyclopedia.md").read_text()
WORDS = [f"word{n}" for n in range(200)]

# Articles 1 and 25 of the Universal Declaration of Human Rights, the second in part.
ARTICLES = {
    "Chinese": (
        "人人生而自由、在尊严和权利上一律平等。他们赋有理性和良心、并应以兄弟关系的精神相对待。",
        "人人有权享受为维持他本人和家属的健康和福利所需的生活水准、包括食物、衣着、住房、医疗。",
    ),
    "Japanese": (
        "すべての人間は、生れながらにして自由であり、かつ、尊厳と権利とについて平等である。",
        "すべて人は、衣食住、医療及び必要な社会的施設等により、自己及び家族の健康及び福祉に十分な",
    ),
    "Thai": (
        "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ ต่างมีเหตุผลและมโนธรรม",
        "ทุกคนมีสิทธิในมาตรฐานการครองชีพอันเพียงพอสำหรับสุขภาพและความอยู่ดีของตนและของครอบครัว",
    ),
}


def documents(*texts: str) -> list[Document]:
    return [Document(number=number, text=text) for number, text in enumerate(texts, start=1)]


def marks(*texts: str) -> list[int | None]:
    return [document.duplicate_of for document in mark_duplicates(documents(*texts))]


def words(count: int, *others: str) -> str:
    return " ".join([*WORDS[:count], *others])


def test_ten_copies_of_a_press_release_are_one_group() -> None:
    papers = [f"# The {name} Gazette\n\n{RELEASE}\n\nPage {n}" for n, name in enumerate(WORDS[:8])]
    typeset = RELEASE.upper().replace(" ", "\n\t").replace(",", " ,").replace("'", "’")

    assert marks(RELEASE, *papers, typeset) == [None, *[1] * 9]


def test_letters_that_look_alike_and_letters_that_are_not_drawn_hide_no_copy() -> None:
    cyrillic = RELEASE.translate(str.maketrans("aceop", "\u0430\u0441\u0435\u043e\u0440"))
    broken = "\u200b".join(RELEASE)
    accented = RELEASE.replace("e", "e\u0301")
    strokes = RELEASE.replace("l", "I").replace("o", "0")

    assert marks(RELEASE, cyrillic, broken, accented, strokes) == [None, 1, 1, 1, 1]


def test_seven_documents_about_the_same_thing_are_not_copies_of_each_other() -> None:
    texts = [path.read_text() for path in sorted(LIGHTHOUSE.iterdir())]
    assert marks(*texts) == [None] * 7


def test_pages_that_share_only_a_notice_are_not_copies() -> None:
    one, other, notice = (
        (LIGHTHOUSE / name).read_text()
        for name in ("keepers-log.md", "engineers-report.txt", "visitor-guide.html")
    )
    assert marks(one + notice, other + notice) == [None, None]


@pytest.mark.parametrize(("more", "is_copy"), [(40, True), (60, False)])
def test_a_copy_with_another_end_shares_most_of_its_shingles(more: int, is_copy: bool) -> None:
    """162 words have 160 shingles; each further word adds one that only the second text has."""
    added = [f"new{n}" for n in range(more)]
    assert marks(words(162), words(162, *added)) == [None, 1 if is_copy else None]


@pytest.mark.parametrize("every", [6, 7, 8])
def test_a_copy_with_words_changed_all_over_it_is_a_copy(every: int) -> None:
    told = RELEASE.split()
    changed = [WORDS[n] if n % every == 0 else word for n, word in enumerate(told)]
    assert marks(RELEASE, " ".join(changed)) == [None, 1]


def test_two_copies_with_one_word_in_seven_changed_in_each_are_never_missed() -> None:
    """Two such copies share about a quarter of their shingles; some of them used to be missed."""
    for number in range(150):
        shared = [f"w{number}x{n}" for n in range(210)]
        one = " ".join(f"a{word}" if n % 7 == 0 else word for n, word in enumerate(shared))
        other = " ".join(f"b{word}" if n % 7 == 1 else word for n, word in enumerate(shared))
        assert marks(one, other) == [None, 1], number


@pytest.mark.parametrize(("count", "is_copy"), [(20, False), (21, True)])
def test_short_texts_that_differ_in_a_word_are_not_copies(count: int, is_copy: bool) -> None:
    """A text of 22 words has the minimum of 20 shingles."""
    assert marks(words(count, "1871"), words(count, "1874")) == [None, 1 if is_copy else None]


@pytest.mark.parametrize("language", ARTICLES)
def test_a_script_without_spaces_between_words_is_compared_by_its_characters(language: str) -> None:
    one, other = ARTICLES[language]
    copy = f"{one[:-1]}1874"
    assert marks(one, other, copy, other[:20] + other[21:]) == [None, None, 1, 2]


def test_a_copy_of_a_copy_that_is_unlike_the_original_is_an_original() -> None:
    """Each goes on for 18 words in place of its predecessor's first 18."""
    first, second, third = (" ".join(WORDS[n : n + 82]) for n in (0, 18, 36))
    assert marks(first, second) == [None, 1]
    assert marks(second, third) == [None, 1]
    assert marks(first, second, third) == [None, 1, None]


def test_a_patchwork_of_two_reports_does_not_make_one_witness_of_them() -> None:
    one, other = ([f"{of}{n}" for n in range(120)] for of in "ab")
    pieces = [piece for n in range(0, 120, 12) for piece in (one[n : n + 8], other[n : n + 8])]
    patchwork = " ".join(word for piece in pieces for word in piece)
    assert marks(patchwork, " ".join(one), " ".join(other)) == [None, 1, None]


def test_a_copy_names_the_document_that_it_is_most_like_and_the_earlier_on_a_tie() -> None:
    one, other, *copies = (" ".join(WORDS[n : n + 82]) for n in (0, 24, 10, 12, 14))
    assert marks(one, other) == [None, None]
    for copy, original in zip(copies, (1, 1, 2), strict=True):
        assert marks(one, copy) == marks(other, copy) == [None, 1]
        assert marks(one, other, copy) == [None, None, original]


def test_with_one_other_number_a_text_is_a_copy_and_its_copies_are_of_the_original() -> None:
    copy = RELEASE.replace("1871", "1874")
    assert copy != RELEASE
    assert marks(RELEASE, copy, copy) == [None, 1, 1]


def test_an_existing_mark_of_a_document_is_replaced() -> None:
    marked = [d.model_copy(update={"duplicate_of": 9}) for d in documents("a", "b", "a")]
    assert [d.duplicate_of for d in mark_duplicates(marked)] == [None, None, 1]


def test_short_texts_are_copies_where_only_case_and_white_space_differ_and_no_number() -> None:
    snippets = ("Lit in 1871.", "Lit in 1874.", "lit\n in  1871. ", "Lit in 1871", "LIT IN 1874.")
    assert marks(*snippets) == [None, None, 1, None, 2]
    assert marks("Chapter II", "Chapter 11", "CHAPTER II") == [None, None, 1]


@pytest.mark.parametrize(
    "text",
    ["", " \n", "?!", "\ud800 lone", "la " * 500, "\0" * 50, "🙂" * 50],
    ids=["empty", "blank", "signs", "surrogate", "one shingle", "controls", "symbols"],
)
def test_an_odd_text_is_a_copy_of_itself_alone(text: str) -> None:
    assert marks(text, RELEASE, text) == [None, None, 1]


def test_every_copy_is_found_among_hundreds_of_documents() -> None:
    """Each copy has 90 % in common with its original, and 10 % with its neighbours."""
    texts = [" ".join(f"w{n * 90 + m}" for m in range(100)) for n in range(300)]
    copies = [f"{text} and then {n}" for n, text in enumerate(texts)]
    assert marks(*texts, *copies) == [*[None] * 300, *range(1, 301)]


_POOL = (
    RELEASE,
    RELEASE.replace("1871", "1874"),
    *(" ".join(WORDS[n : n + 42]) for n in range(0, 16, 4)),
    "Lit in 1871.",
    "Lit in 1874.",
    "",
)


@given(st.lists(st.sampled_from(_POOL), max_size=12))
def test_a_copy_comes_after_its_original_which_is_not_a_copy(texts: list[str]) -> None:
    before = documents(*texts)
    marked = mark_duplicates(before)
    original = {d.number for d in marked if d.duplicate_of is None}
    for document in marked:
        if document.duplicate_of is not None:
            assert document.duplicate_of < document.number
            assert document.duplicate_of in original
    assert [d.model_copy(update={"duplicate_of": None}) for d in marked] == before


@given(st.lists(st.sampled_from(_POOL), max_size=8), st.lists(st.sampled_from(_POOL), max_size=4))
def test_later_documents_change_no_mark_of_an_earlier_one(
    texts: list[str], later: list[str]
) -> None:
    assert marks(*texts, *later)[: len(texts)] == marks(*texts)


def test_the_rest_of_a_text_that_is_less_than_half_a_part_decides_nothing() -> None:
    shingles = [f"shingle {n}" for n in range(65)]  # three parts of 17, and one of 14
    short_rest = [f"shingle {n}" for n in range(20)]  # one part of 15, and a rest of 5
    assert _is_all_over(dict.fromkeys(short_rest), dict.fromkeys(short_rest[:15]))
    assert not _is_all_over(dict.fromkeys(shingles), dict.fromkeys(shingles[:51]))
