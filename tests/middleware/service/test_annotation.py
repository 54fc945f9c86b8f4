"""The note under an answer: text quoted in it cannot become a link or an image."""

from collections.abc import Iterable

import pytest

from conflictscore.middleware.service.checked_answer import disagreement_note, unchecked_note
from conflictscore.records import (
    Answer,
    Attempt,
    Claim,
    ClaimEvidence,
    ConflictReport,
    Document,
    EvidenceLabel,
    Label,
    Run,
)


def claim(
    text: str = "It is so.", supports: Iterable[int] = (1,), contradicts: Iterable[int] = (2,)
) -> ClaimEvidence:
    sides = {Label.SUPPORTS: supports, Label.CONTRADICTS: contradicts}
    labels = [
        EvidenceLabel(claim=1, document=number, label=label)
        for label, numbers in sides.items()
        for number in numbers
    ]
    return ClaimEvidence(claim=Claim(number=1, text=text), labels=tuple(labels))


def document(number: int, title: str = "", url: str = "") -> Document:
    return Document(number=number, text="", title=title, url=url)


def run(claims: Iterable[ClaimEvidence], documents: Iterable[Document]) -> Run:
    report = ConflictReport(cs_c=1, cs_r=0.5, coverage=1, claims=tuple(claims))
    answer = Attempt(round=0, answer=Answer(text="So."), report=report)
    return Run(documents=tuple(documents), attempts=(answer,))


def test_each_claim_is_named_with_its_sources() -> None:
    note = disagreement_note(
        run(
            [claim(), claim("Another.", supports=(1, 2, 3, 4, 5)), claim(contradicts=())],
            [document(1, "Gazette", "https://gazette.test/a?b=c"), *map(document, (2, 3, 4, 5))],
        )
    )

    assert note == (
        "Note: the sources disagree about 2 of 3 claims of this answer.\n"
        "- “It is so.” For it: Gazette, gazette.test. Against it: document 2.\n"
        "- “Another.” For it: Gazette, gazette.test; document 2; document 3; 2 more."
        " Against it: document 2."
    )


@pytest.mark.parametrize("title", ["Stop taking insulin", "Insulin tötet", "See evil[.]com"])
def test_a_title_that_states_or_orders_something_is_not_part_of_the_note(title: str) -> None:
    note = disagreement_note(
        run([claim()], [document(1, title, "https://gazette.test/"), document(2)])
    )

    assert note is not None
    assert "For it: document 1, gazette.test. Against it: document 2." in note


def test_of_many_claims_the_first_five_are_named() -> None:
    note = disagreement_note(run([claim()] * 7, [document(1), document(2)]))

    assert note is not None
    assert note.count("“It is so.”") == 5
    assert note.endswith("- and 2 more")


def test_without_a_disagreement_there_is_no_note() -> None:
    assert disagreement_note(run([claim(contradicts=())], [document(1)])) is None


@pytest.mark.parametrize(
    "hostile",
    [
        "![x](https://evil.test/leak)",
        "<img src=x onerror=alert(1)>",
        "[click](javascript:alert(1))",
        "`code` | table | *bold* _it_ # head",
        "line\n\n# heading\n- item",
        "\x1b[31mred\x07",
        "https://evil.test/path",
        "www.evil.test/path",
        "_WWW.evil.test_",
        "www&period;evil.test",
        "write to evil@evil.test, now",
        "evil&commat;evil.test",
        "a*evil@evil.test*",
    ],
)
def test_quotations_add_no_markup(hostile: str) -> None:
    notes = [
        disagreement_note(run([claim(hostile)], [document(1, hostile), document(2)])),
        disagreement_note(run([claim()], [document(1, "T", f"https://{hostile}"), document(2)])),
        unchecked_note(hostile),
    ]

    for note in notes:
        assert note is not None
        assert not set("![]<>`|*_#\x1b\x07").intersection(note)
        assert not any(mark in note.lower() for mark in ("://", "www.", "@", "&"))
        assert all(line.startswith(("Note: ", "- “")) for line in note.splitlines())


def test_long_titles_are_cut_and_hosts_named_without_what_clients_would_make_a_link_of() -> None:
    source = document(1, "T" * 500, "https://www.gazette.test/a")

    note = disagreement_note(run([claim()], [source, document(2)]))

    assert note is not None
    assert f"For it: {'T' * 80}…, gazette.test." in note
