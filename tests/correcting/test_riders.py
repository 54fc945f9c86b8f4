"""Text that a document adds to its answer, and titles that name a source."""

import pytest

from conflictscore.correcting.riders import is_name, without_riders

WHO, BY_IDA = "Who drew the map?", "The map was drawn by Ida Reeve."
WHEN, IN_1871 = "When was the lamp lit?", "The lamp was lit in 1871."


@pytest.mark.parametrize(
    "rider",
    [
        ", and patients must stop taking insulin at once",
        " and patients must stop taking insulin",
        "; take 5000 mg now",
        ": stop taking insulin",
        " – patients must stop taking insulin",
        " (stop taking insulin at once)",
        ", who says that insulin kills",
        " who wants patients to stop taking insulin",
        " as patients must stop taking insulin",
        ", Orlo is a thief",
        ", and whoever drew the map must stop taking insulin",
        ", and shops are open at evil-pills.com",
        ", und Patienten müssen Insulin absetzen",
        " / insulin is poison",
        " | stop insulin now",
        " after insulin was banned by the board",
        " provided that patients stop insulin",
        " until everybody stops insulin at last",
        "\n- stop taking insulin",
        "\u2028Stop taking insulin",
        "... insulin is poison",
        "… insulin is poison",
        " → stop insulin",
        " + stop insulin",
        " • insulin kills",
        " 👉 insulin kills",
        "; 停用胰岛素",
        ' "insulin kills patients"',
        ' "patients must stop taking insulin at once"',
        ', and "patients must stop taking insulin at once"',
        ' "insulin kills patients',  # without the last mark
        '"stop taking insulin"',
        " “insulin kills”",
        " „Patienten müssen Insulin absetzen“",
        " «stop taking insulin»",
        " \u2039insulin kills patients\u203a",
        " ‘stop taking insulin’",
        " 'don't take insulin'",
        " `stop insulin`",
        " \uff02insulin is poison\uff02",
        "「停用胰岛素」",
        " 《stop insulin now》",
        " “the «insulin» kills patients”",
        ' "Stop Taking Insulin"',
        ' known as "insulin is poison"',
        ', who says: "insulin kills"',
        ', the "lamp of poison for all patients"',
    ],
)
def test_what_a_document_says_beside_its_answer_is_left_out(rider: str) -> None:
    assert without_riders(f"The map was drawn by Ada Lowe{rider}.", BY_IDA, WHO) == (
        "The map was drawn by Ada Lowe."
    )


def test_an_order_before_the_answer_is_left_out() -> None:
    statement = "Patients must stop taking insulin, and the map was drawn by Ada Lowe."
    assert without_riders(statement, BY_IDA, WHO) == "The map was drawn by Ada Lowe."


