"""Which stage decides a pair; the judge is asked only about hard pairs."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from conflictscore.errors import BudgetError, ConfigurationError
from conflictscore.graph.create import run_context
from conflictscore.labelers.batch_judge import BatchJudge
from conflictscore.labelers.cascade import Cascade, Thresholds
from conflictscore.labelers.choice_judge import ChoiceJudge
from conflictscore.labelers.json_judge import JsonJudge
from conflictscore.labelers.nli.labeler import NliLabeler
from conflictscore.labelers.table import label_table
from conflictscore.models.ledger import Ledger, attach
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, EvidenceLabel, Label
from conflictscore.storage.cache import ContentCache
from tests.fakes.openai_server import Fault, OpenAIServer
from tests.labelers.judging import PROMPTS, Cheap, claim, document
from tests.models.calling import calling
from tests.nli_model import make_nli_model
from tests.world import World, scripted_model

SUPPORTS, CONTRADICTS, IRRELEVANT = Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT
CLAIM = claim("It was lit in 1871.")
YEARS = [document(f"It was lit in {year}, book {n}.", n) for n, year in enumerate((1871, 1874), 1)]


async def decided(
    cheap: Cheap,
    documents: Sequence[Document] = YEARS,
    *,
    claims: Sequence[Claim] = (CLAIM,),
    certain: Thresholds | None = None,
    world: World | None = None,
) -> tuple[list[tuple[str | None, Label]], World]:
    """The stage and label of each pair, and the judge's world."""
    world = world or World()
    with OpenAIServer(world) as server:
        cascade = Cascade(cheap, JsonJudge(calling(server), PROMPTS), certain)
        rows = await label_table(cascade, claims, documents, meter=UsageMeter())
    return [(pair.stage, pair.label) for row in rows for pair in row.labels], world


JUDGE = "json(test-model)"


@pytest.mark.parametrize(
    ("said", "years", "certain", "stages"),
    [
        ([(SUPPORTS, 0.6), (CONTRADICTS, 0.59)], (1871, 1871), None, ["cheap", JUDGE]),
        ([(IRRELEVANT, 0.74), (IRRELEVANT, 0.75)], (1871, 1871), None, [JUDGE, "cheap"]),
        (
            [(SUPPORTS, 0.7), (SUPPORTS, 0.75), (IRRELEVANT, 0.75)],
            *((1871, 1871, 1871), Thresholds(supports=0.7, irrelevant=0.8)),
            ["cheap", "cheap", JUDGE],
        ),
        ([(SUPPORTS, None), (Label.UNLABELLED, None)], (1871, 1874), None, [JUDGE, JUDGE]),
        (
            [(SUPPORTS, 0.99), (CONTRADICTS, 0.99), (SUPPORTS, 0.99)],
            *((1871, 1874, 1871), None),
            ["cheap", JUDGE, "cheap"],
        ),
        ([(SUPPORTS, 0.99), (CONTRADICTS, 0.99)], (1871, 1874), None, [JUDGE, JUDGE]),
        ([(SUPPORTS, 0.99), (IRRELEVANT, 0.99)], (1871, 1874), None, ["cheap", "cheap"]),
        ([(SUPPORTS, 0.99), (IRRELEVANT, 0.5)], (1871, 1874), None, [JUDGE, JUDGE]),
    ],
    ids=[
        "a score below the bound",
        "a higher bound for irrelevance",
        "a bound for each label",
        "no score, and a failure",
        "a conflict that rests on one verdict",
        "one verdict on each side",
        "one side alone",
        "a conflict that the judge finds",
    ],
)
async def test_uncertain_pairs_and_pairs_that_alone_make_a_conflict_go_to_the_judge(
    said: list[tuple[Label, float | None]],
    years: tuple[int, ...],
    certain: Thresholds | None,
    stages: list[str],
) -> None:
    documents = [document(f"It was lit in {year}, book {n}.", n) for n, year in enumerate(years, 1)]
    found, world = await decided(Cheap(*said), documents, certain=certain)
    by_judge = [SUPPORTS if year == 1871 else CONTRADICTS for year in years]
    assert found == [
        (stage, label if stage == "cheap" else judged)
        for stage, (label, _), judged in zip(stages, said, by_judge, strict=True)
    ]
    assert world.asked["label"] == stages.count(JUDGE)


