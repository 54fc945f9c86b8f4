"""Pairs on which an NLI model is confidently wrong are found, doubted and sent to the judge."""

import pytest

from conflictscore.labelers.cascade import Cascade
from conflictscore.labelers.json_judge import JsonJudge
from conflictscore.labelers.nli.labeler import NliLabeler
from conflictscore.labelers.nli.pitfalls import explained, number_replaced, pitfall
from conflictscore.labelers.table import label_table
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Label
from tests.fakes.openai_server import OpenAIServer
from tests.labelers.judging import PROMPTS, Cheap, claim, document
from tests.models.calling import calling
from tests.world import World

TRAPS = [
    # order
    ("The dog bit the postman.", "The postman bit the dog."),
    ("Bayern schlug Dortmund im Finale.", "Dortmund schlug Bayern im Finale."),
    ("Karl was beaten by Otto.", "Otto was beaten by Karl in the final."),
    # question
    ("Die Brücke wurde 1932 eröffnet.", "Wurde die Brücke 1932 eröffnet?"),
    ("Le pont a ouvert en 1932.", "Le pont a-t-il ouvert en 1932 ?"),
    ("The drug cures malaria.", "It is unclear whether the drug cures malaria."),
    # condition
    ("Le pont a ouvert en 1932.", "Si le pont avait ouvert en 1932, la ville aurait grandi."),
    ("The fee is 20 euros.", "The fee is 20 euros only if you book late."),
    # plan
    ("Die Brücke wurde 1932 eröffnet.", "Die Brücke sollte 1932 eröffnet werden."),
    ("Le pont a ouvert en 1932.", "L'ouverture du pont était prévue pour 1932."),
    ("El puente se abrió en 1932.", "Estaba previsto abrir el puente en 1932."),
    # attribution
    ("The mayor took bribes.", "An anonymous blog accused the mayor of taking bribes."),
    ("Le maire a démissionné.", "Selon une rumeur, le maire a démissionné."),
    ("The earth is flat.", "Some people used to believe that the earth is flat."),
    # unit
    ("The bag weighs 2 kilograms.", "The bag weighs 2,000 grams."),
    ("The city has 1.2 million people.", "The city has 1,200,000 people."),
    ("Half of the voters, 50 %, stayed home.", "5 in 10 voters stayed home."),
    ("The lake is 10 km long.", "The lake is 6.2 miles long."),
    # range
    ("Die Stadt hat 5.200 Einwohner.", "Die Stadt hat zwischen 5.000 und 6.000 Einwohner."),
    ("The trip costs 45 euros.", "The trip costs 40–50 euros."),
    ("More than 300 people came.", "412 people came."),
    # until
    ("Anna ist Bürgermeisterin von Vik.", "Anna war bis 1999 Bürgermeisterin von Vik."),
    ("Paul est maire de Lyon.", "Paul a été maire de Lyon jusqu'en 1999."),
    ("The shop sells bread.", "The shop no longer sells bread."),
    # double
    ("The door is locked.", "It is false that the door is not locked."),
    ("Die Brücke ist offen.", "Es stimmt nicht, dass die Brücke geschlossen ist."),
    ("The vaccine is safe.", "No study has failed to find the vaccine safe."),
    # table
    ("Lund has 900 people.", "Town\tPeople\nVik\t900\nLund\t450"),
    ("Anna won silver.", "Name, Medal\nBo, silver\nAnna, bronze\nCai, gold"),
    ("Anna won silver.", "Medals: Anna — gold; Bo — silver; Cai — bronze."),
    # entity
    ("The Vik museum was founded in 1901.", "The Lund museum was founded in 1901."),
    ("Das Museum von Vik wurde 1901 gegründet.", "Das Museum von Lund wurde 1901 gegründet."),
    ("Otto Berg built the tower.", "Karl Berg built the tower."),
]
PLAIN = [
    ("The bridge opened in 1932.", "The bridge opened in 1932 after two years of work."),
    ("The bridge opened in 1932.", "The bridge opened in 1940."),
    ("The tower is 100 metres tall.", "The tower is 90 metres tall."),
    ("The tower is 100 metres tall.", "The tower is 100 m tall."),
    ("Der Vortrag dauert 2 Stunden.", "Der Vortrag dauert 2 h."),
    ("Anna is the mayor of Vik.", "The mayor of Vik is Anna Berg."),
    ("Vitamin C does not prevent colds.", "A trial found that vitamin C does not prevent colds."),
    ("Otto beat Karl in the final.", "In the final of 1990, Otto beat Karl."),
    ("The bridge will open in 2030.", "By the schedule, the bridge will open in 2030."),
    ("Otto beat Karl.", "Karl was beaten by Otto."),
    ("Is it open?", "Is it open?"),
]


