"""Parts of an answer that no claim covers, whoever lists the claims."""

import pytest

from conflictscore.answering.claim_coverage import gaps_of, states_nothing, unclaimed_parts
from conflictscore.markdown import place_of
from conflictscore.records import GapKind
from conflictscore.sentences import sentence_starts

QUESTION = "What is the safe dose of zarafen?"
BASE = (
    "The safe dose of zarafen is 50 mg a day. It was first made in Basel in 1971. It is sold by"
    " Orlo. The tablet is taken with water in the morning."
)


def sentences(text: str) -> list[str]:
    starts = sentence_starts(text)
    return [text[a:b].strip() for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]


def placed(claims: list[str], answer: str) -> list[tuple[str, tuple[int, int] | None]]:
    places = [place_of(claim, "", answer) for claim in claims]
    return [(c, (p.start, p.end) if p else None) for c, p in zip(claims, places, strict=True)]


def gap_kinds(answer: str, claims: list[str], question: str = QUESTION) -> set[GapKind]:
    return {gap.kind for gap in gaps_of(answer, placed(claims, answer), question)}


CHILDREN = "Children in pain can safely take 5000 mg at once."


@pytest.mark.parametrize(
    "answer",
    [
        f"{BASE} In pain take 5000 mg now.",
        BASE.replace("50 mg a day.", "50 mg a day, and in pain 5000 mg at once."),
        BASE.replace("50 mg a day.", "50 mg a day (children: 5000 mg)."),
        f"{BASE} Did you know that children can take 5000 mg of zarafen?",
        f"{BASE}\n\n```\n{CHILDREN}\n```",
        f"{BASE} `{CHILDREN}`",
        f"{BASE}\n\n> {CHILDREN}",
        f"# {CHILDREN}\n\n{BASE}",
        f"{BASE}\n\n| who | dose |\n|---|---|\n| children | 5000 mg |",
        f"{BASE} ![{CHILDREN}](x.png)",
        f"{BASE} <!-- {CHILDREN} -->",
        f"{BASE}\n\n[^1]: {CHILDREN}",
        f'{BASE}\n\n[chart]: chart.png "{CHILDREN}"',
        BASE.replace("is taken", "is usually taken"),
        f"{BASE}\n- 5000 mg ok",
        BASE.replace("is 50 mg", "is not 50 mg"),
        BASE.replace("It is sold by Orlo.", "It is sold by Orlo and by Velda."),
        f"{BASE} Small children and babies may swallow several of these tablets.",
    ],
    ids=range(18),
)
def test_nothing_of_an_answer_passes_as_claimed_that_stands_in_no_claim(answer: str) -> None:
    assert GapKind.UNCLAIMED in gap_kinds(answer, sentences(BASE))
    assert not gap_kinds(BASE, sentences(BASE))


@pytest.mark.parametrize(
    "answer",
    [
        BASE.replace("50 mg", "50 g"),
        BASE.replace("50 mg", "50 %"),
        BASE.replace("50 mg", "50k mg"),
        BASE.replace("50 mg", "-50 mg"),
        BASE.replace("a day", "per kg a day"),
        BASE.replace("is 50", "is at least 50"),
        BASE.replace("is 50", "is less than 50"),
        BASE.replace("50 mg", "50 mg or more"),
        BASE.replace("in 1971", "in May 1971"),
        BASE.replace("sold by", "sold only by"),
        BASE.replace("sold by", "formerly sold by"),
        BASE.replace("is taken", "is rarely taken"),
        BASE.replace("is sold", "may be sold"),
        BASE.replace("The safe", "The unsafe"),
        BASE.replace("a day", "a day for forty days"),
        BASE.replace("a day.", "a day (adults)."),
        BASE.replace("a day.", "a day, more for children."),
        f"# Zarafen is deadly\n\n{BASE}",
        f"{BASE} Why is it deadly?",
        f"{BASE}\n\n```\nprint('Zarafen kills rats')\n```",
    ],
    ids=range(20),
)
def test_a_single_word_that_changes_a_statement_needs_a_claim(answer: str) -> None:
    assert GapKind.UNCLAIMED in gap_kinds(answer, sentences(BASE))
    assert GapKind.UNCLAIMED not in gap_kinds(answer, [*sentences(BASE), *sentences(answer)])


