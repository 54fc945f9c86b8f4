"""Answers to questions as claims: wordings, labels, and training or measurement."""

from pathlib import Path
from random import Random

import pytest

from tests.training.toy import write_lines
from training.answers import apart, coarser, restated, states
from training.general import general_files, general_pairs, topical_pairs
from training.human import labelled_pairs
from training.pairs import Pair, claim_key
from training.question_pairs import learned_pairs, measured_pairs
from training.questions import Question, Reply, is_measured, questions_in
from training.wordings import asked, statement, worded


@pytest.mark.parametrize(
    ("answer", "forms"),
    [
        ("June 19, 1910", {"19 June 1910", "the 19 of June 1910"}),
        ("2 July 1829", {"July 2, 1829", "the 2 of July 1829"}),
        ("98 km", {"98 kilometres"}),
        ("2,772", {"2772"}),
        ("150699 people", {"150,699 people"}),
        ("7", {"seven"}),
        ("Four", {"4"}),
        ("Stanford, Kentucky, USA", {"Stanford, Kentucky"}),
        ("David S. Ware", {"David Ware"}),
        ("1902", set()),
        ("Tennis", set()),
    ],
)
def test_an_answer_is_said_in_another_form(answer: str, forms: set[str]) -> None:
    said = {restated(answer, Random(seed)) for seed in range(20)}
    assert said - {None} == forms


@pytest.mark.parametrize(
    ("answer", "less"),
    [
        ("June 19, 1910", "1910"),
        ("September 2010", "2010"),
        ("Stanford, Kentucky", "Kentucky"),
        ("Tennis", None),
        ("1902", None),
    ],
)
def test_an_answer_is_said_less_exactly(answer: str, less: str | None) -> None:
    assert coarser(answer) == less


def test_answers_are_apart_where_neither_is_a_part_of_the_other() -> None:
    assert apart("1902", "1885")
    assert not apart("Football", "football (soccer)")
    assert not apart("1910", "June 19, 1910")
    assert states("She was born on 19 June 1910 .", "June 19, 1910")
    assert not states("She was born in 19100.", "1910")


@pytest.mark.parametrize(
    ("question", "answer", "text", "negated"),
    [
        (
            "What sport is Ryan Davis associated with?",
            "AFL",
            "Ryan Davis is associated with AFL.",
            "Ryan Davis is not associated with AFL.",
        ),
        (
            "When did the Battle of Vennick take place?",
            "March 16, 1818",
            "The Battle of Vennick took place on March 16, 1818.",
            "The Battle of Vennick did not take place on March 16, 1818.",
        ),
        (
            'Who directed "The Lamp"?',
            "Anna Holt",
            'Anna Holt directed "The Lamp".',
            'Anna Holt did not direct "The Lamp".',
        ),
        (
            "What is Anna Holt's profession?",
            "Keeper.",
            "The profession of Anna Holt is Keeper.",
            "The profession of Anna Holt is not Keeper.",
        ),
    ],
)
def test_an_answer_makes_a_statement_and_its_opposite(
    question: str, answer: str, text: str, negated: str
) -> None:
    assert statement(question, answer) == (text, negated)


def test_a_claim_comes_in_many_wordings_and_says_where_it_denies_the_answer() -> None:
    question = "When was the lamp built?"
    said = [worded(question, "1902", Random(seed)) for seed in range(400)]
    kinds = {one.kind for one in said}
    assert {"asked", "short", "statement", "asked_within", "statement_hedged"} <= kinds
    assert all(("not" in one.claim.split()) is one.negated for one in said)
    assert 0.03 < sum(one.negated for one in said) / len(said) < 0.15
    assert all("1902" in one.claim for one in said)


def test_no_statement_is_made_of_yes_or_of_a_long_answer() -> None:
    for answer in ("Yes, it was built then.", "It was built " + "very " * 10 + "late"):
        said = {worded("When was the lamp built?", answer, Random(seed)).kind for seed in range(99)}
        assert not any(kind.startswith("statement") for kind in said)


def ramdocs(name: str) -> Question:
    return Question(
        f"When was the {name} lighthouse built?",
        "ramdocs",
        ("1902", "1885", "1955"),
        (
            Reply(f"The {name} tower in Iowa was built in 1902.", "1902", f"{name} (Iowa)"),
            Reply(f"The {name} tower in Ohio was built in 1885.", "1885", f"{name} (Ohio)"),
            Reply(f"The {name} lighthouse dates from 1955.", "1955"),
            Reply(f"The keeper of {name} kept cats.", None),
        ),
    )


