"""Reading the label that a judge wrote: in any case, inflected, or in the language of its rules."""

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from conflictscore.records import Label

__all__ = ["read_label", "text_of"]

_WORDS = {
    Label.SUPPORTS: (
        "support, supports, supported, supporting, is supported, supportive"
        ", unterstützt, gestützt, bestätigt, belegt"
        ", soutient, soutenu, appuie, confirme, étaye"
        ", apoya, respalda, apoyado, confirma, sustenta"
        ", supporta, sostiene, supportato, conferma"
        ", apoia, suporta, apoiado, ondersteunt, ondersteund, bevestigt"
        ", поддерживает, подтверждает, подтверждается"
        ", 支持, 支持する, 裏付ける, 지지, 지지함, 뒷받침"
    ),
    Label.CONTRADICTS: (
        "contradict, contradicts, contradicted, contradicting, is contradicted, contradiction"
        ", contradictory, widerspricht, widersprochen, widerspruch"
        ", contredit, contradiction, contradictoire"
        ", contradice, contradicho, contradicción, contradictorio"
        ", contraddice, contraddetto, contraddizione, contradiz, contradito, contradição"
        ", weerspreekt, tegenspreekt, spreekt tegen, tegenstrijdig"
        ", противоречит, опровергает, 矛盾, 反驳, 反駁, 矛盾する, 反する, 모순, 반박"
    ),
    Label.IRRELEVANT: (
        "irrelevant, is irrelevant, irrelevance, not relevant, irrelevante, irrelevantes"
        ", nicht relevant, non pertinent, sans rapport, no relevante, irrilevante, non pertinente"
        ", non rilevante, não relevante, niet relevant, нерелевантно, не относится"
        ", 无关, 不相关, 無關, 不相關, 無関係, 関係ない, 무관, 관련 없음"
    ),
}
"""Forms of the three labels, and what they are called in languages that rules get translated to."""
_LABELS = {form.strip(): label for label, forms in _WORDS.items() for form in forms.split(",")}
_AROUND = " \t\r\n\"'`*_#.,;:!()[]{}<>«»“”‘’„。、"
_EXPLAINABLE = frozenset({"supports", "contradicts", "irrelevant"})
"""In other words it is not known how an explanation may negate them."""
_EXPLAINED = re.compile(r"(?P<label>[^\W\d_]+)[*_\"'`)\]]{0,4}\s{0,4}(?:[.:,;(–—]|\s-\s)")
_ANY_LABEL = re.compile(r"support|contradict|irrelevan|relevant|\bno[tn]?\b|neither|partly|partial")


def read_label(said: str) -> Label:
    """The label that a text says.

    Punctuation around it makes no difference, and an explanation may follow that names no label.

    Args:
        said: What stands where the label is to stand.

    Raises:
        ValueError: It says none of the three, or something else beside it.
    """
    text = unicodedata.normalize("NFKC", said).casefold().strip(_AROUND)
    words = " ".join(text.replace("_", " ").split())
    if (label := _LABELS.get(words)) is not None:
        return label
    explained = _EXPLAINED.match(text)
    if explained and not _ANY_LABEL.search(text, explained.end()):
        label = _LABELS.get(explained["label"]) if explained["label"] in _EXPLAINABLE else None
    if label is None:
        raise ValueError(f"its label was none of {', '.join(_WORDS)}")
    return label


def text_of(reply: Mapping[str, Any], field: str) -> str | None:
    """The text in a field of a reply; None where it is blank, null or left out.

    Raises:
        ValueError: Something else stands there.
    """
    value = reply.get(field)
    if isinstance(value, list) and len(value) == 1:
        [value] = value
    if value is not None and not isinstance(value, str):
        raise ValueError(f"its {field} was no text")
    return (value or "").strip() or None