@pytest.mark.parametrize(
    ("answer", "claim"),
    [
        ("It costs €15 a night.", "It costs 15 euros per night."),
        ("It takes 5 days at most.", "It takes up to 5 days."),
        ("It takes 2 to 5 hours.", "It takes 2 hours to 5 hours."),
        ("It opened on May 3rd, 1871.", "It opened on 3 May 1871."),
        ("It takes ½ hour.", "It takes 1/2 hour."),
        ("It takes 1½ hours.", "It takes 1 1/2 hours."),
        ("It rose by 0.5 °C.", "It rose by 0.5 degrees."),
        ("In 1871 an engineer built it.", "An engineer built it in 1871."),
        ("It can be undone in May 1971.", "One could undo it in May 1971."),
        ("Ida Reeve wrote it and began in fifty-two.", "Ida Reeve had begun writing it in 52."),
        ("He died at forty.", "His death was at 40."),
    ],
)
def test_other_forms_of_a_word_unit_or_bound_are_claimed(answer: str, claim: str) -> None:
    assert not gap_kinds(answer, [claim])


@pytest.mark.parametrize(
    "claim",
    [
        "The safe dose of zarafen is 500 mg a day.",
        "The safe dose is never 50 mg a day.",
        "The safe dose of zarafen may be 50 mg a day.",
        "The safe dose of zarafen is allegedly 50 mg a day.",
    ],
)
def test_a_claim_that_says_what_the_answer_does_not_is_named(claim: str) -> None:
    assert GapKind.CLAIM_BEYOND_ANSWER in gap_kinds(BASE, [claim, *sentences(BASE)])


def test_labels_that_count_the_claims_of_a_list_say_nothing_beyond_the_answer() -> None:
    rest = "Gate {} opens at nine.", "Gate {} is green."
    answer = "The gate opens at nine and is green."
    counted = [text.format(f"CLAIM{n}") for n, text in enumerate(rest, start=1)]
    assert not gap_kinds(answer, counted)
    for labels in (("CLAIM2", "CLAIM1"), ("A1", "B2")):
        claims = [text.format(label) for text, label in zip(rest, labels, strict=True)]
        assert GapKind.CLAIM_BEYOND_ANSWER in gap_kinds(answer, claims)
    roads = ["Road A3 is long.", "Road A4 is short."]
    assert GapKind.CLAIM_BEYOND_ANSWER in gap_kinds("Road A1 is long, road A2 is short.", roads)


@pytest.mark.parametrize(
    "answer",
    [
        f"{BASE} I hope this helps! Let me know if you have further questions.",
        f"Sure, here is a brief overview based on the documents:\n\n{BASE}",
        f"## The safe dose\n\n{BASE}",
        BASE.replace("1971.", "1971 [2, 3]."),
        f"According to document 2, {BASE}",
        BASE.replace("Basel", "[Basel](https://basel.test/2024/03)"),
        f"{BASE} Would you like to know more about it?",
        f"{BASE} Have a good trip!",
        f"{BASE} Kann ich sonst noch helfen?",
        f"{BASE} Ik hoop dat dit helpt.",
        f"{BASE} 他に質問はありますか。",
        f"{BASE}\n\n```python\nfor i in range(10):\n    print(i * 3)\n```",
        BASE.replace("- ", ""),
        "1. " + BASE.replace(". ", ".\n2. ", 1),
    ],
    ids=range(14),
)
def test_courtesies_citations_and_headings_need_no_claim(answer: str) -> None:
    assert not gap_kinds(answer, sentences(BASE))


