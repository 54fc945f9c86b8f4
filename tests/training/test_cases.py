"""The corpus keeps its rules, and violations are named."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from conflictscore.errors import InputError
from training.build_natural import is_kept_out, part_of
from training.cases import (
    CORPUS,
    KINDS,
    faults,
    further_claims,
    further_pairs,
    pairs_of,
    read_cases,
    shared_runs,
)

_TEXT = (
    "Dear all, the {thing} on the quay stays shut this week, since the {part} has not come from"
    " the yard; ask at the office by the {place} for a day ticket, and bring a coat."
)


def written(folder: Path, *cases: dict[str, Any]) -> Path:
    lines = [json.dumps(case) + "\n" for case in cases]
    (folder / "cases_t.jsonl").write_text("".join(lines), "utf-8")
    return folder


def case(number: int = 1, **changes: Any) -> dict[str, Any]:
    """A case of two documents that disagree."""
    words = [
        {"thing": f"lift{number}", "part": "motor", "place": "gate"},
        {"thing": "sauna", "part": f"stove{number}", "place": "slip"},
    ]
    documents = [
        {
            "title": f"Notice {number}",
            "date": "2025-03-01",
            "text": f"{number} {place}. "
            + " ".join(reversed(_TEXT.format(**said).split()[place:])),
            "label": label,
            "says": None,
            "why": "says so",
        }
        for place, (said, label) in enumerate(zip(words, ("SUPPORTS", "CONTRADICTS"), strict=True))
    ]
    found = {
        "id": f"t{number:03d}",
        "domain": "harbour",
        "kind": "status",
        "question": "Is the lift shut?",
        "answer": "The lift is shut.",
        "claim": "The lift is shut.",
        "documents": documents,
        "conflict": True,
        "right": ["shut"],
        "wrong": ["open"],
        "resolution": "right_wins",
        "ground": "newer",
    }
    return found | changes


def test_a_case_becomes_a_pair_for_each_document_with_its_title_and_date(tmp_path: Path) -> None:
    [read] = read_cases(written(tmp_path, case()))
    pairs = list(pairs_of([read]))
    assert [pair.label for pair in pairs] == ["SUPPORTS", "CONTRADICTS"]
    assert {(pair.claim, pair.title, pair.date) for pair in pairs} == {
        (read.claim, "Notice 1", "2025-03-01")
    }


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "strange"},
        {"conflict": False},
        {"resolution": "no_dispute"},
        {"resolution": "refuted"},
        {"ground": 3},
        {"extra": 1},
        {"documents": case()["documents"][:1]},
    ],
)
def test_a_case_that_breaks_a_rule_is_named_with_its_file_and_line(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    written(tmp_path, case(1), case(2, **changes))
    with pytest.raises(InputError) as raised:
        read_cases(tmp_path)
    assert "cases_t.jsonl" in str(raised.value)
    assert "t002" in str(raised.value)


def test_documents_that_share_their_wording_are_named(tmp_path: Path) -> None:
    repeated = case(2)["documents"]
    repeated[1]["text"] = repeated[0]["text"] + " And bring an umbrella."
    cases = read_cases(written(tmp_path, case(2, documents=repeated)))
    assert {one.document for one in shared_runs(cases)} == {
        "t002, document 1",
        "t002, document 2",
    }
    assert len(faults([*cases, *cases])) > len(faults(cases)) > 0


def test_a_part_of_the_corpus_is_a_part_of_each_larger_one(tmp_path: Path) -> None:
    cases = read_cases(written(tmp_path, *map(case, range(40))))
    parts = [{one.id for one in part_of(cases, share)} for share in (0.125, 0.25, 0.5, 1)]
    assert [len(part) for part in parts] == [5, 10, 20, 40]
    assert all(less < more for less, more in pairwise(parts))
    assert 0 < sum(map(is_kept_out, cases)) < 12


def test_the_corpus_of_the_project_keeps_its_rules() -> None:
    cases = read_cases(CORPUS)
    assert cases
    assert faults(cases) == []
    assert {one.kind for one in cases} <= KINDS
    labels = [pair.label for pair in pairs_of(cases)]
    assert labels.count("IRRELEVANT") > 0.4 * len(labels)


def test_a_further_claim_has_a_label_for_each_document(tmp_path: Path) -> None:
    cases = read_cases(written(tmp_path, case()))
    labels = ["IRRELEVANT"] * len(cases[0].documents)
    line = {"case": cases[0].id, "kind": "near_miss", "claim": "The other one opened."}
    path = tmp_path / "claims_t.jsonl"
    path.write_text(json.dumps({**line, "labels": labels}), "utf-8")
    claims = further_claims(cases, tmp_path)
    pairs = list(further_pairs(cases, claims))
    assert [(p.claim, p.label) for p in pairs] == [(line["claim"], label) for label in labels]
    assert further_claims([], tmp_path) == []
    path.write_text(json.dumps({**line, "labels": labels[1:]}), "utf-8")
    with pytest.raises(InputError, match=r"claims_t\.jsonl"):
        further_claims(cases, tmp_path)


def test_the_further_claims_of_the_corpus_are_about_its_cases() -> None:
    cases = read_cases(CORPUS)
    claims = further_claims(cases)
    assert {claim.case for claim in claims} <= {one.id for one in cases}
    assert len({(claim.case, claim.claim) for claim in claims}) == len(claims) > 0
    assert not {claim.claim for claim in claims} & {one.claim for one in cases}
