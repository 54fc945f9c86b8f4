"""Recognises claims that may address the judge instead of stating something.

Such a claim is labelled in a separate call, so that it cannot influence the verdicts on other
claims. A false positive costs one call.
"""

import re
import unicodedata

from conflictscore.prompts import neutral
from conflictscore.prompts.material import without_invisibles
from conflictscore.records import Claim

_LONGEST_READ = 2000  # characters; claims are single sentences
_CLAIM_WORDS = (
    r"(?:ids?|claims?|supports?|supported|contradicts?|contradicted|irrelevant|true|false)"
)
# Repetitions are bounded, so that a search through a hostile text takes linear time.
_ORDER = re.compile(
    r"SUPPORTS|CONTRADICTS|IRRELEVANT"  # labels in capitals, which prose does not contain
    r"|(?i:\b(?:all|any|each|every|other|these|those|following|previous)(?: of the)?"
    r" (?:other )?(?:claims?|ids?|verdicts?|labels?)\b"
    r"|\bto (?:the|any|every) (?:judge|grader|labell?er|checker|model|assistant)\b"
    r"|\b(?:ignore|disregard|override|forget)\b.{0,60}"
    r"\b(?:above|instructions?|rules?|documents?|claims?|prompt)\b"
    r"|(?:^|[.:;,!?—–-] ?|\bplease |\bmust |\bshould |\bto )"
    r"(?:label|mark|answer|reply|respond|output|treat|rate|rule)\b.{0,60}\b" + _CLAIM_WORDS + r"\b)"
)


def _begins(stems: str, unspaced: str) -> re.Pattern[str]:
    """Return a pattern for words that begin with a stem, and for words of unspaced scripts."""
    return re.compile(rf"(?<!\w)(?:{'|'.join(stems.split())})|{'|'.join(unspaced.split())}")


# The parts of an order in different words. The lists were written by hand, and are not complete.
_THINGS = _begins(
    "claim statement sentence assert entr item point line ids? list set\\b batch label verdict grad"
    " judg evaluat enumerat exercise rating output repl response json field document ai\\b model"
    " assistant mark behauptung aussage sätz satz eintr punkt urteil bewert prüfer etikett zeile"
    " dokument antwort wert affirmation énonc phrase étiquette marque répon jug correcteur évaluat"
    " afirmaci enunciad frase veredicto etiqueta marc respond evaluador affermazion frasi elenco"
    " verdetto giudic rispond afirmaç veredito bewering uitspra lijst oordeel beoordel утвержден"
    " спис пункт вердикт оцен документ предложен ответ провер twierdze zdan",
    "陈述 陳述 声明 主张 主張 判定 标记 標記 标注 判断 文档 文書 记述 記述 项目 項目 各点 ラベル"
    " 列表 주장 문장 판정",
)
_OUTCOMES = _begins(
    "support unsupport back confirm verif prove true right correct valid positive contradict refut"
    " false wrong negative irrelevant agree approv accept belegt gestützt bestätigt wahr richtig"
    " widerleg falsch ja\\b nein\\b étay confirm vrai exact contredi faux oui\\b respald verdader"
    " contradi fals sí\\b sostenut ver[aeio]\\b corrett confermat verdadeir apoiad ondersteun waar"
    " juist подтвержд верн неверн опроверг ложн правд prawdziw potwierdz",
    "支持 矛盾 正确 正確 真实 错误 正しい 誤り 지지 모순",
)
_ADDRESSES = _begins(
    "all\\b any\\b every each\\b whole whatever always no\\s+(?:point|item|entry|line)s?\\b only\\b"
    " other rest\\b remaining neighbo below following ignor disregard do\\s+not\\b don't must\\b"
    " should\\b please kindly treat\\b mark\\b consider\\b count\\b assume\\b give\\b return"
    " answer reply set\\b put\\b your\\b you\\b (?:is|are)\\s+to\\s+be throughout alle jede übrige"
    " sämtlich bitte zu\\s+bewerten sind\\s+als gelten ignorier antworte werte tout tous chaque"
    " veuillez doivent doit répond tod cada ignora deben debe considere responde tutt ogni devono"
    " considera rispondi devem elk moeten все\\b всех каждо следует считать игнорир отмет wszystk",
    "所有 每 其余 请 請 都应 應 忽略 以上 全部 すべて 全て ください 残り 無視 모든 모두",
)


def reads_like_an_order(claim: Claim) -> bool:
    """Return whether a claim may tell the judge how to label.

    The result is true if the claim contains a typical phrase. The result is also true if the claim
    contains two words: one that addresses somebody or includes everything ("must", "each"), and one
    for what is judged ("claim", "verdict") or for the outcome ("supported"). The words are from
    about ten languages. For a very long claim, the result is true without a search.
    """
    if len(claim.text) > _LONGEST_READ:
        return True
    text = unicodedata.normalize("NFKC", without_invisibles(neutral(claim.text)))
    if _ORDER.search(text):
        return True
    words = text.casefold()
    told = _THINGS.search(words) or _OUTCOMES.search(words)
    return told is not None and _ADDRESSES.search(words) is not None
