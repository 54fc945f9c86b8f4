"""Where a passage repeats a claim word for word, code tells what the one difference means."""

import pytest

from conflictscore.labelers.nli.by_claim import NliByClaim
from conflictscore.labelers.nli.labeler import NliLabeler
from conflictscore.labelers.nli.overruling import overruling
from conflictscore.labelers.table import label_table
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Label
from tests.labelers.judging import claim, document

SUPPORTS, CONTRADICTS, IRRELEVANT = Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT
DOSE = "Adults take 50 g of Zarafen a day."
LEAFLET = "Dosage. Adults take 50 mg of Zarafen a day. Children take half of it."


def decided(of: str, text: str, label: Label, passage: str = "") -> Label | None:
    change = overruling(of, passage or text, document(text), label)
    return change and change.label


@pytest.mark.parametrize(
    ("of", "text"),
    [
        (DOSE, LEAFLET),
        ("The oven is heated to 180 °F.", "The oven is heated to 180 degrees Celsius."),
        ("Notice is given three days before.", "Notice is given three months before."),
        ("The fund manages 75 billion euros.", "The fund manages 75 million euros for all."),
        ("The account balance was €310.", "In March, the account balance was -€310."),
        ("It orbits at 540 m above the Earth.", "It orbits at 540 km above the Earth."),
        ("The fine is 200 dollars.", "The fine is 200 euros."),
        ("The strike begins on 9 May.", "The strike begins on 19 May, at noon."),
        ("The choir has fifteen members.", "The choir has fifty members."),
        ("Die Brücke ist 412 km lang.", "Die Brücke ist 412 m lang und sehr alt."),
        ("Le colis pèse 3 g.", "Le colis pèse 3 kg."),
    ],
)
def test_the_same_statement_with_another_quantity_contradicts(of: str, text: str) -> None:
    assert decided(of, text, SUPPORTS) is CONTRADICTS
    assert decided(of, text, CONTRADICTS) is CONTRADICTS


@pytest.mark.parametrize(
    ("of", "text"),
    [
        ("The path is 1.2 km long.", "The path is 1,200 m long. Bring boots."),
        ("The archive holds 1.2 million letters.", "The archive holds 1,200,000 letters."),
        ("The whale is about 60 feet long.", "The whale is 18.3 metres long."),
        ("The course takes 21 days.", "The course takes three weeks."),
        ("The herd counts forty-two goats.", "The herd counts 42 goats."),
        ("Die Kapelle hat 5 Fenster.", "Die Kapelle hat fünf Fenster."),
        ("The treaty was signed on 3 February.", "The treaty was signed on Feb 3."),
        ("The stadium seats 12.400 people.", "The stadium seats 12,400 people."),
        ("Der Stab ist 1,45 m lang.", "Der Stab ist 145 cm lang."),
    ],
)
def test_the_same_statement_with_its_quantity_written_differently_supports(
    of: str, text: str
) -> None:
    assert decided(of, text, CONTRADICTS) is SUPPORTS
    assert decided(of, text, SUPPORTS) is None


@pytest.mark.parametrize(
    ("of", "text"),
    [
        ("Der Lift fährt bei Wind.", "Der Lift fährt nicht bei Wind."),
        ("Le musée est ouvert le lundi.", "Le musée n'est pas ouvert le lundi."),
        ("La piscina abre los domingos.", "La piscina no abre los domingos."),
        ("Zarafen may be taken with milk.", "Zarafen may not be taken with milk."),
        ("O farol abriu em maio.", "O farol não abriu em maio."),
        ("Der Lift fährt bei Wind.", "Der Lift fährt bei Wind nicht. Das stimmt."),
    ],
)
def test_the_same_statement_denied_contradicts_in_any_language(of: str, text: str) -> None:
    assert decided(of, text, SUPPORTS) is CONTRADICTS


@pytest.mark.parametrize(
    ("of", "text"),
    [
        ("Dal beat Vik.", "Vik beat Dal in the final."),
        ("The nurse called the doctor.", "The doctor called the nurse at midnight."),
        ("Protein A activates protein B.", "Protein B activates protein A."),
        ("The bus goes from Arden to Brunn.", "The bus goes from Brunn to Arden."),
        ("Holm is larger than Kell.", "Kell is larger than Holm."),
        ("The offer is valid until 1 June.", "The offer is valid from 1 June."),
        ("Take the tablets before meals.", "Take the tablets after meals."),
        ("Das Tal liegt unter der Burg.", "Das Tal liegt über der Burg."),
        ("Le musée ferme avant midi.", "Le musée ferme après midi."),
    ],
)
def test_other_roles_and_directions_support_nothing(of: str, text: str) -> None:
    assert decided(of, text, SUPPORTS) is IRRELEVANT