@pytest.mark.parametrize(
    ("answer", "rider", "denied"),
    [
        (
            "Die Lampe wurde 1871 in Basel angezündet. Der Turm ist aus Granit.",
            "Kinder dürfen den Turm nachts allein besteigen.",
            "Die Lampe wurde 1871 nicht in Basel angezündet. Der Turm ist aus Granit.",
        ),
        (
            "La lampe fut allumée en 1871 à Bâle. La tour est en granit.",
            "Les enfants montent seuls chaque nuit.",
            "La lampe ne fut jamais allumée en 1871 à Bâle. La tour est en granit.",
        ),
        (
            "La lámpara se encendió en 1871 en Basilea. La torre es de granito.",
            "Los niños suben solos cada noche.",
            "La lámpara no se encendió en 1871 en Basilea. La torre es de granito.",
        ),
        (
            "Лампа зажжена в 1871 году в Базеле. Башня построена из гранита.",
            "Дети поднимаются туда ночью одни.",
            "Лампа не зажжена в 1871 году в Базеле. Башня построена из гранита.",
        ),
        (
            "أضيء المصباح عام 1871 في بازل. البرج من الجرانيت.",
            "يصعد الأطفال وحدهم كل ليلة.",
            "لم أضيء المصباح عام 1871 في بازل. البرج من الجرانيت.",
        ),
        (
            "灯塔于1871年在巴塞尔点亮。塔身由花岗岩建成。",
            "儿童每天可以服用三片药。",
            "灯塔不是于1871年在巴塞尔点亮。塔身由花岗岩建成。",
        ),
        (
            "灯台は1871年に点灯した。塔は花崗岩でできている。",
            "子供は毎晩一人で登れる。",
            "灯台は1871年に点灯しなかった。塔は花崗岩でできている。",
        ),
    ],
    ids=["de", "fr", "es", "ru", "ar", "zh", "ja"],
)
def test_riders_negations_and_numbers_are_seen_in_many_languages(
    answer: str, rider: str, denied: str
) -> None:
    claims = sentences(answer)

    assert not gap_kinds(answer, claims, "")
    assert GapKind.UNCLAIMED in gap_kinds(f"{answer} {rider}", claims, "")
    assert GapKind.UNCLAIMED in gap_kinds(denied, claims, "")
    assert GapKind.UNCLAIMED in gap_kinds(answer.replace("1871", "1874"), claims, "")


@pytest.mark.parametrize(
    ("answer", "is_nothing"),
    [
        ("Hello! How can I help you today?", True),
        ("I'm sorry, but I can't help with that.", True),
        ("Which lamp do you mean?", True),
        ("Bonjour ! Comment puis-je vous aider ?", True),
        ("Yes.", False),
        ("No.", False),
        ("It was lit in 1871.", False),
        ("Hello! Napoleon lit it.", False),
        ("I'm sorry, it exploded and killed the keeper.", False),
        ("The lamp never burned.", False),
        ('{"answer": "I don\'t know."}', True),
        ("{}", True),
        ('{"year": 1871}', False),
        ('{"built": "Paris", "year": null}', False),
        ('{"lit": true}', False),
    ],
)
def test_a_greeting_a_refusal_and_a_question_back_state_nothing(
    answer: str, is_nothing: bool
) -> None:
    question = "When was the lamp first lit?"

    assert states_nothing(answer, question) is is_nothing
    kind = GapKind.STATES_NOTHING if is_nothing else GapKind.NO_CLAIMS
    assert gap_kinds(answer, [], question) == {kind}


def test_each_of_many_like_sentences_has_its_own_claim() -> None:
    lamps = [f"The lamp {n} was lit in {1000 + n}." for n in range(300)]
    text = " ".join(lamps)

    assert not unclaimed_parts(text, lamps, [None] * 300)
    [part] = unclaimed_parts(text, [*lamps[:7], *lamps[8:]], [None] * 299)
    assert text[part.start : part.end] == lamps[7]


@pytest.mark.parametrize(
    "remark",
    [
        "No other passage contradicts this, so there is no conflict.",
        "I could not find what it costs, since none of the documents mention a price.",
        "No conflicting information is provided in the other documents.",
        "Please check with your doctor before you take it.",
        "These positions conflict.",
        "No passages claim otherwise, so there is no conflict.",
        "There is contradictory information about the price of zarafen.",
        "The sources differ on the number of tablets.",
        "The exact price remains a matter of conflicting information.",
        "What I couldn't find is a figure for children.",
        "If you have another tablet in mind, please let me know!",
        "Z\u00f6gern Sie nicht, mich zu fragen.",
    ],
)
def test_remarks_on_the_sources_need_no_claim(remark: str) -> None:
    assert not gap_kinds(f"{BASE} {remark}", sentences(BASE))


