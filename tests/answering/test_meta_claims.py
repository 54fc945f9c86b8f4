"""Tests for claims about the answer itself, which say nothing about the world."""

import pytest

from conflictscore.answering.meta_claims import about_the_world

LAMP = "It was first lit on 9 May 1874, by the keeper's wife."


@pytest.mark.parametrize(
    "claim",
    [
        "The answer is about the lamp.",
        "The answer claims nothing.",
        "The answer was given to the question when the lamp was first lit.",
        "The passage does not mention a price.",
        "This text is a statement.",
        "The given passage describes an event.",
        "The answer is about the lamp and states that it was lit in 1874.",
        "Die Antwort handelt von der Lampe.",
        "Die Aussage bezieht sich auf die Lampe.",
        "La réponse porte sur la lampe.",
        "Le passage ne mentionne pas de prix.",
        "La respuesta trata de la lámpara.",
        "El pasaje no menciona ningún precio.",
    ],
)
def test_a_sentence_about_the_answer_is_no_claim(claim: str) -> None:
    assert about_the_world(claim, LAMP) is None


@pytest.mark.parametrize(
    "claim",
    [
        "The passage through the Alps opened in 1905.",
        "The answer to the riddle is a river.",
        "The question of the border was settled in 1920.",
        "The statement was signed by both ministers in 1918.",
        "The claim was settled out of court.",
        "The text on the plate was cut in 1874.",
        "The sentence was given in open court.",
        "Die Frage der Grenze wurde 1920 gelöst.",
        "Le passage du col a été ouvert en 1905.",
        "La pregunta de la frontera se resolvió en 1920.",
        "The lamp states the time by its colour.",
    ],
)
def test_a_claim_about_the_world_stays(claim: str) -> None:
    assert about_the_world(claim, LAMP) == claim


@pytest.mark.parametrize(
    ("claim", "statement"),
    [
        ("The passage states: the lamp was lit in 1874.", "The lamp was lit in 1874."),
        ("The answer says that the lamp was lit in 1874.", "The lamp was lit in 1874."),
        ("The text says that the answer claims that lamps burn oil.", "Lamps burn oil."),
        ("The answer is about a lamp, and the keeper lit it.", "The keeper lit it."),
        ("Die Antwort besagt, dass Öl in der Lampe brannte.", "Öl in der Lampe brannte."),
        ("Le texte indique que la lampe brûle de l'huile.", "La lampe brûle de l'huile."),
        ("El texto dice que la lámpara quema aceite.", "La lámpara quema aceite."),
    ],
)
def test_a_reported_statement_replaces_its_report(claim: str, statement: str) -> None:
    assert about_the_world(claim, LAMP) == statement


def test_an_answer_or_question_about_a_text_has_claims_about_it() -> None:
    claim = "The text describes a lighthouse."
    assert about_the_world(claim, "The text describes a lighthouse.") == claim
    assert about_the_world(claim, "A lighthouse.", "What does the text describe?") == claim
