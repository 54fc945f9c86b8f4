"""For each language, words that deny, words for yes and no, and sentences that report a dispute.

A language is recognised by its script or its most frequent words. Texts in any other language are
compared by their words alone, and no sentences are added to them.

Limits without a stated reason were chosen by hand.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from conflictscore.scripts import word_set

_LOOKED_AT = 2000  # Number of characters that are read to recognise a language, to save time.


class Language(NamedTuple):
    """A language in which statements are compared and hedges are written.

    Attributes:
        common: Frequent words by which the language is recognised.
        denials: Words that deny.
        yes: Words that mean yes without other words, the usual one first.
        no: Words that mean no without other words, the usual one first.
        disagree: Beginning of a sentence that states a dispute; None if the package has no wording
            for it.
        disagree_on_year: Beginning of a sentence that states a dispute about a year.
        depends: Beginning of a sentence that distinguishes several things with the same name.
        another: Beginning of a sentence that follows a dispute about a thing, and is about another
            thing with the same name.
        either: The word between two alternatives, such as "or".
        others_say: Beginning of a sentence that is added to a passage with further claims.
        stop: Full stop.
    """

    common: frozenset[str]
    denials: frozenset[str]
    yes: tuple[str, ...] = ()
    no: tuple[str, ...] = ()
    disagree: str | None = None
    disagree_on_year: str | None = None
    depends: str | None = None
    another: str = ""
    either: str = ""
    others_say: str = ""
    stop: str = "."


LANGUAGES: dict[str, Language] = {
    "en": Language(
        word_set("the of and in is was to it that for on with by as at from were are an be this"),
        word_set("no not never none neither nor cannot without"),
        ("yes", "true", "correct"),
        ("no", "false", "incorrect"),
        "Sources disagree",
        "Sources disagree on the year",
        "It depends on which one is meant",
        "Another one may be meant",
        "or",
        "Other sources disagree",
    ),
    "de": Language(
        word_set(
            "der die das und ist war ein eine den dem des im von mit auf wurde nicht sind ab zu"
        ),
        word_set("nicht kein keine keiner keinen keinem keines nie niemals nichts ohne weder"),
        ("ja", "richtig", "wahr"),
        ("nein", "falsch", "unwahr"),
        "Die Quellen widersprechen sich",
        "Die Quellen nennen verschiedene Jahre",
        "Es kommt darauf an, was gemeint ist",
        "Es kann auch etwas anderes gemeint sein",
        "oder",
        "Andere Quellen sagen",
    ),
    "fr": Language(
        word_set(
            "le la les des et est une du dans que qui en au par sur pour était été fut il elle"
        ),
        word_set("ne pas jamais aucun aucune rien sans ni non"),
        ("oui", "vrai"),
        ("non", "faux"),
        "Les sources se contredisent",
        "Les sources donnent des années différentes",
        "Cela dépend de ce qui est visé",
        "Il peut aussi s'agir d'autre chose",
        "ou",
        "D'autres sources disent",
    ),
    "es": Language(
        word_set("el la los las de y es una en que del se por con fue era su al para"),
        word_set("no nunca jamás ningún ninguna ninguno nada sin ni"),
        ("sí", "verdadero"),
        ("no", "falso"),
        "Las fuentes no coinciden",
        "Las fuentes dan años distintos",
        "Depende de cuál se trate",
        "También puede tratarse de otro",
        "o",
        "Otras fuentes dicen",
    ),
    "it": Language(
        word_set("il lo la gli le di e è una in che del della nel fu era con per si al"),
        word_set("non mai nessun nessuno nessuna niente nulla senza né"),
        ("sì", "vero"),
        ("no", "falso"),
        "Le fonti non concordano",
        "Le fonti indicano anni diversi",
        "Dipende da quale si intende",
        "Può anche trattarsi di altro",
        "o",
        "Altre fonti dicono",
    ),
    "pt": Language(
        word_set("o a os as de e é uma em que do da no na foi era com por se ao para"),
        word_set("não nunca jamais nenhum nenhuma nada sem nem"),
        ("sim", "verdadeiro"),
        ("não", "falso"),
        "As fontes discordam",
        "As fontes indicam anos diferentes",
        "Depende de qual se trata",
        "Também pode tratar-se de outro",
        "ou",
        "Outras fontes dizem",
    ),
    "nl": Language(
        word_set("de het een en van is was in op met voor dat die werd zijn niet aan te door"),
        word_set("niet geen nooit niets zonder noch"),
        ("ja", "waar"),
        ("nee", "onwaar"),
        "De bronnen spreken elkaar tegen",
        "De bronnen noemen verschillende jaren",
        "Het hangt ervan af welke bedoeld is",
        "Er kan ook een andere bedoeld zijn",
        "of",
        "Andere bronnen zeggen",
    ),
    "sv": Language(
        word_set("och att det som en ett på är av för med den till var inte från om"),
        word_set("inte ej aldrig ingen inget inga utan"),
        ("ja", "sant"),
        ("nej", "falskt"),
        "Källorna är oense",
        "Källorna anger olika år",
        "Det beror på vilken som avses",
        "Det kan också vara en annan som avses",
        "eller",
        "Andra källor säger",
    ),
    "da": Language(
        word_set("og at det som en et på er af for med den til var ikke fra om blev"),
        word_set("ikke aldrig ingen intet uden"),
        ("ja", "sandt"),
        ("nej", "falsk"),
        "Kilderne er uenige",
        "Kilderne angiver forskellige år",
        "Det kommer an på, hvad der menes",
        "Der kan også menes en anden",
        "eller",
        "Andre kilder siger",
    ),
    "pl": Language(
        word_set("i w na z do się jest nie to że od przez był była został oraz po dla"),
        word_set("nie nigdy żaden żadna żadne nic bez ani"),
        ("tak", "prawda"),
        ("nie", "fałsz"),
        "Źródła się różnią",
        "Źródła podają różne lata",
        "To zależy, o co chodzi",
        "Może też chodzić o co innego",
        "lub",
        "Inne źródła podają",
    ),
    "ru": Language(
        word_set("и в на по не что это был была было от до для из к как"),
        word_set("не нет никогда ничего никто никакой без ни"),
        ("да", "верно"),
        ("нет", "неверно"),
        "Источники расходятся",
        "Источники называют разные годы",
        "Это зависит от того, что имеется в виду",
        "Возможно, имеется в виду другое",
        "или",
        "Другие источники сообщают",
    ),
    "ja": Language(
        frozenset(),
        word_set("ない ません なかった ではありません ず"),
        ("はい",),
        ("いいえ",),
        "情報源によって異なります",
        "情報源によって年が異なります",
        "どれを指すかによります",
        "別のものを指す場合もあります",
        "または",
        "別の情報源によると",
        "。",
    ),
    "zh": Language(
        frozenset(),
        word_set("不 没 沒 無 无 未 非"),
        ("是", "对"),
        ("不是", "不对"),
        "来源说法不一",
        "各来源给出的年份不同",
        "这取决于所指的是哪一个",
        "也可能指另一个",
        "或",
        "其他来源称",
        "。",
    ),
}
"""The languages, by ISO 639-1 code.

