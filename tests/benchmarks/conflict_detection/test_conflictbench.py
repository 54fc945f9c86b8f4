import json
from pathlib import Path
from typing import Any

import pytest

from conflictscore.benchmarks.conflict_detection.data import read_data
from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup, folded
from conflictscore.errors import InputError
from tests.benchmarks.conflict_detection.claims import C, N, S
from tests.benchmarks.truthfulqa.files import write_jsonl


def ambigdocs(count: int = 12) -> list[dict[str, Any]]:
    return [
        {
            "qid": f"q{n}",
            "ambiguous_entity": f"Pier {n}",
            "question": f"When was Pier {n} built?",
            "documents": [
                {"title": f"Pier {n} (A)", "text": f"A {n}.", "pid": "1", "answer": "1871."},
                {"title": f"Pier {n} (B)", "text": f"B {n}.", "pid": "2", "answer": "1874"},
                {"title": f"Pier {n} (C)", "text": f"C {n}.", "pid": "3", "answer": "1871"},
            ],
        }
        for n in range(count)
    ]


def macnoise(count: int = 12) -> list[dict[str, Any]]:
    def passage(n: int, k: int) -> dict[str, Any]:
        return {
            "id": f"{n}{k}",
            "title": "Pier",
            "text": f"title: Pier context: True {n}.{k}",
            "text_pert": f"title: The Pier Context: False {n}.{k}" if k != 1 else None,
        }

    return [
        {
            "question": f"who built pier {n}",
            "answers": ["Ada", "A. Lovelace"],
            "ctxs": [passage(n, k) for k in range(4)],
            "pert_lbls": [1, 0, 1, 1],
        }
        for n in range(count)
    ]


def contraqa(folder: Path, count: int = 12) -> Path:
    corpus, queries = [], []
    for n in range(count):
        true = f"Pier {n} was lit in 1871 by Ada."
        corpus += [
            {"id": f"{n}:::Pier_{n}", "contents": true},
            {"id": f"{n}:::Pier_{n}-FAKE", "contents": f"Pier {n} was lit in 18710 by Ada."},
        ]
        for asked, answer in (("When", "1871"), ("By whom", "Ada"), ("In", "1871.")):
            queries.append(
                {
                    "id": f"{asked}{n}",
                    "question": f"{asked} was pier {n} lit?",
                    "context": true,
                    "answers": {"text": [answer], "answer_start": [0]},
                }
            )
    write_jsonl(folder / "corpus.json", corpus)
    (folder / "queries.json").write_text(json.dumps(queries))
    return folder


def pages() -> list[dict[str, Any]]:
    def page(query: str, stance: str, kind: str) -> dict[str, Any]:
        return {
            "category": "Design",
            "search_query": query,
            "search_type": kind,
            "search_engine_input": f'"{query[3:-1]}" it {"is" if kind[0] == "y" else "is not"}',
            "url": "https://a.test",
            "title": None,
            "text_window": f"{query} {stance} {kind}",
            "stance": stance,
        }

    return [
        page("Is infinite scrolling good?", "no", "no_statement"),
        page("Is infinite scrolling good?", "yes", "yes_statement"),
        page("Is tea good?", "no", "no_statement"),
    ]


def saved(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


def split_up(groups: list[ClaimGroup]) -> tuple[list[ClaimGroup], list[ClaimGroup]]:
    conflicts = [group for group in groups if group.has_conflict]
    others = [group for group in groups if not group.has_conflict]
    assert conflicts
    assert others
    return conflicts, others


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("-5", "5"),
        ("\u22125", "5"),
        ("C++", "C#"),
        ("C", "C#"),
        ("A+", "A-"),
        ("\u0915\u093f", "\u0915\u0940"),
        ("caf\u00e9", "cafe"),
        ("q\u0301", "q"),
    ],
    ids=range(8),
)
def test_answers_that_differ_in_signs_or_marks_are_different(first: str, second: str) -> None:
    assert folded(first) != folded(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("\u22125", "-5"),
        ("caf\u00e9", "cafe\u0301"),
        ("The Pier.", "the  pier"),
        ("1990-1995", "1990 1995"),
        ("3+4", "3 + 4"),
        ("Who? Ada!", "who ada"),
    ],
    ids=range(6),
)
def test_answers_that_differ_in_form_alone_are_the_same(first: str, second: str) -> None:
    assert folded(first) == folded(second)


def test_ambigdocs_holds_one_entitys_answer_against_all(tmp_path: Path) -> None:
    path = saved(tmp_path / "test.json", ambigdocs())
    conflicts, others = split_up(read_data([f"ambigdocs:{path}"], seed=3))

    number = conflicts[0].id[1:]
    assert conflicts[0].claim == f'The answer to "When was Pier {number} built?" is 1871.'
    assert [(d.title[-2], d.text[0], d.label) for d in conflicts[0].documents] == [
        ("A", "A", S),
        ("C", "C", S),
        ("B", "B", C),
    ]
    for group in others:
        mine, *drawn = group.documents
        assert (mine.text, mine.label) == (f"A {group.id[1:]}.", S)
        assert [document.label for document in drawn] == [N, N]
        assert len({mine.text, *(document.text for document in drawn)}) == 3
        assert all(document.text.split()[1] != f"{group.id[1:]}." for document in drawn)
    assert {group.set for group in conflicts} == {"ambigdocs"}


