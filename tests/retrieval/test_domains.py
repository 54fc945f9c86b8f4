"""One registrable domain is one voice, and nobody silences another by copying."""

import pytest

from conflictscore.records import Document
from conflictscore.retrieval.domains import registrable_domain, voices


@pytest.mark.parametrize(
    ("url", "domain"),
    [
        ("https://www.example.co.uk/a?b#c", "example.co.uk"),
        ("http://EXAMPLE.com.:8080/", "example.com"),
        ("https://alice.github.io/page", "github.io"),
        ("https://m\u00fcnchen.de", "xn--mnchen-3ya.de"),
        ("https://www.xn--mnchen-3ya.de", "xn--mnchen-3ya.de"),
        ("http://192.0.2.7/x", "192.0.2.7"),
        ("http://[2001:db8::1]/x", "2001:db8::1"),
        ("http://localhost:8000", "localhost"),
        ("https://co.uk", "co.uk"),
        ("https://\u0915\u093f\u0924\u093e\u092c.com/a", "xn--11b4aya5ed.com"),
        ("https://[broken", None),
        ("https://evil.test\\.example.com/", None),
        ("https://evil.test\\@example.com/", None),
        ("https://evil.test%2f.example.com/", None),
        ("https://evil.test;.example.com/", None),
        ("https://evil.test .example.com/", None),
        ("notes/today.md", None),
        ("", None),
    ],
)
def test_the_registrable_domain_of_an_address(url: str, domain: str | None) -> None:
    assert registrable_domain(url) == domain


def at(*places: tuple[str, int | None]) -> list[Document]:
    return [
        Document(number=number, text=f"text {number}", url=url, duplicate_of=original)
        for number, (url, original) in enumerate(places, start=1)
    ]


def test_documents_without_an_address_are_voices_of_their_own() -> None:
    assert voices(at(("", None), ("a.txt", None), ("a.txt", None), ("", 1))) == {4: 1}


def test_a_text_at_many_domains_and_many_texts_at_one_are_each_one_voice() -> None:
    copies = at(("https://a.com", None), ("https://b.com", 1), ("https://c.com", 1))
    pages = at(("https://a.com/1", None), ("https://x.a.com/2", None), ("https://a.com", None))

    assert voices(copies) == voices(pages) == {2: 1, 3: 1}


def test_who_copies_the_texts_of_others_does_not_make_one_voice_of_them() -> None:
    evil, honest = "https://evil.com", [f"https://honest{n}.com" for n in range(3)]
    first = at(*[(evil, None)] * 3, *zip(honest, (1, 2, 3), strict=True))
    last = at(*[(one, None) for one in honest], (evil, 1), (evil, 2), (evil, 3))

    assert voices(first) == {2: 1, 3: 1}
    assert voices(last) == {5: 4, 6: 4}


def test_a_domain_that_alters_a_copy_and_adds_texts_of_its_own_has_one_voice() -> None:
    documents = at(
        ("https://honest.com", None), ("https://evil.com", 1), ("https://evil.com", None)
    )

    assert voices(documents) == {3: 2}
