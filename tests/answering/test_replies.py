"""Reading replies: the requested form is read, and anything else is refused."""

from collections.abc import Callable
from typing import TypeVar

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from conflictscore.answering.answer_replies import (
    Choice,
    cited_documents,
    read_choice,
    read_queries,
    read_reconsidered_choice,
    read_text,
    unframed,
)
from conflictscore.answering.claim_replies import read_claims

T = TypeVar("T")

OPTIONS = ("Nothing happens", "You lose a tooth.")
DOCUMENTS = range(1, 6)


# Refusals


def choose(reply: str) -> Choice:
    return read_choice(reply, OPTIONS)


@pytest.mark.parametrize(
    ("read", "reason", "replies"),
    [
        (read_text, "^it was empty$", ["", " \n\t"]),
        (
            read_queries,
            r'^no query followed "FOR:" or "AGAINST:"$',
            ["", "lamp 1871", "FOR: ?\nAGAINST:", "QUERY: lamp"],
        ),
        (
            read_claims,
            r'^the line "Claims:" was missing$',
            ["", "A one.\nA two.", "The claims: A one.", "Claims are hard.\nA one."],
        ),
        (
            read_claims,
            r"^its first claim had a bullet or a number, but other lines had none$",
            ["Claims:\n1. A one.\nA two.\n2. A three.", "Claims:\n* A one that\ngoes on."],
        ),
        (
            read_claims,
            "^it was a table, or had tags around its claims$",
            ["Claims:\n| # | Claim |\n|---|---|\n| 1 | A one. |", "<ul>\n<li>A one.</li>\n</ul>"],
        ),
        (
            choose,
            r"^it was neither \(A\) nor \(B\) in the requested form$",
            [
                *("", "C", "(C)", "a", "(a)", "AB", "ANothing happens", "(A", "A or B"),
                *("(A) or (B)", "Both (A) and (B)", "A dog", "A tooth falls out."),
                *("Because of that, B", "(A) You lose a tooth.", "(B) Nothing happens"),
                "(A) Nothing happens, since the documents say so",
                "(A)\nBecause the documents say so.",
                *("Nothing happens", "The answer is (A)."),
            ],
        ),
    ],
    ids=["nothing", "no query", "no marker", "no mark of a claim", "another form", "no choice"],
)
def test_a_reply_in_another_form_is_refused_with_its_reason(
    read: Callable[[str], object], reason: str, replies: list[str]
) -> None:
    for reply in replies:
        with pytest.raises(ValueError, match=reason):
            read(reply)


# Free form


def test_an_answer_is_any_text_without_the_space_around_it() -> None:
    assert read_text("\n The sky is\nblue. \n") == "The sky is\nblue."


# Queries


@pytest.mark.parametrize(
    ("reply", "queries"),
    [
        ("FOR: lamp 1871\nAGAINST: lamp first lit", ("lamp 1871", "lamp first lit")),
        ('**For:** "lamp  1871"\n- against: “lamp lit”', ("lamp 1871", "lamp lit")),
        ("Here they are.\nFOR: lamp\nAGAINST: Lamp", ("lamp",)),
        ("AGAINST: lamp\nFOR: ", ("lamp",)),
        (f"FOR: {'x' * 400}", ("x" * 300,)),
    ],
)
def test_queries_are_read_each_once_on_one_line_and_bounded(
    reply: str, queries: tuple[str, ...]
) -> None:
    assert read_queries(reply) == queries


# Decomposition


