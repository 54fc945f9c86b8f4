"""Reading the label that a judge wrote: in any case, inflected, or in the language of its rules."""

import re
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from conflictscore.records import Label

__all__ = ["ANSWER_ALIASES", "label_of", "read_label", "text_of"]

_WORDS = {
    Label.SUPPORTS: (
        "support, supports, supported, supporting, is supported, supportive, entails, entailed"
        ", entailment, confirms, confirmed, corroborates, affirms"
        ", unterstützt, gestützt, stützt, bestätigt, belegt, wird unterstützt, wird gestützt"
        ", soutient, soutenu, soutenue, appuie, confirme, étaye, corrobore"
        ", apoya, respalda, apoyado, confirma, sustenta, corrobora"
        ", supporta, sostiene, supportato, conferma, avvalora"
        ", apoia, suporta, apoiado, ondersteunt, ondersteund, bevestigt"
        ", поддерживает, подтверждает, подтверждается, підтримує, підтверджує"
        ", wspiera, potwierdza, podporuje, potvrzuje, stöder, stödjer, bekräftar, støtter"
        ", understøtter, bekræfter, bekrefter, tukee, vahvistaa, destekliyor, destekler"
        ", υποστηρίζει, επιβεβαιώνει, يدعم, يؤيد, تدعم, תומך, מאשר, समर्थन, समर्थन करता है"
        ", ủng hộ, hỗ trợ, mendukung, susține, támogatja"
        ", 支持, 佐证, 证实, 支持する, 支持している, 裏付ける, 裏付けている"
        ", 지지, 지지함, 지지한다, 뒷받침, 뒷받침함, 뒷받침한다"
    ),
    Label.CONTRADICTS: (
        "contradict, contradicts, contradicted, contradicting, is contradicted, contradiction"
        ", contradictory, refutes, refuted, refute, refuting, refutation, disproves, conflicts"
        ", widerspricht, widersprochen, widerspruch, im widerspruch, widersprüchlich, widerlegt"
        ", wird widerlegt, contredit, contradiction, contradictoire, réfute, dément, infirme"
        ", contradice, contradicho, contradicción, contradictorio, refuta, desmiente"
        ", contraddice, contraddetto, contraddizione, smentisce, contradiz, contradito"
        ", contradição, desmente, weerspreekt, tegenspreekt, spreekt tegen, tegenstrijdig, weerlegt"
        ", противоречит, опровергает, суперечить, спростовує, zaprzecza, przeczy, odporuje"
        ", vyvrací, popírá, motsäger, motsier, modsiger, on ristiriidassa, kumoaa, çelişiyor"
        ", çelişir, αντικρούει, αντιφάσκει, διαψεύδει, يناقض, يعارض, يتعارض, סותר, खंडन"
        ", खंडन करता है, mâu thuẫn, bác bỏ, bertentangan, membantah, contrazice, ellentmond"
        ", 矛盾, 相矛盾, 反驳, 反駁, 反对, 反對, 矛盾する, 矛盾している, 反する, 否定する"
        ", 모순, 모순됨, 모순된다, 반박, 반박함, 반박한다"
    ),
    Label.IRRELEVANT: (
        "irrelevant, is irrelevant, irrelevance, not relevant, neutral, unrelated, not related"
        ", not mentioned, no information, not enough info, not enough information, irrelevante"
        ", irrelevantes, nicht relevant, unerheblich, neutre, non pertinent, sans rapport"
        ", hors sujet, hors de propos, no relevante, no pertinente, sin relación"
        ", irrilevante, non pertinente, non rilevante, não relevante, não pertinente, niet relevant"
        ", нерелевантно, не относится, не имеет отношения, неважно, nieistotne, nieistotny"
        ", irelevantní, nerelevantní, ej relevant, inte relevant, ikke relevant, epäolennainen"
        ", ilgisiz, alakas\u0131z, άσχετο, غير ذي صلة, غير متعلق, לא רלוונטי, अप्रासंगिक"
        ", không liên quan, tidak relevan, irelevant, irreleváns"
        ", 无关, 不相关, 不相干, 无关紧要, 無關, 不相關, 無関係, 関係ない, 関連なし, 関係なし"
        ", 무관, 무관함, 관련 없음, 관련없음"
    ),
}
"""Forms of the three labels, and what they are called in languages that rules get translated to."""


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text.translate(_UNSEEN)).casefold()
    folded = folded.replace("i\u0307", "i")  # of the Turkish capital
    return " ".join(unicodedata.normalize("NFC", folded).replace("_", " ").split())


