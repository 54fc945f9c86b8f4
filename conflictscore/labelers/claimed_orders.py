"""Recognises claims that may address the judge instead of stating something.

Such a claim is kept away from other claims, so that it cannot influence the verdicts on them. A
claim with the words of an order is labelled in a separate call. An order that is reworded,
translated or encoded has no words in common with the documents. All claims without such words are
therefore labelled together in another call. A false positive costs at most one call.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence, Set
from functools import partial

from conflictscore.labelers.protocol import Pair
from conflictscore.prompts import neutral
from conflictscore.prompts.material import without_invisibles
from conflictscore.records import Claim
from conflictscore.scripts import term_sets
from conflictscore.threads import LONG_CHARS, read_in_thread
from conflictscore.word_lists import FUNCTION_WORDS, NEGATIONS

# A claim longer than this many characters is not read, since claims are single sentences.
_LONGEST_READ = 2000
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
    topic = _THINGS.search(words) or _OUTCOMES.search(words)
    return topic is not None and _ADDRESSES.search(words) is not None


_LEAST_ORDER = 16  # bytes, since scripts without spaces take more bytes for a character
_TERM_LETTERS = 5
"""Words count as the same if they begin with the same letters, up to this number."""
_WITNESSES = 2
"""Number of documents that must share a word with a claim to show that it is on the subject. One
is not enough, since a document that demands a hostile claim contains the words of the claim."""
_UNINFORMATIVE = FUNCTION_WORDS | NEGATIONS
_STATEMENT = re.compile(r"(?:The|An?) [A-Z]?[a-z]")
_GUIDES = re.compile(
    r"\b(?:may|ought|let|just|so|if|when|first|next|now|already|here|this|these|th(?:is|at) "
    r"(?:text|page|list)|any\w*|every\w*|no(?:thing|body|ne)?|not|n't|who\w*|what\w*|rest|list"
    r"|options?|task|test|instead|system|user|developer|review\w*|check\w*|audit\w*)\b"
)
"""Matches words that make even a plain English statement suspicious."""


async def strangers(pairs: Sequence[Pair]) -> dict[int, frozenset[int]]:
    """Return the claims that have nothing in common with each document, by number.

    Such a claim shares no informative word with the document, with two other documents, or with a
    claim that shares such a word. Short claims, such as "Yes.", and plain English statements are
    never included. If there is only one document, no claim is included. Long documents are read off
    the event loop.
    """
    claims = {claim.number: claim for claim, _ in pairs}
    documents = {document.number: document for _, document in pairs}
    own = {number: _informative(claim.text) for number, claim in claims.items()}
    if min(len(own), len(documents)) < _WITNESSES or frozenset.intersection(*own.values()):
        return {}  # all claims are about the same thing, or nothing can be compared
    texts = {number: f"{document.title} {document.text}" for number, document in documents.items()}
    possible = {number for number, claim in claims.items() if not _is_plain(claim.text)}
    work = partial(_far_apart, own, texts, possible)
    chars = sum(map(len, texts.values()))
    return work() if chars <= LONG_CHARS else await read_in_thread(work, chars)


def _is_plain(text: str) -> bool:
    """Return whether a claim is short, or a plain English statement without words of an order."""
    if len(text.encode()) < _LEAST_ORDER:
        return True
    words = text.casefold()
    doubtful = (_GUIDES, _THINGS, _OUTCOMES, _ADDRESSES)
    return (
        text.isascii()
        and _STATEMENT.match(text) is not None
        and not any(pattern.search(words) for pattern in doubtful)
    )


def _far_apart(
    own: Mapping[int, frozenset[str]], texts: Mapping[int, str], possible: Set[int]
) -> dict[int, frozenset[int]]:
    """Return the claims, among the possible ones, that have nothing in common with each document.

    ``own`` holds the informative words of each claim, and ``texts`` the text of each document.
    """
    terms_by_document = {number: _informative(text) for number, text in texts.items()}
    documents_by_claim = {
        claim: [n for n, terms in terms_by_document.items() if not words.isdisjoint(terms)]
        for claim, words in own.items()
    }
    far = {}
    for number, terms in terms_by_document.items():
        is_near = {
            claim
            for claim, at in documents_by_claim.items()
            if number in at or len(at) >= _WITNESSES
        }
        near = terms.union(*(own[claim] for claim in is_near))
        far[number] = frozenset(claim for claim in possible if own[claim].isdisjoint(near))
    return far


def _informative(text: str) -> frozenset[str]:
    """Return the beginnings of a text's informative words."""
    [words] = term_sets([text])
    words -= _UNINFORMATIVE
    return frozenset(word[:_TERM_LETTERS] for word in words if len(word) > 1)