@pytest.mark.parametrize(("of", "text"), TRAPS)
def test_a_trap_makes_a_side_doubtful_and_irrelevance_never(of: str, text: str) -> None:
    trap = pitfall(of, text, Label.SUPPORTS)
    assert trap
    assert explained(trap).startswith("doubtful: ")
    assert pitfall(of, text, Label.IRRELEVANT) is None


@pytest.mark.parametrize(("of", "text"), PLAIN)
def test_plain_evidence_is_not_doubted(of: str, text: str) -> None:
    assert pitfall(of, text, Label.SUPPORTS) is None
    assert pitfall(of, text, Label.CONTRADICTS) is None


def test_a_name_alone_may_contradict_and_with_another_number_it_is_another_thing() -> None:
    born = "Ada was born in Lund."
    assert pitfall(born, "Ada was born in Vik.", Label.CONTRADICTS) is None
    other = "The Lund bridge opened in 1940."
    assert pitfall("The Vik bridge opened in 1932.", other, Label.CONTRADICTS) == "another name"


def test_only_the_sentences_nearest_to_the_claim_are_looked_at() -> None:
    text = "Who built it? If only we knew. The great bridge of Vik opened in 1932."
    assert pitfall("The great bridge of Vik opened in 1932.", text, Label.SUPPORTS) is None


async def test_the_bundled_model_is_at_most_half_sure_of_a_trap_and_says_why() -> None:
    nli = NliLabeler.open()
    for of, text in TRAPS[::9]:
        verdict = await nli.label(claim(of), document(text), UsageMeter())
        assert verdict.score is not None
        assert verdict.score <= 0.5
        assert (verdict.reasoning or "doubtful").startswith("doubtful")


async def test_a_cascade_has_the_judge_decide_a_trap() -> None:
    world = World()
    with OpenAIServer(world) as server:
        cascade = Cascade(NliLabeler.open(), JsonJudge(calling(server), PROMPTS))
        told = document("Did the bridge open in 1932?")
        [row] = await label_table(
            cascade, [claim("The bridge opened in 1932.")], [told], meter=UsageMeter()
        )
    assert world.asked["label"] == 1
    assert row.labels[0].stage == "json(test-model)"


@pytest.mark.parametrize(
    ("of", "text", "number"),
    [
        ("It was lit in 1871.", "The keeper lit it in 1874, after a year.", "1871"),
        ("Born on 12 May 1932.", "Born on 14 May 1932.", "12"),
        ("Geboren am 12. Mai 1932.", "Geboren am 14. Mai 1932.", "12"),
        ("The town has 5,200 people.", "A town of 4,900 people.", "5200"),
        ("It costs 45 euros.", "It costs 1.200,50 euros.", "45"),
        ("It was lit in 1871.", "It was lit in 1871 and rebuilt in 1874.", None),
        ("It was lit in 1871.", "It was lit long ago.", None),
        ("It has twelve rooms and 12 doors.", "It has a dozen doors and 14 rooms.", None),
        ("The tower is 100 metres tall.", "The tower is 0.1 kilometres tall.", None),
        ("About 100 people came.", "97 people came.", None),
        ("It was built in the 1930s.", "It was built in 1934.", None),
        ("The town has 5 200 people.", "It has 5,200 people; in 1900 it had 4,100 people.", None),
    ],
)
def test_a_number_is_replaced_where_the_document_has_another_in_its_place(
    of: str, text: str, number: str | None
) -> None:
    assert number_replaced(of, text) == number


@pytest.mark.parametrize(
    ("judged", "of", "text", "stage"),
    [
        (Label.SUPPORTS, "It was lit in 1871.", "It was lit in 1874.", "cheap"),
        (Label.SUPPORTS, "Born on 12 May 1932.", "Born on 14 May 1932.", "cheap"),
        (Label.SUPPORTS, "The town has 5,200 people.", "A town of 4,900 people.", "cheap"),
        (Label.SUPPORTS, "It was lit in 1871.", "It was lit in 1871.", "judge"),
        (Label.SUPPORTS, "It was lit in 1871.", "It was lit.", "judge"),
        (Label.IRRELEVANT, "It was lit in 1871.", "It was lit in 1874.", "judge"),
    ],
)
async def test_a_judge_is_not_believed_to_find_support_in_another_year_day_or_number(
    judged: Label, of: str, text: str, stage: str
) -> None:
    judge = Cheap((judged, 1.0))
    judge.name = "judge"
    cascade = Cascade(Cheap((Label.CONTRADICTS, 0.5)), judge)
    pair = (claim(of), document(text))
    alone = await cascade.label(*pair, UsageMeter())
    [row] = await label_table(cascade, [pair[0]], [pair[1]], meter=UsageMeter())
    assert alone.stage == row.labels[0].stage == stage
