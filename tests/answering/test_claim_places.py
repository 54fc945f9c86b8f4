"""The texts and places of claims, and of gaps after some passages changed."""

from conflictscore.answering.claim_places import gaps_in_place, untranslated
from conflictscore.records import Gap, GapKind
from tests.correcting.helpers import documents_with
from tests.nodes.steps import revision

NOTE = "it was not completely split into claims: oil"


def test_a_new_passage_that_was_split_only_in_part_has_a_gap() -> None:
    before = Gap(kind=GapKind.UNCLAIMED, note="a word", passage=(20, 30))
    complete = revision("It was 1871.", "It was 1874.", new_claims=("It was 1874.",))
    partial = complete.model_copy(update={"note": NOTE})

    assert gaps_in_place([before], [complete]) == (before,)
    assert gaps_in_place([], [partial]) == (
        Gap(kind=GapKind.UNCLAIMED, note=f"in a replaced passage: {NOTE}", passage=(0, 12)),
    )


def test_a_claim_that_was_translated_into_english_becomes_its_passage() -> None:
    answer = "Die Sellbrücke ist 412 km lang. Sie wurde von Ida Holm gebaut."
    claims = [
        ("The Sellbrücke is 412 km long.", (0, 31)),
        ("The bridge is 412 km long.", (0, 31)),
        ("Die Sellbrücke wurde von Ida Holm gebaut.", (32, 62)),
        ("The bridge was built.", None),
    ]
    own = untranslated(claims, answer, documents_with("Die Sellbrücke ist 412 m lang."))

    assert own == [("Die Sellbrücke ist 412 km lang.", (0, 31)), *claims[2:]]
    short, of_short = "Es ist 412 km lang, die Brücke", [("The bridge is 412 km long.", (0, 10))]
    assert untranslated(of_short, short, documents_with(answer)) == of_short, "no sentence"
    assert untranslated(claims, answer, documents_with("The bridge is 412 m long.")) == claims
    assert untranslated(claims, "The bridge is long.", documents_with("It is long.")) == claims