Languages without spaces between words are recognised by their script. Each list has about 20 common
words, so that no language is more likely to be recognised than another.
"""

_LANGUAGES_WITH = {
    word: [code for code, language in LANGUAGES.items() if word in language.common]
    for word in frozenset[str]().union(*(language.common for language in LANGUAGES.values()))
}
"""Maps each common word to the codes of the languages that have it."""

_UNSPACED = ("ja", "zh")
# Japanese syllables, which Chinese lacks, and characters that both languages use.
_KANA, _HAN = re.compile("[\u3040-\u30ff]"), re.compile("[\u4e00-\u9fff]")
_SPACED_WORD = re.compile(r"[^\W\d_\u3040-\u30ff\u4e00-\u9fff]+")
_WORD = re.compile(r"[^\W\d_]+")
_SPACED_DENIALS = frozenset[str]().union(
    *(language.denials for code, language in LANGUAGES.items() if code not in ("en", *_UNSPACED))
) - {"no", "ni", "e", "ne", "ej"}
"""Denials in languages other than English, for texts of unknown language. Words with a different
meaning in some language are left out, such as "no" (Portuguese for "in the") and "ni" (Swedish for
"you")."""
# Denials in languages without spaces; the search for them includes parts of words.
_DENIALS_OF_SCRIPT = {
    "ja": re.compile("ない|ません|なかった|ではあり|ず[。、]"),
    "zh": re.compile("[不没沒無无未]"),
}


@lru_cache(maxsize=256)  # several rules need the language of the same text
def language_of(*texts: str) -> str | None:
    """Return the code of the language of several texts; None if it is uncertain.

    A later text is used only if the earlier texts leave the language uncertain. For example, the
    language of the answer "1871." is the language of its question.
    """
    for text in texts:
        if (code := _language_of(text[:_LOOKED_AT])) is not None:
            return code
    return None


def _language_of(text: str) -> str | None:
    if not text.isascii():
        kana, han = len(_KANA.findall(text)), len(_HAN.findall(text))
        # a text in a different script may quote a name in this script
        if kana + han > len(_SPACED_WORD.findall(text)):
            return "ja" if kana else "zh"
    hits = dict.fromkeys(LANGUAGES, 0)
    for word in filter(_LANGUAGES_WITH.__contains__, _WORD.findall(text.casefold())):
        for code in _LANGUAGES_WITH[word]:
            hits[code] += 1
    best, second = sorted(hits, key=lambda code: -hits[code])[:2]
    return best if hits[best] > hits[second] else None


def denies_in_any(text: str) -> bool:
    """Return whether a text contains a word of denial from a language other than English."""
    code = _language_of(text)
    if code in _DENIALS_OF_SCRIPT:
        return bool(_DENIALS_OF_SCRIPT[code].search(text))
    words = set(_WORD.findall(text.casefold()))
    if code is not None and code != "en":
        return not words.isdisjoint(LANGUAGES[code].denials)
    return code is None and not words.isdisjoint(_SPACED_DENIALS)


def opposite_word(word: str, hints: Iterable[str]) -> str | None:
    """Return the opposite of a bare yes or no, in the same language; None for any other word.

    If the word belongs to several languages (for example, "ja" to four), ``hints`` decide.
    """
    plain, language = word.casefold(), _language_with(word, hints)
    if language is None:
        return None
    # the words for yes and no form pairs; a word without a partner gets the last of the other list
    words, opposites = language.yes, language.no
    if plain not in words:
        words, opposites = opposites, words
    return opposites[min(words.index(plain), len(opposites) - 1)]


def yes_or_no(word: str, *hints: str) -> bool | None:
    """Return whether a word means yes in its language; None if it means neither yes nor no."""
    language = _language_with(word, hints)
    return None if language is None else word.casefold() in language.yes


def _language_with(word: str, hints: Iterable[str]) -> Language | None:
    """Return the language of a bare yes or no: the hints' language, or the only one with the word.

    If the hints reveal no language, the first language in ``LANGUAGES`` with the word is assumed.
    """
    plain = word.casefold()
    codes = [code for code, each in LANGUAGES.items() if plain in (*each.yes, *each.no)]
    code_of_hints = language_of(*hints)
    if code_of_hints in codes:
        return LANGUAGES[str(code_of_hints)]
    # hints in a language without the word do not decide between several languages that have it
    if not codes or (code_of_hints is not None and len(codes) > 1):
        return None
    return LANGUAGES[codes[0]]
