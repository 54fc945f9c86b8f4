"""What is judged again after a screen of many pairs, and what each verdict says of itself."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from conflictscore.errors import BudgetError
from conflictscore.graph.create import run_context
from conflictscore.graph.settings import LoopSettings
from conflictscore.labelers import Labeler, Screened, TableLabeler, label_table
from conflictscore.labelers.batch_judge import BatchJudge
from conflictscore.labelers.json_judge import JsonJudge
from conflictscore.labelers.screened import open_screened
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.ledger import Ledger, attach
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, EvidenceLabel, Label
from conflictscore.storage.cache import ContentCache
from tests.batches import batch_of, batch_reply
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply
from tests.labelers.judging import PROMPTS, claim, document
from tests.models.calling import calling
from tests.world import World, scripted_model

LETTERS = {"S": "SUPPORTS", "C": "CONTRADICTS", "I": "IRRELEVANT"}
SCREEN, JUDGE = "screen(test-model)", "json(test-model)"


class Screen(World):
    """Screens a claim's documents as it is told to, and judges single pairs by their years."""

    def __init__(self, *said: str) -> None:
        super().__init__()
        self.said = said

    def __call__(self, request: ChatRequest) -> Reply | str | Fault:
        prompt = str(request.messages[0]["content"])
        if "batch" in self.broken or '"verdicts", a list' not in prompt:
            return super().__call__(request)
        self.asked["batch"] += 1
        batch = batch_of(prompt)
        listed = []
        for its_id, text in batch.claims.items():
            said = self.said[int(text.rpartition(" ")[2]) - 1]
            lists: dict[str, list[int]] = {"supports": [], "contradicts": [], "irrelevant": []}
            for of, other in batch.pairs:
                place = int(batch.documents[other].split()[1]) - 1
                if of == its_id and said[place] in LETTERS:
                    lists[LETTERS[said[place]].lower()].append(int(other))
            listed.append({"claim": int(its_id), **lists})
        return batch_reply(listed)


def table(screened: Sequence[str], really: str) -> tuple[list[Claim], list[Document]]:
    """Claims of 1871, and documents that in truth bear on each of them as these letters say."""
    texts = {"S": "lit in 1871", "C": "lit in 1874", "I": "white"}
    documents = [document(f"Sheet {n} : {texts[r]}.", n) for n, r in enumerate(really, 1)]
    return [
        claim(f"It was lit in 1871, says {n}", n) for n in range(1, len(screened) + 1)
    ], documents


async def decided(screened: Sequence[str], really: str, most: int = 4) -> tuple[list[str], Screen]:
    """Each claim's labels as letters, large where the judge gave them; and what was asked."""
    world = Screen(*screened)
    claims, documents = table(screened, really)
    with OpenAIServer(world) as server:
        labeler = screened_by(calling(server), most)
        rows = await label_table(labeler, claims, documents, meter=UsageMeter())
    return ["".join(map(_letter, row.labels)) for row in rows], world


def screened_by(model: LanguageModel, most: int) -> Screened:
    return Screened(BatchJudge(model, PROMPTS, "screen"), JsonJudge(model, PROMPTS), most)


def _letter(pair: EvidenceLabel) -> str:
    assert pair.stage in (SCREEN, JUDGE)
    letter = "?" if pair.label is Label.UNLABELLED else pair.label.value[0]
    return letter if pair.stage == JUDGE else letter.lower()


@pytest.mark.parametrize(
    ("screened", "really", "found"),
    [
        ("SSII", "SSII", "ssii"),  # no verdict decides anything alone
        ("IIII", "CCCC", "iiii"),
        ("SIII", "SIII", "Siii"),
        ("SIII", "CIII", "Ciii"),
        ("CIII", "CIII", "Ciii"),
        ("CIII", "SIII", "Siii"),
        ("CSSI", "CSSI", "CSSi"),  # disputed: the sides are judged again
        ("CSSI", "ISSI", "Issi"),  # not disputed after all
        ("CSII", "ISII", "ISii"),
        ("CCSS", "ICSS", "ICSS"),
        ("SSSI", "CSSI", "sssi"),
    ],
)
async def test_what_would_change_a_decision_is_judged_again_on_its_own(
    screened: str, really: str, found: str
) -> None:
    labels, world = await decided([screened], really)
    assert labels == [found]
    assert world.asked["batch"] == 1
    assert world.asked["label"] == sum(letter.isupper() for letter in found)


@pytest.mark.parametrize(("most", "again"), [(0, 1), (1, 1), (3, 3), (9, 6)])
async def test_of_a_disputed_claim_so_many_pairs_are_judged_again_at_most(
    most: int, again: int
) -> None:
    labels, world = await decided(["CCCSSSI"], "CCCSSSI", most)
    assert labels == ["CCCSSS"[:again] + "cccsss"[again:] + "i"]
    assert world.asked["label"] == again


