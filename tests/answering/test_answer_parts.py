"""The parts of an answer that a page marks: disputed, changed, supported, or not a claim."""

from conflictscore.answering.answer_parts import Standing, answer_parts, with_marks
from conflictscore.markup import rendered_markdown
from conflictscore.records import (
    Answer,
    Attempt,
    Change,
    Claim,
    ClaimEvidence,
    ConflictReport,
    EvidenceLabel,
    Examined,
    Gap,
    GapKind,
    Label,
    RevisionAction,
    Run,
)

S, C, N = Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT


def evidence(answer: str, number: int, text: str, *labels: Label) -> ClaimEvidence:
    start = answer.index(text)
    claim = Claim(number=number, text=text, passage=(start, start + len(text)))
    pairs = [
        EvidenceLabel(claim=number, document=document, label=label)
        for document, label in enumerate(labels, 1)
    ]
    return ClaimEvidence(claim=claim, labels=tuple(pairs))


def report_of(*claims: ClaimEvidence) -> ConflictReport:
    return ConflictReport(claims=claims, cs_c=0.0, cs_r=0.0, coverage=1.0)


def run_of(answer: str, *claims: ClaimEvidence, **fields: object) -> Run:
    attempt = Attempt(round=0, answer=Answer(text=answer), report=report_of(*claims))
    texts = {"answer": answer, "first_answer": answer}
    return Run.model_validate({**texts, "attempts": (attempt,), **fields})


def standings(run: Run) -> list[str]:
    return [part.standing.value for part in answer_parts(run)]


ANSWER = (
    "# Hello\n\nThe lamp was lit in 1871. It cost 50 francs. The sea is wet. **It has 148 steps.**"
)


def test_each_sentence_has_the_standing_of_its_claims() -> None:
    run = run_of(
        ANSWER,
        evidence(ANSWER, 1, "The lamp was lit in 1871.", S, C),
        evidence(ANSWER, 2, "It cost 50 francs.", S, N),
        evidence(ANSWER, 3, "The sea is wet.", N, N),
        examined=Examined(
            gaps=(
                Gap(
                    kind=GapKind.UNCLAIMED,
                    note="“148” stands in no claim",
                    passage=(ANSWER.index("**It"), len(ANSWER)),
                ),
            )
        ),
    )

    assert standings(run) == ["disputed", "supported", "uncovered", "unclaimed"]


def test_a_changed_passage_is_marked_and_a_hedge_is_called_one() -> None:
    before = "It is old. The lamp was lit in 1871. It is white."
    for action, after, standing in (
        (RevisionAction.REPLACE, "The lamp was lit in 1874.", Standing.CHANGED),
        (RevisionAction.HEDGE, "Sources disagree: 1871 or 1874.", Standing.HEDGED),
    ):
        answer = before.replace("The lamp was lit in 1871.", after)
        change = Change(
            round=1,
            start=before.index("The lamp"),
            end=before.index(" It is white."),
            before="The lamp was lit in 1871.",
            after=after,
            action=action,
        )
        claims = (
            evidence(answer, 1, after, S, S),
            evidence(answer, 2, "It is white.", S, N),
        )
        run = run_of(before, evidence(before, 1, "It is white.", S, N))
        last = Attempt(round=1, answer=Answer(text=answer), report=report_of(*claims))
        update = {"answer": answer, "attempts": (*run.attempts, last), "changes": (change,)}
        run = run.model_copy(update=update)

        assert standings(run) == [standing.value, "supported"]


def test_marks_leave_markdown_as_it_renders_without_them() -> None:
    answer = (
        "**Bold.** Plain *slanted.*\n\n- one item;\n- `code` here.\n\n| a | b |\n|---|---|\n"
        "| c | d |\n\n"
        "```sh\nls -l\n```\n\n> Quoted."
    )
    texts = ["**Bold.**", "Plain *slanted.*", "one item;", "`code` here.", "| c | d |", "Quoted."]
    run = run_of(answer, *(evidence(answer, n, t, S, S) for n, t in enumerate(texts, 1)))

    marked = with_marks(answer, answer_parts(run))

    assert marked is not None
    assert marked.count("\u2e28") == marked.count("\u2e29") == len(texts)
    plain = rendered_markdown(marked).replace("\u2e28", "").replace("\u2e29", "")
    assert plain.replace(" </td>", "</td>").replace("<td> ", "<td>") == rendered_markdown(answer)


def test_an_answer_that_has_such_marks_itself_gets_none() -> None:
    answer = "The lamp \u2e28lit\u2e29 in 1871."

    assert with_marks(answer, answer_parts(run_of(answer, evidence(answer, 1, answer, S)))) is None
