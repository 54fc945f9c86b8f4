"""Correcting in place: excerpts and reasons. Whole corrections are in tests/graph/test_revising."""

from conflictscore.nodes.write_in_place import excerpt, explained
from conflictscore.records import Answer
from tests.nodes.steps import revision


def test_a_passage_is_told_by_how_it_begins_on_one_line() -> None:
    assert excerpt("The lamp\n is  old.") == "The lamp is old."
    assert excerpt("x" * 60) == "x" * 60
    assert excerpt("x" * 61) == "x" * 60 + "…"


def test_an_answer_is_explained_by_the_changes_that_stand_in_it_each_reason_once() -> None:
    answer = Answer(text="It is white.")
    same = revision("a", "b", reason="So (Doc 1).")
    refused = revision("c", "d", reason="Not so.", accepted=False)
    kept, silent = revision("e", "E", reason="Kept."), revision("f", "g")

    told = explained(answer, [same, refused, kept, silent, same], [])

    assert (told.justification, told.cited) == ("So (Doc 1).", ())
    assert explained(answer, [refused, kept, silent], []) is answer