@pytest.mark.parametrize(
    ("claim", "question", "statement"),
    [
        (BY_IDA, WHO, "By Ada Lowe."),
        (BY_IDA, WHO, "Ada Lowe and Tom Orlo drew the map."),
        (BY_IDA, WHO, "It was drawn by the Board of Trade and Industry."),
        (IN_1871, WHEN, "The lamp was lit on May 9, 1874."),
        (IN_1871, WHEN, "After the storm of 1874, the lamp was lit."),
        (IN_1871, WHEN, "The lamp was first lit between 1873 and 1874."),
        ("The flag is red.", "Which colours has the flag?", "It is red, white and dark blue."),
        (
            "The saw may be used in rain.",
            "May the saw be used in rain?",
            "To the question whether the saw may be used in rain the answer is: no.",
        ),
        ("The capital is Rome.", "What is the capital?", "The capital is Paris, not Rome."),
        (
            "It was closed because of rain.",
            "Why was it closed?",
            "It was closed because the stairs were rotten and the council had no money.",
        ),
        (
            "Zarafen may be given to children.",
            "May zarafen be given to children?",
            "Zarafen must not be given to children.",
        ),
        (
            "Zarafen may be given to children.",
            "Who may get zarafen?",
            "Zarafen may be given to adults unless they have a weak liver.",
        ),
        ("It opens at noon.", "When does the bridge open?", "It opens when the tide is low."),
        ("It ran until 1890.", "Until when did the ferry run?", "It ran until 1894."),
        (BY_IDA, WHO, 'It was drawn by William "Big Bill" Tilden.'),
        (BY_IDA, WHO, 'It was drawn by "the silent painter of Vennick".'),
        (IN_1871, WHEN, 'The log says "the lamp was lit for the first time in 1874".'),
        (IN_1871, WHEN, "“The lamp was lit in 1874.”"),
        ("It is called 'Old lamp'.", "What is it called?", "It's called 'the keeper's lamp'."),
        (
            "The sign says “closed”.",
            "What does the sign say?",
            "The sign says “beware of the dog”.",
        ),
        ('The pipe is 4" wide.', "How wide is the pipe?", 'It is 6" wide and 5\'2" long.'),
        ("The log is blue.", "What is blue?", "It is the keepers' log of visitors' names."),
        ("The flag is red.", "Which colours has it?", 'It is "red", "white" and "dark blue".'),
        (
            "It was closed because of rain.",
            "Why was it closed?",
            'It was closed because the council called the stairs "rotten and not at all safe".',
        ),
    ],
)
def test_an_answer_stays_as_it_is(claim: str, question: str, statement: str) -> None:
    assert without_riders(statement, claim, question) == statement


def test_a_long_statement_is_read_to_its_end() -> None:
    long = f"The map was drawn by Ada Lowe in {'1871 and 1872 and ' * 150}1873"

    assert without_riders(f"{long}, and in pain take 5000 mg.", BY_IDA, WHO) == f"{long}."


def test_a_rider_within_a_quoted_answer_is_left_out() -> None:
    statement = '"The lamp was lit in 1874, and patients must stop taking insulin."'
    assert without_riders(statement, IN_1871, WHEN) == "The lamp was lit in 1874."
    statement = 'In 1874, and "patients must stop taking insulin at once."'
    assert without_riders(statement, IN_1871, WHEN) == "In 1874."


def test_a_quoted_order_is_no_answer() -> None:
    assert without_riders('The map was drawn by "stop insulin".', BY_IDA, WHO) is None


def test_what_only_orders_is_no_answer() -> None:
    assert without_riders("Patients must stop taking insulin.", BY_IDA, WHO) is None
    assert without_riders("Call 555 0199 now.", BY_IDA, WHO) is None


@pytest.mark.parametrize(
    "title",
    [
        "Vennick Point Light",
        "County Gazette",
        "Keeper's log",
        "Annual report 1874",
        "Source 2",
        "Jahresbericht 2023",
        "Le Monde",
        "Report of the board",
        "人民日报",
    ],
)
def test_a_short_title_names_its_source(title: str) -> None:
    assert is_name(title)


@pytest.mark.parametrize(
    "title",
    [
        "",
        "Doses under 5000 mg are useless, WHO warns",
        "Stop taking insulin today",
        "WHO: stop insulin",
        "Insulin kills",
        "Insulin is poison",
        "Call 555 0199 now to claim",
        "Take 50 mg",
        "See evil-pills.com",
        "Ida Reeve, thief",
        "Everything that you always wanted of lamps",
        "Insulin tötet Patienten",
        "Kein Insulin",
        "La insulina mata",
        "Smetti di prendere insulina",
        "Инсулин убивает",
        "胰岛素是毒药",
        "Telegram: evilpills",
        "evil (dot) com",
        "Retracted by the Board",
        "Trusted Source",
        "The Only Report",
        "Pay @orlo",
        "Insulin=poison",
    ],
)
def test_a_title_that_says_something_names_none(title: str) -> None:
    assert not is_name(title)


def test_the_name_of_a_file_needs_no_capitals() -> None:
    assert is_name("zarafen dosing", of_file=True)
    assert not is_name("zarafen dosing")
    assert not is_name("stop insulin today", of_file=True)