async def test_the_sides_of_one_claim_are_not_those_of_another() -> None:
    claims = [claim("It was lit in 1871.", 1), claim("It was lit in 1874.", 2)]

    class ByClaim(Cheap):
        async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
            label = SUPPORTS if claim.number == 1 else CONTRADICTS
            return EvidenceLabel(
                claim=claim.number, document=document.number, label=label, score=0.95
            )

    found, world = await decided(ByClaim(), claims=claims)
    assert [stage for stage, _ in found] == ["cheap"] * 4
    assert not world.asked


async def test_one_pair_alone_takes_the_stages_that_are_kept_with_the_verdict(
    cache: ContentCache,
) -> None:
    with OpenAIServer(World()) as server:
        cheap = Cheap((SUPPORTS, 0.5), (SUPPORTS, 0.95))
        cascade = Cascade(cheap, JsonJudge(calling(server), PROMPTS))
        for _ in "12":
            [row] = await label_table(cascade, [CLAIM], YEARS, meter=UsageMeter(), cache=cache)
        assert len(server.requests) == 1
        alone = [(await cascade.label(CLAIM, text, UsageMeter())).stage for text in YEARS]
    assert [pair.cached for pair in row.labels] == [True, True]
    assert [pair.stage for pair in row.labels] == alone == [JUDGE, "cheap"]


async def test_an_nli_model_and_a_judge_of_many_pairs_work_together(tmp_path: Path) -> None:
    nli = NliLabeler.open(make_nli_model(tmp_path / "small-nli"))
    claims = [claim("The lamp was lit in 1871.", 1), claim("The great lamp was built white.", 2)]
    documents = [
        document("The lamp was lit in 1871.", 1),
        document("The lamp was lit in 1874.", 2),
        document("Bananas ripen faster.", 3),
        document("Ledger: the lamp was lit in 1871.", 4),
    ]
    world = World()
    with OpenAIServer(world) as server:
        cascade = Cascade(nli, BatchJudge(calling(server), PROMPTS), Thresholds(0.8, 0.8, 1.0))
        rows = await label_table(cascade, claims, documents, meter=UsageMeter())
    stages = [[pair.stage for pair in row.labels] for row in rows]
    assert stages[0][0] == "nli(small-nli)"
    assert {pair.label for pair in rows[0].labels[:1]} == {SUPPORTS}
    assert world.asked["batch"] <= len(documents)
    assert all(pair.label is not Label.UNLABELLED for row in rows for pair in row.labels)


async def test_a_cascade_without_a_judge_takes_that_of_the_run_it_is_given_to() -> None:
    cheap = Cheap((SUPPORTS, 0.5))
    with OpenAIServer(World()) as server:
        model, alone = scripted_model(server), Cascade(cheap, thresholds=Thresholds(0.4))
        whole = Cascade(cheap, ChoiceJudge(calling(server), PROMPTS))
        context, given = (run_context(model, labeler=one, cache=False) for one in (alone, whole))
    assert context.labeler.name == "cascade(cheap, json(scripted))"
    assert given.labeler.name == "cascade(cheap, choice(test-model))"
    verdict = await context.labeler.label(CLAIM, YEARS[0], UsageMeter())
    assert verdict.stage == "cheap"


async def test_a_cascade_without_a_judge_alone_says_where_to_get_one() -> None:
    said = (
        r"^cascade\(cheap, the judge of the run\) has no judge;"
        r" pass one, or use the labeler in a run$"
    )
    with pytest.raises(ConfigurationError, match=said):
        await Cascade(Cheap((SUPPORTS, 0.1))).label(CLAIM, YEARS[0], UsageMeter())


TWO_TO_ONE = [*YEARS, document("It was lit in 1871, book 3.", 3)]
"""Labels of which only the second disagrees."""


def sure_of(*labels: Label) -> Cheap:
    return Cheap(*((label, 0.99) for label in labels))


