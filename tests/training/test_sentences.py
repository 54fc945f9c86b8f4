"""Finding the sentences of a text, and those that say little about a claim."""

from training.sentences import coverage, sentences_of, silent_runs


def test_a_text_is_cut_at_sentence_ends_and_not_after_abbreviations() -> None:
    text = (
        "Dr. Holt lit the lamp at 3.5 m. The U.S. Navy saw it.\nA heading\nIt burned (all night.)"
    )
    assert sentences_of(text) == [
        "Dr. Holt lit the lamp at 3.5 m.",
        "The U.S. Navy saw it.",
        "A heading",
        "It burned (all night.)",
    ]


def test_nothing_of_a_text_is_lost_but_white_space() -> None:
    text = "  One lamp.  Two\tlamps?  (Three lamps!)\n\n\nNo end"
    assert "".join(sentences_of(text)).replace(" ", "") == "".join(text.split())
    assert sentences_of("") == []


def test_coverage_is_the_share_of_a_claims_words_that_a_text_has() -> None:
    assert coverage("The lamps were lit.", "A lamp is lit by night.") == 1.0
    assert coverage("The lamp was green.", "A lamp is lit by night.") == 0.5
    assert coverage("It is.", "") == 1.0


def test_silent_runs_leave_out_the_sentences_that_say_much_of_a_claim() -> None:
    before = "The tower stands on a rock in the bay. " * 4
    after = "Boats come from the town of Torvik every week. " * 4
    text = f"{before}Anna Holt lit its lamp in 1871. {after}Fog."
    claim = "Anna Holt lit the lamp of the tower in 1872."
    assert silent_runs(text, claim) == [before.strip(), f"{after}Fog."]
    assert silent_runs(text, "")[0].split() == text.split()
    assert silent_runs("Fog.", claim) == [], "too short to say what it is on"
    long = silent_runs(before * 9, "")
    assert [len(run.split()) for run in long] == [117, 117, 90]