@pytest.mark.parametrize(
    ("reply", "claims"),
    [
        ("Claims:\nA one.\nA two.", ("A one.", "A two.")),
        ("claims:\nA one.", ("A one.",)),
        ("CLAIMS\nA one.", ("A one.",)),
        ("**Claims:**\n\n- A one.\n\n- A two.\n", ("A one.", "A two.")),
        ("**Claims**:\n* A one.\n• A two.\n– A three.", ("A one.", "A two.", "A three.")),
        ("## Claims:\n1. A one.\n2) A two.\n10. A ten.", ("A one.", "A two.", "A ten.")),
        ("Claims: A one.\nA two.", ("A one.", "A two.")),
        ("**Claims:** - A one.", ("A one.",)),
        ("Sure, here they are.\n\nClaims:\r\n  A one.  \r\nA two.", ("A one.", "A two.")),
        ("Claims:\nA one.\nB.\na  ONE", ("A one.", "B.")),
        ("```\nClaims:\n- A one.\n---\n```", ("A one.",)),
        ("Claims:\n- 1984 was long.\n- 5 people came.", ("1984 was long.", "5 people came.")),
        ("Claims:\n-5 is below zero.", ("-5 is below zero.",)),
        ("Claims:\n12 people came.", ("12 people came.",)),
        ("Claims:\nThe claims: all false.", ("The claims: all false.",)),
        ("Claims:", ()),
        ("Claims:\n\n-\n", ()),
        ("Claims:\nNone", ()),
        ("Claims: N/A.", ()),
        ("Claims:\n- (no  claims)", ()),
        ("Claims:\n**None.**\n", ()),
        ("Claims:\n- A one.\n- None", ("A one.",)),
        ("Claims:\nNone of them came.", ("None of them came.",)),
        ("Claims:A one.", ("A one.",)),
        ("\ufeffHere are the claims:\nA one.", ("A one.",)),
        ("Of course!\n1. A one.\n2. A two.", ("A one.", "A two.")),
        ("Claims:\n- A one.\n- A two.\n\nNote: I left out the greeting.", ("A one.", "A two.")),
        ("Claims:\n* A one that\n  goes on.", ("A one that goes on.",)),
        ("Claims: - A one.\nThat is all.", ("A one.",)),
        (
            "- The lamp:\n  - It is lit.\n  - It is old.\n- A two.",
            ("It is lit.", "It is old.", "A two."),
        ),
        ("- It is lit.\n  - Every day.", ("It is lit.", "Every day.")),
        ("## Claims\n**Light**\n- A one.\n\n**Age**\n- A two.", ("A one.", "A two.")),
        ("**Claim 1:** A one.\n**Claim 2:** A two.", ("A one.", "A two.")),
        ('```json\n["A one.", "A two.",]\n```', ("A one.", "A two.")),
        ('{"claims": [{"claim": "A one."}]}', ("A one.",)),
        ("- o farol é alto.\n- A two.", ("o farol é alto.", "A two.")),
        ("・A one.\n・A two.", ("A one.", "A two.")),
        ("1. **A one.**\n2. *A two.*", ("A one.", "A two.")),
        ("claims = [\n    'A one.',\n    'A two.',\n]", ("A one.", "A two.")),
        # a number is removed only if it numbers the claim
        ("Claims:\n12. Mai 1932 wurde sie eröffnet.", ("12. Mai 1932 wurde sie eröffnet.",)),
        (
            "Claims:\n1. FC Vik ist alt.\nEr spielt in Lund.",
            ("1. FC Vik ist alt.", "Er spielt in Lund."),
        ),
        (
            "Claims:\n- 3. maja 1932 otvoren je.\n- Star je.",
            ("3. maja 1932 otvoren je.", "Star je."),
        ),
        (
            "1. The match\n   1. FC Vik won.\n2. It is red.",
            ("The match 1. FC Vik won.", "It is red."),
        ),
        (
            "1. The match:\n   - 1. FC Vik won.\n2. It is red.",
            ("1. FC Vik won.", "It is red."),
        ),
        (
            "1. The lamp:\n   1. It is lit.\n2. The bell:\n   1. It is old.",
            ("It is lit.", "It is old."),
        ),
        (
            "\n".join(f"#{number} It is {number}." for number in range(1, 13)),
            tuple(f"It is {number}." for number in range(1, 13)),
        ),
        ("Claims:\n1. It is old.\n2. It is red.", ("It is old.", "It is red.")),
        ("Claims:\n- 1. It is old.\n- 2. It is red.", ("It is old.", "It is red.")),
        ("Claims:\n1. It is old.", ("It is old.",)),
        ("Claims:\nThe answer claims nothing.", ()),
        ("Claims:\n- It is old.\n- **The passage makes no claims.**", ("It is old.",)),
        ("Claims:\nThe answer claims nothing new.", ("The answer claims nothing new.",)),
        ("Claims:\nI. Newton is old.\nX. Chen is not.", ("I. Newton is old.", "X. Chen is not.")),
    ],
)
def test_claims_are_the_lines_after_the_marker_each_once(
    reply: str, claims: tuple[str, ...]
) -> None:
    assert read_claims(reply) == claims