_UNSEEN = dict.fromkeys(map(ord, "\0\ufeff\u200b\u200c\u200d\u2060"))
_LABELS = {_plain(form): label for label, forms in _WORDS.items() for form in forms.split(", ")}
_MARKS = " \t\r\n\"'`*_#.,;:!()[]{}<>«»“”‘’„。、\\-–—"
_LED = re.compile(
    r"(?:(?:the\s)?(?:final\s)?(?:answer|label|verdict|classification)(?:\sis)?\s?[:=]"
    r"|label\.|boxed\{|the\sdocument|this\sdocument|it|\(?[a-c1-3][.):](?=\s))"
    r"[\s*_`\"'({:]*"
)
_LABELLED = re.compile(r"(?:the|this)\sclaim|to\s(?:the|this)\sclaim|by\sthe\sdocument")
_EXPLAINABLE = frozenset({"supports", "contradicts", "irrelevant"})
"""In other words it is not known how an explanation may negate them."""
_EXPLAINED = re.compile(r"(?P<label>[^\W\d_]+)[*_\"'`)\]]{0,4}\s{0,4}(?:[.:,;(–—]|\s-\s)")
_SIDES = re.compile(r"support|contradict")
_ANY_LABEL = re.compile(r"support|contradict|irrelevan|relevant|\bno[tn]?\b|neither|partly|partial")
ANSWER_ALIASES = dict.fromkeys(
    (
        *(
            "label",
            "verdict",
            "classification",
            "judgment",
            "judgement",
            "relation",
            "relationship",
            "stance",
            "decision",
        ),
        *("final_answer", "final_label"),
    ),
    "answer",
)
"""Other names that judges give to the field of the label."""


def read_label(said: str) -> Label:
    """The label that a text says.

    Punctuation and words such as "Answer:" around it make no difference, and an explanation may
    follow that names no label.
    """
    text = _plain(said)
    if text.endswith("?"):
        raise ValueError("its label was a question")
    text = text.strip(_MARKS)
    for _ in range(2):
        if found := _LED.match(text):
            text = text[found.end() :].strip(_MARKS)
    if (label := _LABELS.get(text)) is not None:
        return label
    verb, _, rest = text.partition(" ")
    if verb == "is":
        verb, _, rest = rest.partition(" ")
    if verb in _LABELS and _LABELLED.fullmatch(rest):
        return _LABELS[verb]
    explained = _EXPLAINED.match(text)
    if explained and explained["label"] in _EXPLAINABLE:
        found_label = _LABELS[explained["label"]]
        other = _SIDES if found_label is Label.IRRELEVANT else _ANY_LABEL
        label = None if other.search(text, explained.end()) else found_label
    if label is None:
        raise ValueError(f"its label was none of {', '.join(_WORDS)}")
    return label


def label_of(reply: Mapping[str, Any]) -> Label:
    """The label in a verdict: the text of ``answer``, or of a list or an object of one."""
    labels = {_label_in(reply["answer"])} if "answer" in reply else set[Label]()
    for name in reply.keys() & ANSWER_ALIASES.keys():
        with suppress(ValueError):  # beside an answer, it may be anything
            labels.add(_label_in(reply[name]))
    if len(labels) != 1:
        raise ValueError("its labels were different" if labels else "it had no label")
    return labels.pop()


def _label_in(value: Any) -> Label:
    for _ in range(2):
        if isinstance(value, Mapping):
            value = [*value.values()]
        if isinstance(value, list) and len(value) == 1:
            [value] = value
    if not isinstance(value, str):
        raise ValueError("its label was no text")  # noqa: TRY004 - asked for again
    return read_label(value)


def text_of(reply: Mapping[str, Any], field: str) -> str | None:
    """The text in a field that explains a verdict; None where it is blank, null or left out."""
    value = reply.get(field)
    if isinstance(value, list | Mapping):
        parts = value.values() if isinstance(value, Mapping) else value
        value = " … ".join(part for part in parts if isinstance(part, str))
    return (value if isinstance(value, str) else "").strip() or None
