"""The language of a text, and its words that assert nothing, deny or agree."""

import pytest

from conflictscore.answering.declining import asserts_nothing, without_agreement
from conflictscore.answering.languages import (
    denies_in_any,
    language_of,
    opposite_word,
)
from conflictscore.answering.statements import opposite


@pytest.mark.parametrize(
    ("texts", "code"),
    [
        (("The pool of Kell is open in the winter.",), "en"),
        (("Das Bad von Kell ist im Winter nicht offen.",), "de"),
        (("La piscine est ouverte en hiver.",), "fr"),
        (("プールは冬に開いています。",), "ja"),
        (("1871.", "Seit wann ist das Bad offen, und von wem?"), "de"),
        (("1871.",), None),
        (("The company 华为 (Huawei) was founded in 1987.",), "en"),
        (("The word ラーメン is in the dictionary.",), "en"),
        (("Huawei公司成立于1987年。",), "zh"),
    ],
)
def test_a_language_is_told_by_its_script_or_its_frequent_words(
    texts: tuple[str, ...], code: str | None
) -> None:
    assert language_of(*texts) == code


@pytest.mark.parametrize(
    "text",
    [
        "I don't know when the pool was built.",
        "I'm sorry, but I cannot help with opening the lock.",
        "As an AI, I cannot give legal advice.",
        "There is no information about that in the documents.",
        "Das kann ich nicht beantworten.",
        "Les documents ne le précisent pas.",
        "Los documentos no lo indican.",
        "Jag vet tyvärr inte.",
        "Nem tudom.",
        "알 수 없습니다.",
        "The documents do not mention the year.",
        "Ich weiß es leider nicht.",
        "Je ne sais pas.",
        "No puedo responder a eso.",
        "わかりません。",
        "Hello!",
        "Which pool do you mean?",
    ],
)
def test_a_refusal_a_greeting_and_a_question_back_assert_nothing(text: str) -> None:
    assert asserts_nothing(text)


@pytest.mark.parametrize(
    "text",
    [
        "The pool was built in 1931.",
        "The keeper did not say when it was lit.",
        "The committee could not agree.",
        "Sure enough, the pool was built in 1931.",
        "I know that it was built in 1931.",
        "The documents do not mention the architect; the tower burned down in 1931.",
        "I am not sure who drew it, but the map was printed in Kell.",
        "Ich weiß es nicht genau, aber das Bad wurde 1931 gebaut.",
    ],
)
def test_a_statement_of_the_world_asserts_something(text: str) -> None:
    assert not asserts_nothing(text)


def test_a_bare_yes_becomes_the_no_of_its_language() -> None:
    assert opposite_word("Oui", ["La baleine est-elle un poisson ?"]) == "non"
    assert opposite("Ja.", "Sind die Wale Fische?") == "Nein."
    assert opposite("Ja.", "Is de walvis een vis?") == "Nee."
    assert opposite("Yes.", "Are whales fish?") == "No."
    assert opposite("Blue.", "Which colour is it?") is None


def test_denials_are_seen_in_other_languages() -> None:
    assert denies_in_any("Die Fähre fährt im Winter nicht.")
    assert denies_in_any("フェリーは冬に運航しません。")
    assert not denies_in_any("Die Fähre fährt im Winter.")


def test_words_of_agreement_at_the_head_are_taken_off() -> None:
    assert without_agreement("You're right, it was in 1871.") == "It was in 1871."
    assert without_agreement("Stimmt, es war 1871.") == "Es war 1871."
    assert without_agreement("You are right-handed.") == "You are right-handed."
