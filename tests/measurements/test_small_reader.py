"""How the scripted model that counts as embedded reads documents."""

from measurements.small_reader import SILENT, meaning_read, misread, statement_with

QUESTION = "When was the Osk mill opened?"
CLAIM = "The Osk mill was opened in 1854."


def test_an_answer_replaces_the_value_or_the_name_of_a_claim() -> None:
    drawn = "The map was drawn by Ida Reeve."

    assert statement_with(CLAIM, "in 1861", QUESTION) == "The Osk mill was opened in 1861."
    assert (
        statement_with(drawn, "Ada Lowe", "Who drew the map?") == "The map was drawn by Ada Lowe."
    )
    assert statement_with(CLAIM, "long ago", QUESTION) is None


def test_a_document_without_an_answer_is_misread_by_its_most_similar_value() -> None:
    text = "Fire in 1901. The Osk mill was closed in 1979. It has 24 rooms."

    assert misread(CLAIM, QUESTION, text) == "The Osk mill was opened in 1979."
    assert misread(CLAIM, QUESTION, "The mill has 24 rooms.") == SILENT


def test_the_meaning_of_a_value_is_the_sentence_that_has_it() -> None:
    text = "It has 24 rooms. The Osk mill was closed in 1979."

    assert meaning_read('What exactly is "1979" in this document, and of what?', text) == (
        "The Osk mill was closed in 1979."
    )
    assert meaning_read(QUESTION, text) is None
