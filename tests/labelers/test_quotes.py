import pytest

from conflictscore.labelers.quotes import passage_of, quoted_spans
from conflictscore.records import Claim, Document, EvidenceLabel, Label

FILLER = "The keeper wrote the log by hand every night. " * 20
LAMP = "The lamp was lit in 1871."
COOKIES = "We use cookies to light up your visit, and the lamp partners too.\n"


def passage(text: str, claim: str = "The lamp was lit in 1874.", **of: object) -> str:
    verdict = EvidenceLabel.model_validate(
        {"claim": 1, "document": 1, "label": Label.CONTRADICTS, **of}
    )
    document = Document(number=1, text=text, title="The Gazette")
    return passage_of(Claim(number=1, text=claim), document, verdict) or ""


def test_a_quotation_that_holds_dots_is_found_as_it_is() -> None:
    text = "The lamp. The lamp ... was lit in 1871."
    [(start, end)] = quoted_spans("lamp ... was", text)
    assert text[start:end] == "lamp ... was"


@pytest.mark.parametrize(
    ("quote", "text", "quoted"),
    [
        ("art", "The party was late. Art was not shown.", ["Art"]),
        ("art", "The party showed artists.", []),
        ("lit ... 1871", "It was split, lit again, and sold in 18712 or 1871.", ["lit", "1871"]),
        ("lamp", "The _lamp_ and the lamps.", ["lamp"]),
        ("known keeper", "A well-known keeper.", ["known keeper"]),
        ("灯", "灯塔建于一八七四年。", ["灯"]),
        ("서울", "등대는 서울에 있다.", ["서울"]),
        ("दीप", "दीपक और दीप", ["दीप"]),
    ],
)
def test_a_quotation_begins_and_ends_with_whole_words(
    quote: str, text: str, quoted: list[str]
) -> None:
    assert [text[start:end] for start, end in quoted_spans(quote, text)] == quoted


def test_a_quotation_is_shown_in_the_words_of_the_document() -> None:
    told = "THE LAMP,\n it was said,  was lit in 1871."
    assert passage(FILLER + told, snippet="the lamp ... was LIT") == "THE LAMP […] was lit"


@pytest.mark.parametrize("snippet", [None, "It was lit in 1874, they say."])
def test_without_a_quotation_in_the_document_the_sentence_nearest_to_the_claim_is_shown(
    snippet: str | None,
) -> None:
    shown = passage(FILLER + LAMP + " " + FILLER, snippet=snippet)
    assert shown.startswith(LAMP)
    assert len(shown) <= 400


def test_a_long_quotation_with_an_omission_shows_where_words_are_missing() -> None:
    begin, end = "Slow " * 40 + "the lamp was lit", "in 1871 by the keeper " + "at last " * 40
    shown = passage(f"{begin} with great pomp {end}", snippet=f"{begin} ... {end}")
    assert "the lamp was lit […] in 1871 by the keeper" in shown


def test_of_a_window_that_is_longer_than_what_is_shown_the_nearest_part_is_shown() -> None:
    window = f"{FILLER}{LAMP} {FILLER}"
    assert passage(f"{LAMP} {window}", snippet=window, snippet_found=True).startswith(LAMP)


def test_a_page_shows_each_claim_the_same_whichever_claims_came_before() -> None:
    page = f"{COOKIES}{FILLER}{LAMP} {FILLER}The tower has ninety steps."
    claims = ["The page uses cookies.", "The lamp was lit in 1874.", "The tower has 80 steps."]
    shown = {claim: passage(page, claim) for claim in claims}
    assert {claim: passage(page, claim) for claim in reversed(claims)} == shown
    assert "cookies" in shown[claims[0]]
    assert LAMP in shown[claims[1]]
    assert "cookies" not in shown[claims[1]]
    assert "ninety steps" in shown[claims[2]]


def test_scripts_without_white_space_are_compared_by_their_characters() -> None:
    told, log = "灯塔于1871年点亮。", "守塔人每晚写日志。" * 60
    assert passage(log + told, claim="灯塔于1874年点亮。").startswith(told)


def test_only_a_verdict_that_takes_a_side_has_a_passage() -> None:
    assert passage(LAMP, label=Label.IRRELEVANT) == ""
    assert passage("", label=Label.SUPPORTS) == ""
