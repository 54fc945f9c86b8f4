"""An answer's passages: where they are, which one makes a claim, and which text may replace one."""

from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from conflictscore.json_answers import is_json
from conflictscore.markdown import misfit, passages, place_of, spliced
from conflictscore.sentences import sentence_ends

MARKDOWN = """# The lamp

It was lit in 1871, says Dr. Hale [1]. It is [red. Very](https://a.test/b.c).\r
The tower is `a. b` white. “Is it?” Yes.

> Quoted words. More
> of them.

- one. Two
  - under it
1. first
2. last

| what | when |
|------|------|
| lamp | 1871 |

```py
a = 1.  # Not a sentence. Nor this
```

灯塔建于1874年。[2]它是白色的。
"""


def texts(answer: str) -> list[str]:
    return [answer[p.start : p.end] for p in passages(answer)]


def test_passages_are_sentences_rows_and_blocks_of_code_without_the_marks_around_them() -> None:
    assert texts(MARKDOWN) == [
        "The lamp",
        "It was lit in 1871, says Dr. Hale [1].",
        "It is [red. Very](https://a.test/b.c).",
        "The tower is `a. b` white.",
        "“Is it?”",
        "Yes.",
        "Quoted words.",
        "More\n> of them.",
        "one.",
        "Two",
        "under it",
        "first",
        "last",
        "| what | when |",
        "| lamp | 1871 |",
        "```py\na = 1.  # Not a sentence. Nor this\n```",
        "灯塔建于1874年。[2]",
        "它是白色的。",
    ]


_PIECES = st.sampled_from(
    [
        *("Lit. ", "[2]", " ", "\n", "\r\n", "\n\n", "white", "- ", "> ", "# ", "| a | b |\n"),
        *(
            "|--|--|\n",
            "```\n",
            "`",
            "**",
            "[a](b)",
            "。",
            "?",
            "\t",
            "1. ",
            "<p>",
            "\x00",
            "    x",
        ),
    ]
)
ANSWERS = st.lists(_PIECES, max_size=25).map("".join)


@given(ANSWERS)
def test_passages_follow_one_another_and_lose_no_word(answer: str) -> None:
    found = passages(answer)
    for passage in found:
        part = answer[passage.start : passage.end]
        assert part == part.strip() != ""
        assert passage.cut[0] <= passage.start < passage.end <= passage.cut[1] <= len(answer)
    assert all(before.end <= after.start for before, after in pairwise(found))


@given(
    st.lists(
        st.sampled_from(
            [
                "War I. ",
                "J. ",
                "The ",
                "He ",
                "U.S. ",
                "e.g. ",
                "lit",
                "Yes. ",
                "…",
                "[2]",
                "。",
                " ",
            ]
        ),
        max_size=25,
    ).map("".join)
)
def test_cutting_a_paragraph_into_sentences_loses_no_byte(text: str) -> None:
    assume(not is_json(text))
    spans = [(p.start, p.end) for p in passages(text)]
    assert "".join("".join(texts(text)).split()) == "".join(text.split())
    assert spliced(text, [(a, b, text[a:b]) for a, b in spans]) == text
    assert list(sentence_ends(text)) == sorted({*sentence_ends(text)})


@given(ANSWERS, st.data())
def test_what_is_not_changed_stays_byte_for_byte(answer: str, data: st.DataObject) -> None:
    """The basic property: whatever is put in, the rest stays as it was."""
    known = passages(answer)
    chosen = [p for p in known if data.draw(st.booleans())]
    put_in = [(p.start, p.end, data.draw(st.text(max_size=5))) for p in chosen]

    revised = spliced(answer, put_in)

    at, before = 0, 0
    for start, end, text in put_in:
        untouched = answer[before:start]
        assert revised[at : at + len(untouched)] == untouched
        at += len(untouched) + len(text)
        before = end
    assert revised[at:] == answer[before:]


@pytest.mark.parametrize(
    ("claim", "opening", "passage"),
    [
        ("The lamp was lit in 1871.", "It was lit", 1),
        ("The lamp was lit in 1871.", "", 1),
        ("The lamp was lit in 1871.", "words of nobody", 1),
        ("The lamp dates from 1871.", "| lamp", 14),
        ("The lighthouse tower is white.", "", 3),
        ("灯塔是白色的", "", 17),
        ("Nothing matches here", "", None),
    ],
)
def test_a_claim_is_found_by_the_first_words_of_its_passage_or_by_what_it_shares_with_it(
    claim: str, opening: str, passage: int | None
) -> None:
    expected = None if passage is None else passages(MARKDOWN)[passage]
    assert place_of(claim, opening, MARKDOWN) == expected


@pytest.mark.parametrize(
    ("passage", "text"),
    [
        (0, "The first lamp"),
        (1, "It was lit in 1874 [2], not in 1871 [1]."),
        (2, "It is [white](https://a.test/w)."),
        (14, "| lamp | 1874 |"),
        (15, "```py\na = 2\n```"),
        (14, ""),
        (9, ""),
        (1, ""),
    ],
)
def test_what_fits_in_place_is_taken(passage: int, text: str) -> None:
    assert misfit(MARKDOWN, passages(MARKDOWN)[passage], text) is None


@pytest.mark.parametrize(
    ("passage", "text", "problem"),
    [
        (1, "It was lit in 1874.\n\nAnd that is all.", "Markdown"),
        (1, "It was lit in 1874.\n- It burns.", "Markdown"),
        (1, "It was **lit in 1874.", "Markdown"),
        (1, "It was lit in [1874](https://a.test", "Markdown"),
        (1, "It was lit in `1874.", "Markdown"),
        (1, "```\nIt was lit in 1874.\n```", "Markdown"),
        (14, "| lamp | 1874 | new |", "columns"),
        (15, "a = 2", "Markdown"),
        (15, "```py\na = 2", "Markdown"),
        (1, "The tower is `a. b` white.", "another part"),
        (1, MARKDOWN, "another part"),
        (1, "It was lit. " * 200, "too long"),
        (13, "", "Markdown"),
    ],
)
def test_what_would_break_the_answer_is_refused(passage: int, text: str, problem: str) -> None:
    assert problem in (misfit(MARKDOWN, passages(MARKDOWN)[passage], text) or "")


def test_an_answer_is_never_removed_as_a_whole() -> None:
    assert misfit("It was lit.", passages("It was lit.")[0], "") == (
        "nothing would be left of the answer"
    )


def test_a_number_is_the_mark_of_a_list_only_where_it_counts() -> None:
    assert texts("12. Mai 1932 wurde sie eröffnet. Sie ist alt.")[0].startswith("12. Mai 1932")
    assert texts("1. FC Vik wurde 1948 gegründet.") == ["1. FC Vik wurde 1948 gegründet."]
    assert texts("> 1. one\n> 2. two\n\n3. three") == ["one", "two", "three"]


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("It opened on Feb. 4.", True),
        ("It opened on Feb. 4. Its school", False),
        ("It opened on Feb. 4. Its school is old.", False),
        ("It opened on Feb. 4, which was Its", True),
    ],
)
def test_a_replacement_that_repeats_what_follows_is_refused(text: str, *, fits: bool) -> None:
    answer = "It opened on Jan. 3. Its school is old. So is the mill."
    assert (misfit(answer, passages(answer)[0], text) is None) is fits