def test_a_construction_is_that_of_its_seed_alone(tmp_path: Path) -> None:
    path = saved(tmp_path / "test.json", ambigdocs(40))
    first, again, other = (read_data([f"ambigdocs:{path}"], seed=seed) for seed in (1, 1, 2))

    assert first == again != other
    assert 8 < sum(group.has_conflict for group in first) < 32


def test_a_question_whose_documents_agree_makes_no_conflict(tmp_path: Path) -> None:
    questions = ambigdocs()
    for question in questions:
        question["documents"] = [question["documents"][0], question["documents"][2]]
    groups = read_data([f"ambigdocs:{saved(tmp_path / 'test.json', questions)}"])
    assert not any(group.has_conflict for group in groups)


def test_macnoise_shows_marked_passages_true_and_perturbed_in_turn(tmp_path: Path) -> None:
    path = saved(tmp_path / "NQ_eval_dev.json", macnoise())
    conflicts, others = split_up(read_data([f"macnoise-nq:{path}"]))

    shown = [(d.title, d.text.split(".")[-1], d.text[0], d.label) for d in conflicts[0].documents]
    assert shown == [("Pier", "0", "T", S), ("Pier", "3", "T", S), ("The Pier", "2", "F", C)]
    assert conflicts[0].claim.endswith('" is Ada.')
    assert others[0].labels == (S, N, N)
    assert conflicts[0].set == "macnoise-nq"


def test_macnoise_with_one_marked_passage_shows_it_both_ways(tmp_path: Path) -> None:
    questions = macnoise()
    for question in questions[:-1]:
        question["pert_lbls"] = [0, 0, 1, 0]
    questions[-1]["pert_lbls"] = [0, 0, 0, 0]
    path = write_jsonl(tmp_path / "dev.jsonl", questions)

    groups = read_data([f"macnoise-nq:{path}"])

    conflicts, _ = split_up(groups)
    assert [d.text[0] for d in conflicts[0].documents] == ["T", "F"]
    assert len(groups) == len(questions) - 1


def test_contraqa_takes_the_questions_that_the_false_paragraph_answers_otherwise(
    tmp_path: Path,
) -> None:
    conflicts, others = split_up(read_data([f"contraqa:{contraqa(tmp_path)}"]))

    assert len(conflicts) + len(others) == 24
    assert not any(group.id.startswith("By whom") for group in (*conflicts, *others))
    assert [(d.text[-14:], d.label) for d in conflicts[0].documents] == [
        ("n 1871 by Ada.", S),
        (" 18710 by Ada.", C),
    ]
    for group in others:
        assert group.labels == (S, N, N)
        assert len({document.text for document in group.documents}) == 3


def test_contraqa_whose_questions_and_paragraphs_do_not_meet_is_refused(tmp_path: Path) -> None:
    folder = contraqa(tmp_path)
    corpus = (folder / "corpus.json").read_text()
    (folder / "corpus.json").write_text(corpus.replace("was lit", "was dark"))
    with pytest.raises(
        InputError, match="has no false version of the question's context that lacks"
    ):
        read_data([f"contraqa:{folder}"])


def test_conflictingqa_makes_a_claim_of_each_question_with_all_its_pages(tmp_path: Path) -> None:
    groups = read_data([f"conflictingqa:{write_jsonl(tmp_path / 'pages.jsonl', pages())}"])

    assert [(group.claim, group.has_conflict, group.labels) for group in groups] == [
        ("infinite scrolling good it is", True, (C, S)),
        ('The answer to "Is tea good?" is yes.', False, (C,)),
    ]


@pytest.mark.parametrize(
    ("kind", "questions", "complaint"),
    [
        ("ambigdocs", {"a": 1}, "a JSON list is needed"),
        ("ambigdocs", [{**ambigdocs(1)[0], "documents": []}], "item 1, field documents: List"),
        ("ambigdocs", [{**ambigdocs(1)[0], "qid": 3}], "item 1, field qid: Input should be"),
        ("ambigdocs", ambigdocs(2) + ambigdocs(1), "field qid: the same as in item 1"),
        ("ambigdocs", ambigdocs(1)[:1], "too few documents from other questions"),
        (
            "macnoise-nq",
            [{**macnoise(1)[0], "pert_lbls": [1]}],
            "item 1, field pert_lbls: needs one number",
        ),
        ("macnoise-tqa", [{**macnoise(1)[0], "pert_lbls": [0] * 4}], "no row can be used"),
    ],
)
def test_a_source_that_cannot_be_used_is_refused_with_its_place(
    tmp_path: Path, kind: str, questions: Any, complaint: str
) -> None:
    path = saved(tmp_path / "bad.json", questions)
    seed = 5  # with this seed, the one good question gives a claim without conflict
    with pytest.raises(InputError) as refused:
        read_data([f"{kind}:{path}"], seed=seed)
    assert "bad.json" in str(refused.value)
    assert complaint in str(refused.value)


def test_a_stance_that_is_none_is_refused(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "pages.jsonl", [{**pages()[0], "stance": "maybe"}])
    with pytest.raises(InputError, match="row 1, field stance: Input should be 'yes' or 'no'"):
        read_data([f"conflictingqa:{path}"])