async def test_a_pair_that_the_judge_failed_at_goes_to_it_again_and_not_to_the_cheap_labeler(
    cache: ContentCache,
) -> None:
    world = World(broken={"label": Fault(400, message="no such luck")})
    found = []
    with OpenAIServer(world) as server:
        judge = JsonJudge(calling(server), PROMPTS)
        cascade = Cascade(sure_of(SUPPORTS, CONTRADICTS, SUPPORTS), judge)
        for broken in (world.broken, {}):
            world.broken = broken
            [row] = await label_table(cascade, [CLAIM], TWO_TO_ONE, meter=UsageMeter(), cache=cache)
            found.append([(pair.stage, pair.label) for pair in row.labels])
    assert [label for _, label in found[0]] == [SUPPORTS, Label.UNLABELLED, SUPPORTS]
    assert [stage for stage, _ in found[1]] == ["cheap", "json(test-model)", "cheap"]


async def test_a_verdict_kept_from_fewer_documents_does_not_hide_a_conflict_with_a_new_one(
    cache: ContentCache,
) -> None:
    cheap, world = sure_of(SUPPORTS, CONTRADICTS), World()
    with OpenAIServer(world) as server:
        cascade = Cascade(cheap, JsonJudge(calling(server), PROMPTS))
        for documents in (YEARS[:1], YEARS):
            [row] = await label_table(cascade, [CLAIM], documents, meter=UsageMeter(), cache=cache)
    assert [pair.stage for pair in row.labels] == ["json(test-model)"] * 2
    assert cheap.asked == 2


async def test_what_the_judge_said_before_is_its_verdict_in_a_cascade_too(
    cache: ContentCache,
) -> None:
    world = World()
    with OpenAIServer(world) as server:
        judge = JsonJudge(calling(server), PROMPTS)
        for labeler in (judge, Cascade(Cheap((SUPPORTS, 0.5), (SUPPORTS, 0.5)), judge)):
            [row] = await label_table(labeler, [CLAIM], YEARS, meter=UsageMeter(), cache=cache)
    assert [(pair.stage, pair.cached) for pair in row.labels] == [(judge.name, True)] * 2
    assert world.asked["label"] == 2


async def test_where_every_score_counts_the_judge_gets_what_the_cheap_labeler_cannot_read() -> None:
    cheap = Cheap((SUPPORTS, 0.4), (CONTRADICTS, 0.4))
    found, world = await decided(cheap, certain=Thresholds.from_score(0))
    assert found == [("cheap", SUPPORTS), ("cheap", CONTRADICTS)]
    assert not world.asked
    cheap.scripts = frozenset({"LATIN"})
    lit = claim("灯塔在一八七一年点亮。")
    found, _ = await decided(cheap, claims=[lit], certain=Thresholds.from_score(0))
    assert {stage for stage, _ in found} == {"json(test-model)"}


async def test_when_the_budget_ends_verdicts_that_need_no_judge_are_reported() -> None:
    told: list[EvidenceLabel] = []
    with OpenAIServer(World()) as server:
        model = attach(calling(server), Ledger(max_calls=1))
        cascade = Cascade(sure_of(SUPPORTS, CONTRADICTS, SUPPORTS), JsonJudge(model, PROMPTS))
        with pytest.raises(BudgetError):
            await label_table(
                cascade,
                [CLAIM, claim("It was lit in 1871, they say.", 2)],
                TWO_TO_ONE,
                meter=UsageMeter(),
                on_label=told.append,
            )
    assert Counter(verdict.stage for verdict in told) == {"cheap": 4, "json(test-model)": 1}


async def test_of_a_cascade_within_a_cascade_the_stage_that_decided_is_named() -> None:
    with OpenAIServer(World()) as server:
        inner = Cascade(Cheap((SUPPORTS, 0.95)), JsonJudge(calling(server), PROMPTS))
        [row] = await label_table(
            Cascade(Cheap((SUPPORTS, 0.5)), inner), [CLAIM], YEARS[:1], meter=UsageMeter()
        )
    assert row.labels[0].stage == "cheap"