async def test_a_contradiction_is_looked_for_until_one_is_confirmed_or_none_is_left() -> None:
    assert (await decided(["CCCCCC"], "IIIIIC", 2))[0] == ["IIIIIC"]
    assert (await decided(["CCCCCC"], "IIIIII", 2))[0] == ["IIIIII"]


async def test_the_claims_are_screened_together_and_each_is_decided_by_its_own_verdicts() -> None:
    labels, world = await decided(["SSIC", "SSII", "IIIS"], "SSIC")
    assert labels == ["SSiC", "ssii", "iiiC"]
    assert (world.asked["batch"], world.asked["label"]) == (1, 4)


async def test_a_pair_that_the_screen_leaves_out_goes_to_the_judge() -> None:
    labels, world = await decided(["S.SI"], "SCSI")
    assert labels == ["SCSi"]
    assert world.asked["batch"] == 3  # the pair is asked about in smaller batches first


async def test_two_pairs_are_not_worth_a_screen() -> None:
    labels, world = await decided(["SC"], "SC")
    assert labels == ["SC"]
    assert (world.asked["batch"], world.asked["label"]) == (0, 2)


async def test_what_the_judge_cannot_label_is_unlabelled_whatever_the_screen_said() -> None:
    world = Screen("CSSI")
    world.broken["label"] = Fault(400, message="no such luck")
    claims, documents = table(["CSSI"], "CSSI")
    with OpenAIServer(world) as server:
        labeler = open_screened(calling(server), PROMPTS)
        [row] = await label_table(labeler, claims, documents, meter=UsageMeter())
    assert [pair.label.value[0] for pair in row.labels] == ["U", "S", "S", "I"]
    assert "no such luck" in str(row.labels[0].error)
    assert row.labels[0].stage == JUDGE


async def test_where_the_screen_fails_every_pair_is_judged_on_its_own() -> None:
    world = Screen("CSSI")
    world.broken["batch"] = Fault(400, message="too much of it")
    claims, documents = table(["CSSI"], "CSSI")
    with OpenAIServer(world) as server:
        labeler = open_screened(calling(server), PROMPTS)
        [row] = await label_table(labeler, claims, documents, meter=UsageMeter())
    assert "".join(map(_letter, row.labels)) == "CSSI"


async def test_where_the_budget_ends_what_is_known_is_kept_and_not_paid_for_again(
    tmp_path: Path,
) -> None:
    world, cache = Screen("CCSS"), ContentCache(tmp_path / "verdicts.sqlite")
    claims, documents = table(["CCSS"], "CCSS")
    with OpenAIServer(world) as server:
        model = attach(calling(server), Ledger(max_calls=2))
        with pytest.raises(BudgetError):
            await label_table(
                open_screened(model, PROMPTS), claims, documents, meter=UsageMeter(), cache=cache
            )
        paid = len(server.requests)
        labeler, meter = open_screened(calling(server), PROMPTS), UsageMeter()
        [row] = await label_table(labeler, claims, documents, meter=meter, cache=cache)
        assert len(server.requests) == paid + 1
    assert "".join(map(_letter, row.labels)) == "CCss"
    assert (world.asked["batch"], paid, meter.usage.calls) == (1, 2, 1)


async def test_what_json_said_before_costs_nothing_here_and_the_other_way_round(
    tmp_path: Path,
) -> None:
    world, cache = Screen("CSII"), ContentCache(tmp_path / "verdicts.sqlite")
    claims, documents = table(["CSII"], "CSII")
    with OpenAIServer(world) as server:
        judges: list[Labeler] = [
            JsonJudge(calling(server), PROMPTS),
            open_screened(calling(server), PROMPTS),
        ]
        for labeler in judges:
            rows = await label_table(labeler, claims, documents, meter=UsageMeter(), cache=cache)
        assert (world.asked["label"], world.asked["batch"]) == (4, 1)
    assert [pair.cached for pair in rows[0].labels] == [True, True, False, False]


async def test_a_run_takes_it_by_name_and_its_identity_is_that_of_both_stages() -> None:
    with OpenAIServer(World()) as server:
        settings = LoopSettings(labeler="screened", cache=False)
        labeler = run_context(scripted_model(server), None, settings).labeler
        assert labeler.name == "screened(screen(scripted), json(scripted))"
        assert isinstance(labeler, TableLabeler)
        one = open_screened(calling(server), PROMPTS)
        other = screened_by(calling(server), 9)
    identity = json.loads(json.dumps(dict(one.identity or {})))
    assert (identity["cheap"]["labeler"], identity["judge"]["labeler"]) == ("screen", "json")
    assert one.identity != other.identity
