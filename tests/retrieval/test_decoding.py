"""Texts without a declared encoding are read in the one that their language's letters fit."""

import pytest

from conflictscore.retrieval.pages.page import UnreadableError
from conflictscore.retrieval.shaping.decoding import decode

TEXTS = [
    ("cp1252", "Bron öppnades 1932 och är trehundra meter lång."),
    ("cp1252", "På Færøerne bor 54.000 mennesker."),
    ("cp1252", "Não há informações sobre a estação."),
    ("cp1252", "Ouvert en 1932, fermé en août."),
    ("cp1252", "Perché la città è così cara?"),
    ("cp1252", "Þetta er lítið land með stóra sögu."),
    ("cp1252", "The toll is £5 – “free” on Sundays; 3½ miles at 20 °C ± 0.5."),
    ("cp1250", "Most został otwarty w 1932 roku, źródło: kronika."),
    ("cp1250", "Příliš žluťoučký kůň"),
    ("cp1250", "Nagy öröm érte őket, amikor megnyílt a híd."),
    ("iso8859_2", "Święto odbywa się w ósmym miesiącu."),
    ("cp1254", "Şehirde üç köprü var, giriş ücretsizdir."),
    ("cp1257", "Tilts tika atklāts 1932. gadā, tā garums ir trīs simti metru."),
    ("cp1257", "Tiltas buvo atidarytas, jo ilgis trys šimtai metrų."),
    ("cp1251", "Мост был открыт в 1932 году, его длина триста метров."),
    ("cp932", "橋は1932年に開通し、長さは三百メートルです。"),
]


@pytest.mark.parametrize(("encoding", "text"), TEXTS)
@pytest.mark.parametrize("times", [1, 40])
def test_the_letters_of_a_language_tell_its_encoding(encoding: str, text: str, times: int) -> None:
    body = "\n".join([text] * times)
    assert decode(body.encode(encoding)).text == body


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", ["Lit in 1874.\n", "The café of Łódź – 5 €\n" * 9])
def test_utf_16_without_a_byte_order_mark_is_recognised(encoding: str, text: str) -> None:
    assert decode(text.encode(encoding)) == (text, encoding)
    # two characters that make one letter, and one that is cut off
    assert decode(f"{text}💡".encode(encoding)[:-1]).text == f"{text}\ufffd"


def test_zero_bytes_in_other_places_are_not_utf_16() -> None:
    assert decode(b"Lit\0 in 1874.").text == "Lit\0 in 1874."
    with pytest.raises(UnreadableError):
        decode(bytes(400))
    with pytest.raises(UnreadableError):
        decode(bytes(range(32)) * 90)