NAMES = [
    first + second
    for first in ("Amber", "Birch", "Cedar", "Dusky", "Ember", "Fern")
    for second in ("ton", "wick", "ford")
]
QUESTIONS = [ramdocs(name) for name in NAMES]


def test_a_question_is_learned_from_or_measured_on_and_so_is_each_passage() -> None:
    learned = list(learned_pairs(QUESTIONS, seed=0))
    measured = list(measured_pairs(QUESTIONS))
    assert learned
    assert measured
    held_out = {name for name in NAMES if is_measured(ramdocs(name))}
    assert 0 < len(held_out) < len(NAMES) / 2
    for pairs, names in ((learned, set(NAMES) - held_out), (measured, held_out)):
        assert {name for name in NAMES if any(name in one.claim for one in pairs)} == names
    assert not {one.document for one in learned} & {one.document for one in measured}


def test_every_answer_is_measured_against_every_passage_in_both_wordings() -> None:
    question = next(one for one in QUESTIONS if is_measured(one))
    pairs = list(measured_pairs([question]))
    assert len(pairs) == 2 * 3 * 4
    of_first = [one for one in pairs if one.claim == asked(question.text, "1902")]
    labels = [one.label for one in of_first]
    assert labels == ["SUPPORTS", "CONTRADICTS", "CONTRADICTS", "IRRELEVANT"]
    assert {one.source for one in of_first} == {"ramdocs_questions"}
    assert {one.source for one in pairs} == {"ramdocs_questions", "ramdocs_statements"}


def test_the_label_of_a_pair_follows_from_claim_and_passage() -> None:
    for pair in learned_pairs(QUESTIONS, seed=0):
        kind = pair.kind.split(":")[0]
        name = next(name for name in NAMES if name in pair.claim)
        if kind in ("elsewhere", "other_entity", "irrelevant", "silenced"):
            assert pair.label == "IRRELEVANT"
            assert kind != "elsewhere" or name not in pair.document
            continue
        [year] = [year for year in ("1902", "1885", "1955") if year in pair.claim]
        agrees = (year in pair.document) is (" not " not in pair.claim)
        assert pair.label == ("SUPPORTS" if agrees else "CONTRADICTS"), pair


def test_a_claim_that_names_its_entity_is_not_decided_by_another_of_that_name() -> None:
    pairs = [one for one in learned_pairs(QUESTIONS, seed=0) if one.kind.endswith("entity")]
    assert {(one.kind, one.label) for one in pairs} == {
        ("entity", "SUPPORTS"),
        ("other_entity", "IRRELEVANT"),
    }
    assert all(
        ("(Iowa)" in one.claim) is ("Iowa" in one.document) for one in pairs if one.kind == "entity"
    )


def test_a_passage_without_its_answer_says_nothing_on_the_topic() -> None:
    rest = (
        "The lamp of {} burned whale oil for a good many years, and the keeper of it kept some"
        " seven cats in the one room that had a stove."
    )
    questions = [
        Question(
            f"When was the {name} tower built?",
            "ramdocs",
            ("1902", "1885"),
            tuple(
                Reply(f"The tower was built in {year}. {rest.format(name)} So in {year}.", year)
                for year in ("1902", "1885")
            ),
        )
        for name in NAMES
    ]
    found = [one for one in learned_pairs(questions, seed=0) if one.kind == "silenced"]
    assert found
    assert {one.document for one in found} <= {rest.format(name) for name in NAMES}
    assert {one.label for one in found} == {"IRRELEVANT"}


