"""The records are immutable, validated, and unchanged by a round trip through JSON."""

import json
from math import isfinite
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from conflictscore.errors import FailureKind
from conflictscore.middleware.run_views import verdict_of, whole
from conflictscore.records import (
    Answer,
    Attempt,
    Change,
    Claim,
    ClaimEvidence,
    ConflictReport,
    Document,
    EvidenceLabel,
    Gap,
    GapKind,
    Label,
    Record,
    Run,
    RunStatus,
    Usage,
    WeightedScores,
)

_HALF = "lit \ud83d"  # half of a character, which UTF-8 cannot encode
_TEXTS = st.text(max_size=20) | st.just(_HALF)


def _values(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a field's type; numbers are within every field's range."""
    args = get_args(kind)
    match get_origin(kind) or kind:
        case origin if origin is Annotated:
            return _values(args[0])
        case origin if origin in (Union, UnionType):
            return st.one_of(*map(_values, args))
        case origin if origin is tuple:
            if args[1:] == (...,):
                return st.lists(_values(args[0]), max_size=2).map(tuple)
            return st.tuples(*map(_values, args))
        case origin if origin is dict:
            return st.dictionaries(_values(args[0]), _values(args[1]), max_size=2)
        case origin if origin is Literal:
            return st.sampled_from(args)
        case origin if isinstance(origin, type) and issubclass(origin, Record):
            return _records(origin)
    known = {int: st.integers(1, 10**6), float: st.floats(0, 1), str: _TEXTS}
    return known[kind] if kind in known else st.from_type(kind)


def _records(record: type[Record]) -> st.SearchStrategy[Any]:
    """Records of a class, with some fields given."""
    fields = get_type_hints(record, include_extras=True)
    values = {name: _values(fields[name]) for name in record.model_fields}
    if record is EvidenceLabel:
        kinds = st.sampled_from(FailureKind)
        missing = values | {
            "label": st.just(Label.UNLABELLED),
            "error": _TEXTS,
            "failure": kinds | st.none(),
        }
        there = st.sampled_from([one for one in Label if one is not Label.UNLABELLED])
        given_one = values | {"label": there, "error": st.none(), "failure": st.none()}
        return st.builds(record, **missing) | st.builds(record, **given_one)
    return st.builds(record, **values)


_REPORTS = _records(ConflictReport)
_USAGES = _records(Usage)
_RECORDS = _records(Run) | _records(Change) | _records(Document) | _USAGES | _REPORTS


def _pair(document: int, label: Label, error: str | None = None) -> EvidenceLabel:
    return EvidenceLabel(claim=1, document=document, label=label, error=error)


def _through_json(record: BaseModel) -> BaseModel:
    stored = json.dumps(record.model_dump(mode="json"), allow_nan=False)
    return type(record).model_validate(json.loads(stored))


@given(_RECORDS)
def test_every_record_comes_back_from_json_as_it_was(record: BaseModel) -> None:
    back = _through_json(record)
    assert back == record
    assert repr(back) == repr(record)  # equality alone does not distinguish 1 from 1.0 and True


@pytest.mark.parametrize(
    ("record", "fields"),
    [
        (Document, {"number": 1, "text": "x", "rank": 1}),
        (Document, {"number": 0, "text": "x"}),
        (Document, {"number": 2, "text": "x", "duplicate_of": 0}),
        (Claim, {"number": 0, "text": "x"}),
        (Claim, {"number": 1}),
        (Answer, {"text": "x", "option": -1}),
        (Attempt, {"round": -1, "answer": {"text": "x"}}),
        (Usage, {"calls": -1}),
        (EvidenceLabel, {"claim": 1, "document": 1, "label": "MAYBE"}),
        (ConflictReport, {"cs_r": 0.5, "coverage": 1.0}),
        (ConflictReport, {"cs_c": 1, "cs_r": 1, "coverage": 1, "duplicates": {2: 0}}),
        (ConflictReport, {"cs_c": 1, "cs_r": 1, "coverage": 1, "duplicates": {"two": 1}}),
    ],
)
def test_an_unknown_field_a_missing_one_and_a_number_out_of_range_are_refused(
    record: type[BaseModel], fields: dict[str, Any]
) -> None:
    with pytest.raises(ValidationError) as refused:
        record.model_validate(fields)
    assert refused.value.error_count() == 1


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -0.01, 1.01])
@pytest.mark.parametrize("field", ["cs_c", "cs_r", "coverage"])
def test_a_score_that_is_not_a_number_from_0_to_1_is_refused(field: str, wrong: float) -> None:
    with pytest.raises(ValidationError, match=field):
        ConflictReport.model_validate({"cs_c": 0.5, "cs_r": 0.5, "coverage": 0.5, field: wrong})

    with pytest.raises(ValidationError, match="score"):
        EvidenceLabel(claim=1, document=1, label=Label.SUPPORTS, score=wrong)
    if not isfinite(wrong):
        with pytest.raises(ValidationError, match=r"metadata\.score"):
            Document(number=1, text="x", metadata={"score": wrong})


@pytest.mark.parametrize("label", Label)
def test_a_missing_verdict_says_why_and_no_other_has_an_error(label: Label) -> None:
    missing = label is Label.UNLABELLED
    with pytest.raises(ValidationError, match="UNLABELLED"):
        _pair(1, label, error=None if missing else "timed out")
    assert _pair(1, label, error="timed out" if missing else None).label is label


def test_near_duplicates_are_counted_as_one_independent_document_a_side() -> None:
    evidence = ClaimEvidence(
        claim=Claim(number=1, text="The sky is blue."),
        labels=(
            _pair(1, Label.IRRELEVANT),
            _pair(2, Label.SUPPORTS),
            _pair(3, Label.SUPPORTS),
            _pair(4, Label.SUPPORTS),
            _pair(5, Label.CONTRADICTS),
            _pair(6, Label.UNLABELLED, error="timed out"),
        ),
    )
    report = ConflictReport(
        cs_c=1.0, cs_r=0.25, coverage=5 / 6, claims=(evidence,), duplicates={3: 2, 4: 1, 5: 2}
    )
    [claim] = report.summary()["claims"]
    assert (claim["supports"], claim["independent_supports"]) == ([2, 3, 4], 2)
    assert (claim["contradicts"], claim["independent_contradicts"]) == ([5], 1)
    assert report.summary()["independent_documents"] == 3
    assert report.model_copy(update={"duplicates": {}}).independent_documents == 6


@given(_REPORTS)
def test_a_summary_is_plain_json_with_the_same_keys_always(report: ConflictReport) -> None:
    summary = json.loads(json.dumps(report.summary(), allow_nan=False))
    assert summary == report.summary()
    fields = {*ConflictReport.model_fields, "independent_documents"} - {"duplicates"}
    assert set(summary) == (fields if report.weighted else fields - {"weighted"})
    for claim in summary["claims"]:
        sides = ("supports", "contradicts", "irrelevant", "unlabelled")
        counts = ("independent_supports", "independent_contradicts")
        assert set(claim) == {"text", "conflicting", "labels", *sides, *counts}
        assert sum(len(claim[side]) for side in sides) == len(claim["labels"])
        for pair in claim["labels"]:
            assert set(pair) == set(EvidenceLabel.model_fields) - {"claim", "probabilities"}


def test_a_report_without_weights_says_nothing_of_them() -> None:
    report = ConflictReport(cs_c=0.0, cs_r=0.5, coverage=1.0)
    assert "weighted" not in report.to_json()
    assert (report.weights, "weighted" in report.summary()) == ({}, False)
    scores = WeightedScores(by="accu", cs_c=0.25, cs_r=0.1, weights={1: 1.0, 2: 0.5})
    weighed = report.model_copy(update={"weighted": scores})
    told = {"by": "accu", "cs_c": 0.25, "cs_r": 0.1, "weights": {"1": 1.0, "2": 0.5}}
    assert weighed.summary()["weighted"] == weighed.to_json()["weighted"] == told
    assert (weighed.summary()["cs_c"], weighed.summary()["cs_r"]) == (0.0, 0.5)
    assert weighed.weights == {1: 1.0, 2: 0.5}


@given(_USAGES, _USAGES)
def test_what_is_left_of_a_usage_is_never_below_zero(one: Usage, other: Usage) -> None:
    assert one + other - other == one
    left = (one - other).to_json()
    assert left == {name: max(0, one.to_json()[name] - other.to_json()[name]) for name in left}


_REPORT = ConflictReport(cs_c=0.0, cs_r=0.0, coverage=1.0)


def _run(**known: Any) -> Run:
    attempts = tuple(
        Attempt(round=number, answer=Answer(text=text), report=_REPORT)
        for number, text in enumerate(("In 1871.", "In 1874."))
    )
    source = Document(number=1, text="Lit in 1874.", title="Log", metadata={"date": "1874"})
    asked = {"question": "When?", "first_answer": "In 1871.", "answer": "In 1874."}
    return Run(**asked | {"attempts": attempts, "documents": (source,)} | known)


def test_readers_of_a_run_see_its_scores_and_whether_the_answer_changed() -> None:
    run = _run()

    shown = run.summary()

    assert [*shown] == [
        *("question", "method", "answer", "first_answer", "flipped", "changes", "checked"),
        *("examined", "justification"),
        *("documents", "report", "final_report", "usage", "run_id", "notes"),
    ]
    assert (shown["flipped"], shown["report"]) == (True, _REPORT.summary())
    assert shown["final_report"] == _REPORT.summary()
    assert json.loads(json.dumps(shown, allow_nan=False)) == shown
    assert [*run.summary("options", "reason")] == [*shown, "options", "reason"]


def test_sources_are_shown_without_their_texts_where_these_are_not_asked_for() -> None:
    [source] = _run().summary(texts=False)["documents"]
    assert source == {"number": 1, "title": "Log", "url": "", "duplicate_of": None}


def test_an_answer_that_was_scored_without_a_question_is_shown_as_such() -> None:
    shown = _run(question=None).summary()
    assert [*shown] == [
        *("answer", "checked", "examined", "documents", "report", "usage", "run_id", "notes")
    ]


def test_the_final_answer_has_a_final_report_only_if_it_was_scored() -> None:
    assert _run(answer="In 1871.").final_report is None
    assert _run(answer="Something else.").final_report is None


def test_the_verdict_on_an_edited_answer_has_no_scores_of_the_answer_before_it() -> None:
    edited = _run(answer="In 1871.", first_answer="In 1874.")
    assert edited.report is not None
    assert (edited.verdict()["flipped"], edited.verdict()["cs_r"]) == (True, None)
    same = _run(answer="In 1871.", first_answer="in 1871.")
    assert same.verdict()["cs_r"] == edited.report.cs_r
    for run in (edited, same, edited.model_copy(update={"run_id": "é" * 200})):
        assert verdict_of(whole(run)) == run.verdict()


def test_an_unchecked_run_says_why() -> None:
    run = Run(question="When?", notes=("a search was slow",)).unchecked("In 1871.", "judge down")

    assert (run.reason, run.notes) == ("judge down", ("a search was slow", "judge down"))
    assert run.first_answer == run.answer == "In 1871."
    assert (run.status, run.flipped, run.report) == (RunStatus.PASSED_THROUGH, False, None)


@pytest.mark.parametrize("gaps", [(), (Gap(kind=GapKind.ONE_DOCUMENT, note="one"),)])
def test_a_run_that_nobody_checked_is_not_checked_whatever_gaps_it_gets(
    gaps: tuple[Gap, ...],
) -> None:
    assert Run().with_gaps(*gaps).checked == "no"
    assert Run().unchecked("Lit.", "not read").with_gaps(*gaps).checked == "no"


@pytest.mark.parametrize("run_id", ["é" * 200, "\U0001f4a1" * 200, '"' * 200])
def test_a_verdict_with_any_run_id_is_short(run_id: str) -> None:
    verdict = Run(run_id=run_id).unchecked("Lit.", "not read").verdict()

    assert len(json.dumps(verdict).encode()) <= 600
    assert verdict["run_id"]


def test_half_a_character_becomes_its_replacement_wherever_it_comes_from() -> None:
    half, whole = "lit \ud83d", "lit \ufffd"
    document = Document(number=1, text=half, title=half, url=half, metadata={half: half})
    label = EvidenceLabel(claim=1, document=1, label=Label.UNLABELLED, error=half, reasoning=half)
    run = Run(question=half, options=(half, half), documents=(document,), notes=(half,))

    assert document.metadata == {whole: whole}
    assert (label.error, label.reasoning) == (whole, whole)
    assert run.options == (whole, whole)
    assert run.documents == (document,)
    assert "\ufffd" in run.unchecked(half, half).model_dump_json()


@given(_RECORDS)
def test_every_record_can_be_written_in_utf_8(record: BaseModel) -> None:
    written = json.dumps(record.model_dump(mode="json"), ensure_ascii=False)
    assert _HALF not in written.encode().decode()


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("unreadable reply from judge: it was empty", FailureKind.UNREADABLE),
        ("left out: the time for labelling was used up", FailureKind.LEFT_OUT),
        ("judge failed with HTTP 500", FailureKind.FAILED),
    ],
)
def test_a_failure_stored_without_a_kind_gets_the_one_that_its_version_meant(
    error: str, kind: FailureKind
) -> None:
    stored = {"claim": 1, "document": 1, "label": "UNLABELLED", "error": error}
    label = EvidenceLabel.model_validate(stored)
    assert label.failure is kind
    assert EvidenceLabel.model_validate(label.to_json()) == label


def test_the_kind_of_a_failure_is_kept_whatever_its_wording() -> None:
    late = EvidenceLabel(
        claim=1,
        document=1,
        label=Label.UNLABELLED,
        error="unreadable reply from judge: it was empty",
        failure=FailureKind.TIMED_OUT,
    )
    assert EvidenceLabel.model_validate(late.to_json()).failure is FailureKind.TIMED_OUT


def test_a_label_that_is_there_has_no_failure() -> None:
    with pytest.raises(ValidationError, match="UNLABELLED"):
        EvidenceLabel(claim=1, document=1, label=Label.SUPPORTS, failure=FailureKind.FAILED)
    assert EvidenceLabel(claim=1, document=1, label=Label.SUPPORTS).failure is None
