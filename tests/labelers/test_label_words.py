import pytest

from conflictscore.labelers.label_words import label_of, read_label
from conflictscore.records import Label

ALL = [Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT]


@pytest.mark.parametrize(
    "words",
    [
        "supports, Contradicts., irrelevant",
        "**SUPPORTED**, `CONTRADICTED`, Not relevant",
        "1. SUPPORTS, 2. CONTRADICTS, (C) IRRELEVANT",
        "Label: SUPPORTS, Final answer: **CONTRADICTS**, label.IRRELEVANT",
        "The document supports the claim., it contradicts the claim, is irrelevant to the claim",
        "ENTAILMENT, REFUTES, NEUTRAL",
        "SUPPORTS - it says nine, CONTRADICTS (it says ten), IRRELEVANT: it has no gates",
        "stützt, widerlegt, nicht relevant",
        "e\u0301taye, re\u0301fute, hors sujet",
        "respalda, desmiente, no pertinente",
        "conferma, smentisce, irrilevante",
        "подтверждает, опровергает, не имеет отношения",
        "DESTEKL\u0130YOR, ÇEL\u0130\u015e\u0130YOR, \u0130LG\u0130S\u0130Z",
        "支持する, 矛盾する, 関連なし",
        "지지함, 모순됨, 관련없음",
        "يدعم, يناقض, غير ذي صلة",
        "\u200bSUPPORTS, CONTRADICTS\u200d, IRRELEVANT",
        "สนับสนุน, ขัดแย้ง, ไม่เกี่ยวข้อง",
        "تأیید می‌کند, رد می‌کند, نامرتبط",
        "подкрепя, противоречи, неуместно",
        "palaiko, prieštarauja, nesusiję",
        "#1 SUPPORTS, 2 CONTRADICTS, 3\ufe0f\u20e3 IRRELEVANT",
        "✅ SUPPORTS, ❌ CONTRADICTS, \u2796 IRRELEVANT",
        "🟢 SUPPORTS, ✖️ CONTRADICTS, ⚪ IRRELEVANT",
        "supports_claim, contradicts_claim, irrelevant_to_the_claim",
    ],
)
def test_a_label_is_known_in_its_inflections_and_languages(words: str) -> None:
    assert [read_label(word) for word in words.split(", ")] == ALL


@pytest.mark.parametrize(
    "said",
    [
        "does not support",
        "not supported",
        "unsupported",
        "partly supports",
        "SUPPORTS?",
        "SUPPORTS and CONTRADICTS",
        "SUPPORTS | CONTRADICTS",
        "neither",
        "might support",
        "unterstützt nicht",
        "ne soutient pas",
        "不支持",
        "支持しない",
        "не подтверждает",
        "not irrelevant",
        "SUPPORTS, but not the year",
        "IRRELEVANT: it contradicts",
        "❌ SUPPORTS",
        "🚫 IRRELEVANT",
        "✅",
        "¬SUPPORTS",
        "4 SUPPORTS",
        "A",
        "",
    ],
)
def test_a_negated_a_hedged_or_a_double_label_is_none(said: str) -> None:
    with pytest.raises(ValueError, match="label"):
        read_label(said)


def test_the_field_of_a_label_may_have_another_name_and_not_another_label() -> None:
    assert label_of({"verdict": {"label": "supports"}}) is Label.SUPPORTS
    assert label_of({"answer": ["CONTRADICTS"], "relation": "it is denied"}) is Label.CONTRADICTS
    for reply in ({"answer": "SUPPORTS", "label": "IRRELEVANT"}, {"answer": 7}, {}):
        with pytest.raises(ValueError, match="label"):
            label_of(reply)