@given(
    st.lists(
        st.text(st.characters(categories=["L", "Zs"]), min_size=1)
        .map(str.strip)
        .filter(lambda text: " ".join(text.casefold().split()) not in {"", "none", "no claims"}),
        unique_by=lambda text: " ".join(text.casefold().split()),
    ),
    st.sampled_from(["{}", "- {}", "* {}", "{n}. {}", "{n}) {}"]),
    st.sampled_from(["Claims:", "**Claims:**", "claims"]),
)
def test_claims_come_back_as_they_were_listed(claims: list[str], line: str, marker: str) -> None:
    listed = [line.format(claim, n=n) for n, claim in enumerate(claims, start=1)]
    assert read_claims("\n".join([marker, *listed])) == tuple(claims)


@pytest.mark.parametrize(
    "layout",
    [
        "1. **Light**\n   - It is lit.\n   - It is old.\n2. **Place**\n   - It is high.",
        "1. **Light**\n- It is lit.\n- It is old.\n2. **Place**\n- It is high.",
        "1. **Light**\n\n- It is lit.\n- It is old.\n\n2. **Place**\n\n- It is high.",
        "1. **Light.**\n   - It is lit.\n   - It is old.\n2. **Place.**\n   - It is high.",
        "- **Light**\n* It is lit.\n* It is old.\n- **Place**\n* It is high.",
        "1. Light\n- It is lit.\n- It is old.\n2. Place\n- It is high.",
        "1. **Light**\n   1. It is lit.\n   2. It is old.\n2. **Place**\n   1. It is high.",
        "1. **Light**\n   1.1 It is lit.\n   1.2 It is old.\n2. **Place**\n   2.1 It is high.",
        "1. **Light**\n   a) It is lit.\n   b) It is old.\n2. **Place**\n   a) It is high.",
        "### 1. Light\n- It is lit.\n- It is old.\n### 2. Place\n- It is high.",
        "1. **A**\n  - **B**\n    - It is lit.\n    - It is old.\n2. **C**\n  - It is high.",
        "1. **A**\n  - It is lit.\n  - It is old.\n2. **B**\n  - It is high.\n3. **C**",
        "1. **Light** \u2013\n   - It is lit.\n   - It is old.\n   - It is high.",
        "A. Light\n  a) It is lit.\n  b) It is old.\nB. Place\n  a) It is high.",
        "**A.** Light\n  - It is lit.\n  - It is old.\n**B.** Place\n  - It is high.",
        "I. Light\n  i. It is lit.\n  ii. It is old.\nII. Place\n  i. It is high.",
        "i) It is lit.\nii) It is old.\niii) It is high.",
        "1\ufe0f\u20e3 It is lit.\n2\ufe0f\u20e3 It is old.\n3\ufe0f\u20e3 It is high.",
    ],
)
@pytest.mark.parametrize("marker", ["Claims:\n", ""])
def test_titles_over_lists_within_a_list_are_no_claims(layout: str, marker: str) -> None:
    assert read_claims(marker + layout) == ("It is lit.", "It is old.", "It is high.")


@pytest.mark.parametrize(
    "listed",
    [
        "1. **It is lit.**\n2. **It is old.**",
        "- **It is lit and old**\n- **It is high**",
        "1. The gate is open at nine\n- The wall of it is old",
        "1. It is lit.\n- It is old.",
        "- 1.1 million came.\n- 2.5 million left.",
        " 1. It is lit.\n 2. It is red.\n 3. It is old.\n10. It is high.",
        "A. Smith wrote it.\nB. Jones read it.",
        "I. Newton wrote it.\nV. Woolf read it.",
    ],
)
def test_a_claim_in_bold_or_of_another_mark_stays_a_claim(listed: str) -> None:
    assert len(read_claims(f"Claims:\n{listed}")) == len(listed.splitlines())


# A passage's replacement