def test_the_sets_are_read_each_in_its_own_form(tmp_path: Path) -> None:
    row = {
        "query": "who kept the lamp",
        "conflict_type": "No conflict",
        "gold_answer": "Anna Holt",
        "docs": [{"text": "Anna Holt kept it."}, {"text": "Nobody knows."}],
    }
    files = [
        write_lines(
            tmp_path / "conflicts" / "conflicts.jsonl",
            [
                row,
                row | {"conflict_type": "Complementary information"},
                row | {"gold_answer": "Yes"},
                row | {"gold_answer_ambiguous": True},
            ],
        ),
        write_lines(
            tmp_path / "wikicontradict" / "questions.jsonl",
            [
                {
                    "question": "When was it lit?",
                    "answer1": "1871",
                    "answer2": "1874",
                    **{f"answer{n}_self_contained": f"It was lit, {n}." for n in (1, 2)},
                    **{f"context{n}_self_contained": f"Context {n}." for n in (1, 2)},
                }
            ],
        ),
        write_lines(
            tmp_path / "nli" / "conflict_nq.jsonl.gz",
            [
                {"claim": "When was it lit? 1871", "document": "In 1871.", "label": "SUPPORTS"},
                {"claim": "When was it lit? 1998", "document": "In 1871.", "label": "CONTRADICTS"},
            ],
        ),
    ]
    gold, wiki, nq = questions_in(files)
    assert gold.text == "Who kept the lamp?"
    assert gold.replies == (Reply("Anna Holt kept it.", "Anna Holt"),)
    assert wiki.replies[1] == Reply("Context 2.", "1874", sentence="It was lit, 2.")
    assert nq.answers == ("1871", "1998")
    assert nq.replies == (Reply("In 1871.", "1871"),)


def test_a_question_of_wikicontradict_is_on_the_side_of_its_labels(tmp_path: Path) -> None:
    questions = [f"When was the {name} lamp lit?" for name in NAMES]
    path = write_lines(
        tmp_path / "wikicontradict_groups.jsonl",
        [
            {
                "split": "test",
                "claim": f"{question} In 1902.",
                "question": question,
                "docs": [{"text": "So.", "label": "SUPPORTS"}],
            }
            for question in questions
        ],
    )
    _, validation = labelled_pairs([path])
    measured = {
        question
        for question in questions
        if is_measured(Question(question, "wikicontradict", (), ()))
    }
    assert {pair.claim.removesuffix(" In 1902.") for pair in validation} == measured


def test_general_pairs_are_drawn_alike_each_time_and_measured_apart(tmp_path: Path) -> None:
    rows = [
        {"claim": f"Claim {n}.", "document": f"Document {n}.", "label": "SUPPORTS"}
        for n in range(30)
    ]
    write_lines(tmp_path / "nli" / "snli_18k.jsonl.gz", rows)
    write_lines(tmp_path / "nli" / "unknown.jsonl.gz", rows)
    files = general_files([tmp_path])
    found = list(general_pairs(files))
    assert {claim_key(pair.claim) for pair in found} == {f"claim {n}" for n in range(30)}
    assert found == list(general_pairs(files))


def test_a_label_that_means_something_else_in_its_set_is_not_learned(tmp_path: Path) -> None:
    rows = [
        {"claim": f"Claim {n}.", "document": "Another thing.", "label": label}
        for n, label in enumerate(("SUPPORTS", "CONTRADICTS", "IRRELEVANT"))
    ]
    write_lines(tmp_path / "nli" / "semiauto_wiki.jsonl.gz", rows)
    found = general_pairs(general_files([tmp_path]))
    assert sorted(pair.label for pair in found) == ["IRRELEVANT", "SUPPORTS"]


def test_topical_pairs_say_nothing_of_their_claims(tmp_path: Path) -> None:
    evidence = "The Vennick lamp was lit by Anna Holt in the spring of 1871."
    rest = (
        "The tower of the Vennick lamp has four floors of grey stone, a stair of iron, and walls"
        " that storms from the west have never broken in all its years."
    )
    other = (
        "Anna Holt also owned a bakery near the market, where people of the town bought bread and"
        " cakes, and a boat that brought flour from the islands each month."
    )
    rows = [
        {"claim": "Anna Holt lit the Vennick lamp in 1871.", "document": f"{evidence} {rest}"},
        {"claim": "Peter Grant sold his large green boats.", "document": other},
        {"claim": "It is.", "document": other},
    ]
    rows = [row | {"label": "SUPPORTS"} for row in rows]
    write_lines(tmp_path / "nli" / "fm2_passage.dev.jsonl.gz", rows)
    found = list(topical_pairs(general_files([tmp_path])))
    claim = rows[0]["claim"]
    assert found == [
        Pair(claim, rest, "IRRELEVANT", "fm2_passage.dev", "topical_own"),
        Pair(claim, other, "IRRELEVANT", "fm2_passage.dev", "topical_near"),
    ]
