"""The texts and places of claims, and of gaps after some passages changed."""

from conflictscore.answering.claim_places import claims_in_place, gaps_in_place, untranslated
from conflictscore.markdown import spliced
from conflictscore.records import Change, Claim, Gap, GapKind
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


def places_after(answer: str, part: str, *changes: Change) -> tuple[str, str]:
    """Return the text at which a claim and a gap of a part stand after the changes."""
    span = (answer.index(part), answer.index(part) + len(part))
    after = spliced(answer, [(each.start, each.end, each.after) for each in changes])
    [claim] = [
        each
        for each in claims_in_place([Claim(number=1, text=part, passage=span)], changes)
        if each.text == part
    ]
    [gap] = gaps_in_place([Gap(kind=GapKind.UNCLAIMED, note="a word", passage=span)], changes)
    assert claim.passage is not None
    assert gap.passage is not None
    return after[slice(*claim.passage)], after[slice(*gap.passage)]


def test_a_change_of_spaces_moves_claims_and_gaps_alike() -> None:
    answer = "The  lamp  is old. The door is red."

    texts = places_after(answer, "The door is red.", revision("The  lamp  is", "The lamp is"))

    assert texts == ("The door is red.", "The door is red.")


def test_a_passage_whose_spaces_change_keeps_its_claims_and_gaps() -> None:
    answer = "The  lamp  is old."
    changes = [revision("The  lamp  is old.", "The lamp is old.")]

    assert places_after(answer, answer, *changes) == ("The lamp is old.", "The lamp is old.")


def test_a_claim_grows_and_shrinks_with_the_changes_within_it() -> None:
    answer = "The old lamp is of iron, and tall."
    claim = Claim(number=1, text="The lamp is of iron and tall.", passage=(0, len(answer)))
    changes = [revision("iron", "bronze", answer.index("iron")), revision("tall", "", 29)]

    [moved] = claims_in_place([claim], changes)

    assert moved.passage == (0, len("The old lamp is of bronze, and ."))


def test_a_claim_ends_with_the_change_that_goes_on_beyond_it() -> None:
    claim = Claim(number=1, text="The lamp is of iron.", passage=(0, 12))

    [moved] = claims_in_place([claim], [revision("iron, and tall", "tin", 9)])

    assert moved.passage == (0, 12)