@pytest.mark.parametrize(
    "rider",
    [
        "The documents state that the dose of zarafen is not safe.",
        "No document mentions that children may take 5000 mg.",
        "No passage contradicts this, and small children may swallow several.",
        "Please consult our leaflet, which allows 5000 mg.",
        "The passages agree that Velda sells it.",
        "The sources disagree on 5000 mg for children.",
        "Let me know before you use it, because it kills children.",
        "There is conflicting information about it and it kills children quickly.",
    ],
)
def test_a_statement_within_a_remark_needs_one(rider: str) -> None:
    assert GapKind.UNCLAIMED in gap_kinds(f"{BASE} {rider}", sentences(BASE))


def test_claims_that_repeat_their_subject_are_about_the_passage_that_alone_has_their_words() -> (
    None
):
    answer = (
        "As of January 2023, the Red Hawk of Boeing and Saab had no serial model. Its development"
        " was still ongoing, with production expected to follow."
    )
    claims = [
        "As of January 2023, the Red Hawk of Boeing and Saab had no serial model.",
        "As of January 2023, development of the Red Hawk of Boeing and Saab was still ongoing.",
        "As of January 2023, production of the Red Hawk was expected to follow.",
    ]

    assert not gap_kinds(answer, claims, "Is the Red Hawk built?")
    assert GapKind.UNCLAIMED in gap_kinds(answer, claims[:2], "Is the Red Hawk built?")


def test_a_claim_may_deny_what_any_passage_about_its_words_denies() -> None:
    answer = "The safe dose of zarafen is 50 mg a day. Never use it with milk."
    claims = ["The safe dose of zarafen is 50 mg a day.", "Zarafen is never used with milk."]

    spans = [(0, 40), (0, 40)]
    assert not gaps_of(answer, list(zip(claims, spans, strict=True)), QUESTION)


@pytest.mark.parametrize(
    ("answer", "claims", "is_claimed"),
    [
        ("Yes, zarafen is safe with milk.", ["Zarafen is safe with milk."], True),
        ("Short answer: no.", ["Zarafen is not safe with milk."], True),
        ("Short answer: no.", ["Zarafen is safe with milk."], False),
        ("Yes.", ["Zarafen was first made in Basel."], False),
    ],
)
def test_a_yes_or_no_stands_in_the_claim_that_answers_the_question(
    answer: str, claims: list[str], is_claimed: bool
) -> None:
    kinds = gap_kinds(answer, claims, "Is zarafen safe with milk?")

    assert (GapKind.UNCLAIMED not in kinds) is is_claimed


def test_links_between_claimed_words_need_no_claim_and_a_statement_of_two_words_does() -> None:
    long = (
        "The tablet, which subsequently reached pharmacies of the north, is a white disc that is"
        " scored in the middle and wrapped in blue paper"
    )
    claims = [
        "The tablet reached pharmacies of the north.",
        "The tablet is a white disc that is scored in the middle.",
        "The tablet is wrapped in blue paper.",
    ]

    assert not gap_kinds(f"{long}.", claims)
    assert GapKind.UNCLAIMED in gap_kinds(f"{long} and cures migraine.", claims)


@pytest.mark.parametrize(
    ("answer", "other"),
    [
        ("Die Kaution darf höchstens drei Monatsmieten betragen.", "dreißig"),
        ("Le pain se garde trois jours au frais dans la cave.", "treize"),
        ("De waarborg bedraagt hooguit drie maanden huur per woning.", "dertien"),
    ],
)
def test_another_number_in_the_words_of_any_language_needs_a_claim(answer: str, other: str) -> None:
    [number] = [word for word in answer.split() if word in ("drei", "trois", "drie")]
    assert not gap_kinds(answer, [answer.replace("höchstens", "maximal")], "")
    changed = answer.replace(number, other)
    assert GapKind.UNCLAIMED in gap_kinds(changed, [answer], "")
