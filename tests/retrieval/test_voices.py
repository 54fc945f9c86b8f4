"""Voices: near-copies, and documents whose metadata names the same voice, are one witness."""

from conflictscore.records import Document
from conflictscore.retrieval.voices import copies, one_voice


def documents(*voices: str, copy_of: dict[int, int] | None = None) -> list[Document]:
    return [
        Document(
            number=number,
            text=f"Report {number}.",
            metadata={"voice": voice} if voice else {},
            duplicate_of=(copy_of or {}).get(number),
        )
        for number, voice in enumerate(voices, 1)
    ]


def test_a_named_voice_is_that_of_its_first_document() -> None:
    assert one_voice(documents("", "a", "a", "", "a"), {}) == {3: 2, 5: 2}


def test_a_copy_joins_the_voices_of_both() -> None:
    shown = documents("a", "b", "b", "a", copy_of={3: 1})

    assert one_voice(shown, copies(shown)) == {2: 1, 3: 1, 4: 1}


def test_documents_without_a_voice_are_witnesses_of_their_own() -> None:
    assert one_voice(documents("", "", ""), {}) == {}