@pytest.mark.parametrize(
    ("of", "text"),
    [
        # the same roles
        ("Dal beat Vik.", "In the final, Dal beat Vik."),
        ("Dal was beaten by Vik.", "Vik beat Dal."),
        ("The capital of Norr is Elmby.", "Elmby is the capital of Norr."),
        ("Ada Lowe married Tom Reyes.", "Tom Reyes married Ada Lowe."),
        ("They sell apples and pears.", "They sell pears and apples."),
        ("Anna schrieb den Brief.", "Den Brief schrieb Anna."),
        ("Ada is a cousin of Tom.", "Tom is a cousin of Ada."),
        ("Vik drew with Dal.", "Dal drew with Vik."),
        ("The distance from Vik to Dal is short.", "The distance from Dal to Vik is short."),
        ("The talk is on Monday in Hall B.", "The talk is in Hall B on Monday."),
        # a bound, which another quantity may meet
        ("The estate covers more than 20 acres.", "The estate covers more than 25 acres."),
        ("About 300 people came.", "About 310 people came."),
        # another time or thing as well
        ("Osk had 3,200 people in 2011.", "Osk had 2,900 people in 2021."),
        # asked, or planned
        ("The lift runs in wind.", "The lift does not run in wind?"),
        ("The tank holds 12 barrels.", "The tank holds 14 barrels, if it is new."),
        # other words
        ("The tower is 30 m tall.", "The bridge is 30 km long."),
        ("The tower is tall.", "Nobody knows it."),
        # only what follows is denied
        ("The museum is open on Sundays.", "The museum is open on Sundays, but not on Mondays."),
        ("The museum is open on Sundays.", "The museum is open on Sundays with no fee."),
        ("Der Laden hat samstags auf.", "Der Laden hat samstags auf, nicht sonntags."),
        ("Le musée ouvre le lundi.", "Le musée ouvre le lundi sans exception."),
        # a number in a name names another thing
        ("Flight AB 123 landed safely.", "Flight AB 124 landed safely."),
        ("El tren usa la línea 5.", "El tren usa la línea 6."),
        ("Le train part du numéro 5.", "Le train part du numéro 6."),
        ("Apollo 11 carried three men.", "Apollo 12 carried three men."),
        ("In section 5 the tax is set.", "In section 6 the tax is set."),
        # the amount goes on
        ("Adults take 50 mg.", "Adults take 5 g per kg."),
        ("", ""),
    ],
)
def test_in_doubt_the_model_decides(of: str, text: str) -> None:
    assert decided(of, text or "-", SUPPORTS) is None


@pytest.mark.parametrize(
    ("of", "text"),
    [
        ("Inflation rose by 2 percent.", "Inflation rose by 2 percentage points."),
        ("The dose is 5 g.", "The dose is 5,000 mg per kg."),
        ("Version 2.1 has a search.", "Version 2.10 has a search."),
    ],
)
def test_an_amount_that_goes_on_or_numbers_a_version_is_not_the_same_written_differently(
    of: str, text: str
) -> None:
    assert decided(of, text, CONTRADICTS) is None


def test_the_same_number_with_another_unit_does_not_support_in_other_words() -> None:
    assert decided("The crane lifts 8 kg.", "The crane on pier 4 lifts 8 tonnes.", SUPPORTS) is (
        IRRELEVANT
    )


def test_a_quantity_that_the_document_states_elsewhere_is_no_other_quantity() -> None:
    leaflet = f"{LEAFLET} Before 2020 the dose was 50 g."

    assert decided(DOSE, leaflet, SUPPORTS, passage=LEAFLET) is None


def test_irrelevance_is_never_overruled() -> None:
    assert decided(DOSE, LEAFLET, IRRELEVANT) is None


async def test_the_bundled_model_no_longer_supports_another_unit_and_says_why() -> None:
    nli = NliLabeler.open()
    for labeler in (nli, NliByClaim(nli)):
        verdict = await labeler.label(claim(DOSE), document(LEAFLET), UsageMeter())
        right = await labeler.label(
            claim("Adults take 50 mg of Zarafen a day."), document(LEAFLET), UsageMeter()
        )

        assert (verdict.label, right.label) == (CONTRADICTS, SUPPORTS)
        assert verdict.score is not None
        assert verdict.score <= 0.5  # so that a cascade asks its judge
        assert "a different quantity" in (verdict.reasoning or "")


async def test_documents_with_the_same_other_quantity_do_not_disagree() -> None:
    notes = ("Zarafen leaflet: adults take 50 mg of Zarafen a day, with water.", "b")
    documents = [document(LEAFLET), document(notes[0], title=notes[1], number=2)]
    labeler = NliByClaim(NliLabeler.open())

    [row] = await label_table(labeler, [claim(DOSE)], documents, meter=UsageMeter())

    assert [verdict.label for verdict in row.labels] == [CONTRADICTS, CONTRADICTS]


async def test_a_denial_gets_the_opposite_of_what_the_rule_says_of_its_statement() -> None:
    denial = claim(f"It is not true that “{DOSE[:-1]}”.")

    verdict = await NliLabeler.open().label(denial, document(LEAFLET), UsageMeter())

    assert verdict.label is SUPPORTS
