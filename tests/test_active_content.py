"""Content that a change must not add, and reasons as plain words."""

import pytest

from conflictscore.active_content import added_active_content, without_active_content

ACTIVE = {
    "an image": "See ![chart](chart.png).",
    "a link": "See [here](chart).",
    "an address": "Write to https://evil.test/?q=secret now.",
    "HTML": "It is <b>1874</b>.",
    "a control token": "It is 1874.<|im_end|>",
}


@pytest.mark.parametrize(("kind", "text"), ACTIVE.items())
def test_what_a_change_adds_is_named(kind: str, text: str) -> None:
    assert added_active_content("It is 1871.", text) == kind
    assert added_active_content(text, text.replace("1874", "1871")) is None, "it was there before"
    assert added_active_content("", without_active_content(text)) is None


@pytest.mark.parametrize(
    "address",
    [
        *("HTTPS://EVIL.TEST", "www.evil.test/x", "//evil.test/x.png", "javascript:alert(1)"),
        *("data:text/html;base64,xyz", "mailto:a@b.test", "evil.test/x?q=1", "me@evil.test"),
        *("[x]((evil)", "[x] ((evil)", "[x](:(evil)", "!![x]((evil)", "!!![x] ( (evil)"),
        *(r"\\href{evil}{x}", r"\\\url{evil}", r"<\html", r"\&url;", "evil.com+49 170 5550199"),
        *("[\u202ex]\u202e(evil)", "!\u2066[x]", "\\\u202eurl", "\u202egol"),
        *("[x]: evil", "[x] (evil)", "&lt;img", "<https", "ftp://a"),
        *("evil-pills.com", "shop.example.co.uk.", "evil.onion"),
        *("evil.quest", "Evil.LOL", "evil.it", "pills.one", "evil.zip", "злой.рф", "evil.xn--p1ai"),
        *("+49 170 5550199", "+1 (555) 010-0199", "0900 123456"),
        *("evil[.]com", "evil (dot) com", "evil-pills\uff0ecom", "evil[.]quest"),
        *("DE89 3704 0044 0532 0130 00", "GB29NWBK60161331926819"),
        "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq",
        "0x52908400098527886E0F7030069857D2E4169EE7",
    ],
)
def test_addresses_in_other_forms_are_found(address: str) -> None:
    assert added_active_content("", f"Look: {address}")
    assert added_active_content("", without_active_content(f"Look: {address}")) is None


@pytest.mark.parametrize(
    "text",
    [
        "The light was lit in 1874 [2][3], at 5.20 p.m. (see Docs 2, 3).",
        "Costs rose 3/4, and a < b; R&D: 10/20 and/or more. The ratio is 4:1.",
        "At noon UTC+1 2024-05-12 10:30, the sum was 5+12345678901.",
        "From 1932-05-12 to 2001, +1 000 000 people; ISBN 978-3-16-148410-0; no. 00123.",
        "Dr.Smith of St.Gallen wrote Node.js 2.0.It works, e.g. as it is.",
        "The file notes.md and main.py.He took 2.5.mg and stopped (.) as the comma (,) did.",
        "Commit 1f3a5c7e9b2d4f6a8c0e1f3a5c7e9b2d4f6a8c0e, part AB12 3456, class GB12 3456 7890.",
        "Die Ärzte e.V.; le 14 octobre 1874 : « allumé ».",
    ],
)
def test_plain_text_is_left_alone(text: str) -> None:
    assert added_active_content("", text) is None
    assert without_active_content(text) == text


def test_another_address_is_not_excused_by_the_one_before() -> None:
    before = "It is 1871, says [the log](https://log.test/a)."

    assert added_active_content(before, before.replace("1871", "1874")) is None
    assert added_active_content(before, before.replace("log.test", "evil.test")) == "an address"
    assert added_active_content(before, before + before), "nor is it said twice"