def test_the_marks_around_a_replacement_are_taken_off_and_refused_anywhere_else() -> None:
    assert unframed("<claim>\nIt was.\n</claim>", "It is.") == "It was."
    assert unframed("It was.", "It is.") == "It was."
    own = "The tag <claim> opens a passage."
    assert unframed(f"<claim>{own}</claim>", own) == f"<claim>{own}</claim>"
    with pytest.raises(
        ValueError, match=r"^there was nothing between the marks around the new passage$"
    ):
        unframed("<claim> </claim>", "It is.")
    held = r'^the new passage contained "</claim>", a mark from the request$'
    with pytest.raises(ValueError, match=held):
        unframed("It was.</claim> So.", "It is.")


SHOWN = ("The gate is red.", "It was lit in 1871.", "The lamp was lit in 1874.")


@pytest.mark.parametrize(
    "reply",
    [
        """<answer part="before">
The gate is red.
</answer>

<answer part="passage">
Lit in 1874, it is bright.
</answer>""",
        """<answer part="before">
<claim part="wrong">
It was lit in 1871.
</claim>
</answer>
<answer part="passage">
Lit in 1874, it is bright.
</answer>
<claim part="right">
The lamp was lit in 1874.
</claim>""",
        '<answer part="passage">Lit in 1871, it is bright.</answer>\nLit in 1874, it is bright.',
        '<answer part="before"></answer><answer>Lit in 1874, it is bright.</answer>',
    ],
)
def test_texts_of_the_request_beside_a_replacement_go_with_their_marks(reply: str) -> None:
    old = "Lit in 1871, it is bright."

    assert unframed(reply, old, SHOWN) == "Lit in 1874, it is bright."


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("<claim>Trams.</claim><answer>It was lit in 1874.</answer>", "a mark from the request"),
        ('<answer part="x">It is bright.</answer><answer>The gate is red.</answer>', "repeated"),
        ("<answer>It was. <answer>The gate is red.</answer>", "a mark from the request"),
    ],
)
def test_a_mark_around_any_other_text_is_refused(reply: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        unframed(reply, "It is bright.", SHOWN)


# Multiple choice


@pytest.mark.parametrize(
    ("reply", "option"),
    [
        ("(A)", 0),
        ("(B)", 1),
        (" (A)\n", 0),
        ("(A).", 0),
        ("A", 0),
        ("B.", 1),
        ("B)", 1),
        ("A:", 0),
        ("(A) Nothing happens", 0),
        ("(A) nothing  happens.", 0),
        ("B) You lose a tooth", 1),
        ("B. You lose a tooth.", 1),
        ("A – Nothing happens", 0),
        ("B: You lose a tooth.", 1),
        ("A - Nothing happens", 0),
        ("**B** – You lose a tooth", 1),
        ("**B.** You lose a tooth.", 1),
        ("**(B)** You lose a tooth.", 1),
        ("B. **You lose a tooth.**", 1),
        ("_A_: Nothing happens", 0),
    ],
)
def test_a_choice_is_a_letter_alone_or_with_the_text_of_its_option(reply: str, option: int) -> None:
    assert read_choice(reply, OPTIONS) == Choice(option)


# The regenerated choice


@pytest.mark.parametrize(
    ("reply", "choice"),
    [
        (
            "B – You lose a tooth.\nJustification: It was measured (Docs 2, 5).",
            Choice(1, "It was measured (Docs 2, 5).", (2, 5)),
        ),
        (
            "\n(A) - Nothing happens\n\n  justification:   Doc 3 is older (Doc 3) than (Doc 9). \n",
            Choice(0, "Doc 3 is older (Doc 3) than (Doc 9).", (3,)),
        ),
        ("A\nJustification: No source is named.", Choice(0, "No source is named.", ())),
        ("A – Nothing happens", Choice(0)),
        ("(B)\n", Choice(1)),
    ],
)
def test_a_regenerated_choice_has_its_reason_and_the_documents_that_cites(
    reply: str, choice: Choice
) -> None:
    assert read_reconsidered_choice(reply, OPTIONS, DOCUMENTS) == choice


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "it had 0 lines instead of two"),
        ("I would rather say B.", r"neither \(A\) nor \(B\)"),
        ("A\nJustification: One.\nTwo.", "it had 3 lines instead of two"),
        ("A – You lose a tooth.\nJustification: One.", r"neither \(A\) nor \(B\)"),
        ("**A** – You lose a tooth.\nJustification: One.", r"neither \(A\) nor \(B\)"),
        ("Justification: One.\nA", r"neither \(A\) nor \(B\)"),
        ("A\nBecause: One.", '^its second line did not begin with "Justification:"$'),
        ("A\nMy justification: One.", '^its second line did not begin with "Justification:"$'),
        ("A\nJustification:", '^its second line did not begin with "Justification:"$'),
    ],
)
def test_a_regenerated_choice_in_another_form_is_refused_with_the_wrong_line(
    reply: str, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        read_reconsidered_choice(reply, OPTIONS, DOCUMENTS)


# Citations


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("So it is (Docs 2, 5).", (2, 5)),
        ("So it is (Doc 3).", (3,)),
        ("So it is (Docs 1, 2, and 4).", (1, 2, 4)),
        ("So it is (Docs 1 and 2).", (1, 2)),
        ("So it is (docs. 4 & 1).", (1, 4)),
        ("So it is ( Documents 5,2 ).", (2, 5)),
        ("One (Doc 4), another (Document 1), and once more (Doc 4).", (1, 4)),
        ("None of them exists (Docs 0, 6, 12).", ()),
        ("One of them exists (Docs 3, 77).", (3,)),
        ("Not in parentheses: Doc 3. Docs 1, 2.", ()),
        ("A year (2, 5) and (in Doc 3).", ()),
        ("", ()),
    ],
)
def test_the_cited_documents_are_those_in_parentheses_that_exist(
    text: str, cited: tuple[int, ...]
) -> None:
    assert cited_documents(text, DOCUMENTS) == cited


