"""Documents that say from which value to which one something changed."""

import pytest

from conflictscore.labelers.nli.changed_values import side_of_change
from conflictscore.labelers.nli.overruling import overruling
from conflictscore.records import Label
from tests.labelers.judging import document


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (
            "Fathers get 10 days of paid leave.",
            "Fathers get 20 days of paid leave.",
            "From 1 April 2025, paid leave for fathers goes up from 10 to 20 working days.",
        ),
        (
            "A day ticket costs 4.20 francs.",
            "A day ticket costs 4.60 francs.",
            "The price of a day ticket was raised from 4.20 to 4.60 francs last week.",
        ),
        (
            "The speed limit in Mill Lane is 50 km/h.",
            "The speed limit in Mill Lane is 30 km/h.",
            "In Mill Lane the limit has been lowered from 50 km/h to 30 km/h.",
        ),
        (
            "The team has seven members.",
            "The team has nine members.",
            "With Ada and Noor, the team has grown from seven to nine.",
        ),
        (
            "The warranty lasts 24 months.",
            "The warranty lasts 36 months.",
            "Good news: we have extended the warranty of all pumps from 24 to 36 months.",
        ),
        (
            "Die Gebühr beträgt 12 Euro.",
            "Die Gebühr beträgt 15 Euro.",
            "Die Gebühr wurde zum Jahreswechsel von 12 auf 15 Euro angehoben.",
        ),
        (
            "L'abonnement coûte 30 euros.",
            "L'abonnement coûte 35 euros.",
            "Le prix de l'abonnement passe de 30 à 35 euros.",
        ),
        (
            "La cuota es de 40 euros.",
            "La cuota es de 45 euros.",
            "La cuota subió de 40 a 45 euros.",
        ),
        (
            "De contributie is 80 euro.",
            "De contributie is 95 euro.",
            "De contributie gaat van 80 naar 95 euro.",
        ),
    ],
)
def test_a_changed_value_contradicts_the_old_and_supports_the_new(
    old: str, new: str, text: str
) -> None:
    assert side_of_change(old, text) is Label.CONTRADICTS
    assert side_of_change(new, text) is Label.SUPPORTS


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("The shop is open 8 hours.", "The shop is open from 8 to 12 on Saturdays."),
        ("The course is for 10 people.", "Groups of from 10 to 20 people are welcome."),
        ("The hall has 300 seats.", "The hall's rent was raised from 200 to 250 euros."),
        ("In 2019, the fee was 10 euros.", "The fee was raised from 10 to 12 euros in 2021."),
        ("The fee is more than 10 euros.", "The fee was raised from 10 to 12 euros."),
        ("The fee is about 10 euros.", "The fee was raised from 10 to 12 euros."),
        ("The fee is 10 euros.", "The board may raise the fee from 10 to 12 euros."),
        ("The fee is 10 euros.", "Will the fee be raised from 10 to 12 euros?"),
        ("The firm moved in 1990.", "The firm grew from 1990 to 2005."),
        ("The park has 10 ponds.", "Fell trees from 10 to 20 cm thick lay near the ponds."),
        ("Der Laden hat 8 Stunden offen.", "Der Laden hat von 8 bis 12 Uhr offen."),
        ("The path is nice.", "The path was extended from 10 to 12 km."),
    ],
)
def test_ranges_plans_dates_and_other_values_are_no_changes(claim: str, text: str) -> None:
    assert side_of_change(claim, text) is None


@pytest.mark.parametrize("label", [Label.SUPPORTS, Label.CONTRADICTS])
def test_the_rule_overrules_a_side_of_a_model(label: Label) -> None:
    text = "Rents here rose from 900 to 980 euros."
    change = overruling("The rent is 900 euros.", text, document(text), label)

    assert change is not None
    assert change.label is Label.CONTRADICTS


def test_the_rule_makes_no_side_of_an_irrelevant_document() -> None:
    text = "Rents here rose from 900 to 980 euros."

    assert overruling("The rent is 900 euros.", text, document(text), Label.IRRELEVANT) is None