# Arbitrary replies

_PIECES = [
    *("A", "B", "(A)", "(B", ")", ".", ":", " ", "\n", "\r", "–", "-", "Claims:", "claims", "**"),
    *("Justification:", "(Docs ", "1", "2, 5", " and ", "٣", "²", *OPTIONS),
]
_REPLIES = st.text() | st.lists(st.sampled_from(_PIECES) | st.text(max_size=2)).map("".join)


def read_or_refused(read: Callable[[], T]) -> T | None:
    try:
        return read()
    except ValueError:
        return None


@given(_REPLIES)
@example("A\nJustification: (Doc ²) (Doc ٣)")
def test_no_reply_can_do_more_than_be_refused(reply: str) -> None:
    assert set(cited_documents(reply, DOCUMENTS)) <= set(DOCUMENTS)
    choice = read_or_refused(lambda: read_choice(reply, OPTIONS))
    assert choice in (None, Choice(0), Choice(1))
    again = read_or_refused(lambda: read_reconsidered_choice(reply, OPTIONS, DOCUMENTS))
    if again is not None:
        assert again.option in (0, 1)
        assert again.justification != ""
        assert set(again.cited) <= set(DOCUMENTS)
    claims = read_or_refused(lambda: read_claims(reply)) or ()
    assert all(claim == claim.strip() != "" for claim in claims)
    assert len({claim.casefold() for claim in claims}) == len(claims)


@pytest.mark.parametrize(
    ("line", "claim"),
    [
        ("**Opening:** The museum opened in 1901.", "The museum opened in 1901."),
        ("**Architect**: The architect was Ada Holm.", "The architect was Ada Holm."),
        ("**Bau:** Der Turm wurde 1901 gebaut.", "**Bau:** Der Turm wurde 1901 gebaut."),
        ("**Eröffnung:** Das Museum wurde 1901 eröffnet.", "Das Museum wurde 1901 eröffnet."),
        ("**Ada Holm:** Built the museum.", "**Ada Holm:** Built the museum."),
        ("**Holm:** Opened by Holm in 1901.", "**Holm:** Opened by Holm in 1901."),
        ("**Internal:** The international office opened.",) * 2,
    ],
)
def test_a_bold_label_is_left_out_only_if_the_claim_has_its_words(line: str, claim: str) -> None:
    assert read_claims(f"Claims:\n- {line}\n- It is lit.") == (claim, "It is lit.")
