"""Finds where sentences end in European, Indic, Chinese and Japanese text.

The same splitter is used for passages of answers, windows of documents, and displayed evidence. A
revision replaces one sentence. If the sentence were cut in the wrong place, half of it would stay
next to its replacement, whereas too long a passage does no harm. So a full stop that may belong to
an abbreviation or an ordinal ends a sentence only if the next word often opens sentences.

Libraries do worse on the hard texts of ``tests/test_sentences.py``: sentencex splits 87 of 137 of
them correctly (docs/findings/readers.md). The time taken is linear in the length of the text.
"""

import re

CITATIONS = r"(?:[ \t]{0,20}\[[^\[\]\n]{1,120}\]){0,40}"
"""A regular expression for a series of citations, which are numbers or names in brackets."""

# Marks that end a sentence in various scripts.
_STOPS = ".!?…।॥؟۔։።។၊།\u037e"
_CJK_STOPS = "。！？｡．"
_MARK = rf"[{_STOPS};{_CJK_STOPS}]"
"""The first character of each pattern below. A search passes quickly over all other characters."""
# What follows the first mark: further marks, closing marks, notes and citations. White space comes
# next, except after Chinese and Japanese sentences (the last part). Greek questions end with ";".
# French has a space before "»".
_AFTER_ANY_MARK = (
    rf"(?<![{_STOPS}][{_STOPS};])"
    rf"(?:(?<=[{_STOPS}])[{_STOPS}]*+|(?<=[\u0370-\u03ff\u1f00-\u1fff];))(?:[ \u00a0\u202f]»)?"
    rf"[\"'“”‘’»)*_¹²³⁰⁴-⁹]*+(?P<cited>{CITATIONS})(?=\s|$)"
    rf"|(?<=[{_CJK_STOPS}])[{_CJK_STOPS}]*+[”’」』）]*+(?P<cited_cjk>{CITATIONS})"
)
# White space, quotation marks and brackets that may precede a sentence.
_OPENING = re.compile("[\\s\"'“‘„«»(*_¿¡]*+")
# The word before the end of a sentence, without an opening mark before it.
_LAST_WORD = re.compile(r"[^\s(\[\"'“„«]+$")
# How many characters on each side of a full stop are examined. The patterns need at most two words
# on each side, and the bound keeps the time linear.
_NEARBY = 60

_NEVER_ENDS = re.compile(
    r"(?:^|[\s(\"'“„«.])(?:"
    r"Drs?|Mrs?|Ms|Mx|Prof|Gen|Lt|Col|Sen|Rep|Gov|Capt|Cpt|Cmdr|Sgt|Maj|Rev|Hon|Pres|Messrs|Supt"
    r"|Fr|Hr|Frl|Ing|Dipl|Mag|Sra|Srta|Dra|Mme|Mlle|MM|Mgr|Sig|Dott|Avv|Dhr|Mevr"
    r"|[Vv]s|[Cc]f|[Cc]a|[Cc]irca|[Aa]pprox|[Vv]gl|[Bb]zw|[Ii]nkl|[Ee]xkl|[Ss]og|[Gg]gf|[Ee]vtl"
    r"|[Bb]ijv|[Nn]p|[Nn]apř?|[Tt]zv|[Tt]zn|[Tt]j|ul|nám|av|osv|ул|просп|пл|им|см|ср|напр|проф|акад"
    r"|e\. ?g|i\. ?e|z\. ?B|d\. ?h|u\. ?a|o\. ?ä|s\. ?o|s\. ?u|p\. ?ex|p\. ?ej|p\. ?es|[Aa]d es"
    r"|t\. ?ex|f\. ?eks|bl\. ?a|m\. ?a|J\.-C|т\. ?[екп]"
    r"|Yes|No|Ja|Nein|Oui|Non|Sí"
    r")$"
)
"""Abbreviations that never end a sentence, because a name or an explanation follows them. "Yes" and
"No" are included, since they stay with the sentence that follows. This list and the next ones were
written by hand, and the texts of ``tests/test_sentences.py`` check them."""
_YES_OR_NO = re.compile("(?:Yes|No|Ja|Nein|Oui|Non|Sí)")  # stays with its sentence: "Yes! It was."
_MAY_END = frozenset(
    """
    inc ltd corp co bros plc llc jr sr esq etc al usw ibid ff seq univ dept assn assoc ave blvd
    rd st bldg max min mio mrd bn chr anm abb abs hrsg geb gest str tel jan feb apr jun jul aug
    sep sept oct nov dec okt dez janv févr avr juil déc ene dic genn febbr magg fig figs eq eqs
    vol vols sec secs pp nr nos ch chap eds trans pag pág núm tab taf kap bd ziff obr odst rys
    rozdz blz afb г гг в вв д стр рис табл обл р руб коп тыс млн млрд
    """.split()  # noqa: SIM905 - a list of strings would fill a page
)
"""Abbreviations that end a sentence only if the next word often opens sentences."""
_NO_SURE_ENDS = ("circa", "pprox", "essrs", *(word[-5:] for word in _MAY_END if len(word) > 4))
"""The last five letters of abbreviations with at least five letters."""
_END = re.compile(
    rf"{_MARK}(?:"
    r"(?<=[a-z]{5}\.)(?= [A-Z])(?<![b-df-hj-np-tv-xz]{5}\.)"
    rf"(?<!(?:{'|'.join(_NO_SURE_ENDS)})\.)(?P<surely>)|{_AFTER_ANY_MARK})"
)
"""A possible end of a sentence. A match without the group ``surely`` needs further checks.

A full stop certainly ends a sentence if at least five lower-case letters precede it and a capital
follows, unless the word is one of a few abbreviations or its last five letters are consonants.
"""
# Units have no vowel either, but are written without a full stop, so a full stop after a unit ends
# a sentence.
_UNITS = frozenset(("km", "cm", "mm", "kg", "mg", "ml", "hz", "kb", "mb", "gb", "lb", "hp", "kw"))
_VOWELS = re.compile("[aeiouy]", re.IGNORECASE)
_LONGEST_NEVER_ENDING = 10
"""Maximum length of a match of ``_NEVER_ENDS``, including the character before the abbreviation."""
_SHORT, _LONGEST_ABBREVIATION = 4, 5
"""Lengths in letters. Most words of up to four letters before a full stop and a number are
abbreviations, such as "obr. 3". An abbreviation without a vowel has at most five letters."""
_LONGEST_ORDINAL = 3  # digits; a number of four digits is a year, which may end a sentence
_ROMAN = re.compile("[IVXLC]{2,}")
# Letters with full stops between them, such as "U.S" in "U.S.".
_ACRONYM = re.compile(r"(?:[^\W\d_]{1,2}\.){1,5}[^\W\d_]")
_COUNTED = re.compile(r"[^\W\d_]{1,9}\.[ \u00a0]{1,2}[\dIVXLC]+$")
"""A number after an abbreviation, such as "Fig. 2" or "Jan. 3".

A number after an abbreviation is not an ordinal.
"""
_NUMBERED = re.compile(
    r"\b(?:[Ww]ar|[Pp]art|[Pp]hase|[Tt]ype|[Cc]lass|[Ss]tage|[Cc]hapter|[Aa]ct|[Vv]olume|[Bb]ook"
    r"|[Gg]rade|[Gg]roup|[Tt]itle|[Aa]rticle|[Cc]ategory|[Ll]evel|[Pp]lan|[Vv]itamin|[Hh]epatitis"
    r"|[Ii]nfluenza|[Nn]umber|[Vv]ersion|[Ff]igure|[Tt]able|[Ss]tep|[Dd]ay|[Ww]eek|[Ss]core)"
    r" (?:[A-Z]{1,5}|\d{1,3})$"
)
"""A word with a number or letter that belongs to it, and so is neither an initial nor an ordinal:
"World War I", "vitamin C", "grade 2"."""
# "I" after a word, as in "taller than I."
_FIRST = re.compile(r"[^\W\d_] I$")

_OPENER = re.compile(
    r"(?:The|Th(?:en|ey|eir|ere|is|at|ese|ose)|It|Its|In|On|At|As|For|From|By|With|After"
    r"|Before|During|Since|Until|When|While|Where|Although|However|But|And|If|Some|Most|Many|Both"
    r"|Each|Another|Because|Later|Also|Only|Once|Not|What|Which|Who|Why|How|Nobody|Everyone"
    # German, Dutch
    r"|Der|Die|Das|Eine?|Er|Sie|Es|Wir|Ich|Im|Am|An|Auf|Bei|Mit|Nach|Von|Vor|Zu|Zum|Zur|Danach|Dann"
    r"|Dort|Doch|Aber|Und|Oder|Auch|Als|Wenn|Weil|Seit|Bis|Durch|Ihre?|Seine?|Diese[rs]?|Dies|Nur"
    r"|Noch|Heute|Später|Jedoch|Man|Keine?|Het|Een|Hij|Zij|Ze|Dit|Dat|Deze|Daarna|Toen|Maar"
    # French, Spanish, Italian, Portuguese
    r"|Les?|La|L[’']|Ils?|Elles?|Une?|Ce|Cette|C[’']|Dans|Par|Pour|Sur|Avec|Mais|Et|Puis|Ensuite|Après"
    r"|Avant|Ses|Leur|Nous|Depuis|El|Los|Las|Una|Era|Fue|Con|Pero|Y|Sus?|Se|Ella|Él|Ellos|Est[aeo]"
    r"|Cuando|Luego|Después|Lo|Gli|È|Nel|Nella|Ma|Poi|Dopo|Si|Sono|Os|Um|Uma|Eles?|Elas?|É|Em|Na"
    # Nordic, Slavic
    r"|Den|Det|De|Ett?|Han|Hun|Hon|På|Men|Og|Och|Då|Så|Ona?|Ono|To|Ten|Ta|Po|Je|Byla?|Potom"
    r"|Он[аои]?|Эт[аои]|Этот|На|В|По|С|К|И|А|Но|Там|Затем|Потом|После|Его|Её|Их|Мы"
    r")\b(?!\.)"
)
"""Words that open sentences and never continue a name. A full stop before such a word ends a
sentence ("the U.S. In")."""
_NAME_OR_OPENER = re.compile(r"(?:He|She|We|You|So|An?|No|I)\b(?!\.)")
"""Words that open sentences but are also surnames. After an initial, such a word does not show that
a sentence begins ("Y. He")."""

_LINE = re.compile(r"\S[^\n]*+")
_SPACES = re.compile(r"\s*+")


def sentence_ends(text: str) -> list[int]:
    """Return the offset after each sentence of a paragraph, except the last sentence.

    Citations in brackets after a full stop belong to the sentence before it. White space and
    quotation marks at the end of the text belong to the last sentence.
    """
    start = 0
    return [
        start := end
        for match in _END.finditer(text)
        if (end := match.end() if match.lastgroup == "surely" else _end_at(text, start, match))
    ]


def _end_at(text: str, start: int, match: re.Match[str]) -> int:
    """Return where a sentence from ``start`` ends if it ends at a mark; 0 if it goes on."""
    end = match.end()
    cited = match["cited"] or match["cited_cjk"] or ""
    opens = _end_of(_OPENING, text, end)
    rest = text[opens : opens + _NEARBY]
    if not rest:  # the last sentence of the text
        return 0
    goes_on = rest[0].islower() or rest[0] in ".,;:)…"
    if cited and goes_on:  # the citation is the subject of the next sentence: "[2] says so"
        return end - len(cited)
    return 0 if not cited and (goes_on or _is_within(text, start, match, rest)) else end


def sentence_starts(text: str) -> list[int]:
    """Return the offsets at which the sentences and lines of a text begin, ascending from 0."""
    starts, last = [0], 0
    for line in _LINE.finditer(text):
        begin = line.start()
        starts += [
            last := start
            for end in (begin, *[begin + end for end in sentence_ends(line[0])])
            if (
                start := end + 1  # the usual case: a single space
                if text[end : end + 1] == " " and "!" <= text[end + 1 : end + 2] <= "~"
                else _end_of(_SPACES, text, end)
            )
            > last
        ]
    return starts


def _end_of(pattern: re.Pattern[str], text: str, start: int) -> int:
    match = pattern.match(text, start)
    return match.end() if match else start


def _is_within(text: str, start: int, match: re.Match[str], rest: str) -> bool:
    """Return whether a full stop is inside a sentence although no lower-case letter follows it."""
    at = match.start()
    mark = match[0].rstrip("*_")
    if mark != ".":  # only a full stop can end an abbreviation
        return mark == "!" and _is_yes_or_no(text, start, at)
    before = text[max(start, at - _NEARBY) : at].lstrip()
    word = _last_word(before)
    # the search starts as far back as the longest abbreviation; "^" still means the text's start
    abbreviates = _NEVER_ENDS.search(before, max(0, len(before) - _LONGEST_NEVER_ENDING))
    # a number or letter at the start is the mark of a list item: "3. The lamp", "b. The lamp"
    if abbreviates or (word == before and (word.isdecimal() or len(word) == 1)):
        return True
    if rest[:1].isdigit():
        return _goes_before_a_number(word)
    if _OPENER.match(rest):
        return False
    if word.isdecimal() or _ROMAN.fullmatch(word):
        return _is_ordinal(word, before, rest)
    if len(word) == 1 and word.isalpha():
        return _is_initial(before, rest)
    return _may_be_short(word) and not _NAME_OR_OPENER.match(rest)


def _is_yes_or_no(text: str, start: int, end: int) -> bool:
    """Return whether a span is only a word such as "Yes"."""
    return end - start < _NEARBY and bool(_YES_OR_NO.fullmatch(text[start:end].strip()))


def _last_word(text: str) -> str:
    """Return the last word of a text, without brackets and quotation marks before it."""
    match = _LAST_WORD.search(text, text.rfind(" ", 0, -1) + 1)
    return match[0] if match else ""


def _is_ordinal(number: str, before: str, rest: str) -> bool:
    """Return whether a number before a full stop is an ordinal ("5. Mai", "XIV. Gregor")."""
    # Roman numbers take about twice as many digits ("XVIII" for 18)
    longest = _LONGEST_ORDINAL if number.isdecimal() else 2 * _LONGEST_ORDINAL
    if not rest[:1].isupper() or len(number) > longest:
        return False
    return not (_COUNTED.search(before) or _NUMBERED.search(before))


def _is_initial(before: str, rest: str) -> bool:
    """Return whether a letter before a full stop is an initial, and not "I" or part of "Plan B"."""
    is_pronoun = _FIRST.search(before) and _NAME_OR_OPENER.match(rest)
    return not (is_pronoun or _NUMBERED.search(before))


def _goes_before_a_number(word: str) -> bool:
    if word.isdecimal():
        return len(word) <= _LONGEST_ORDINAL  # "4. 5. 1932"
    return 0 < len(word) <= _SHORT or _may_be_short(word)


def _may_be_short(word: str) -> bool:
    """Return whether a word may be an abbreviation, for example because it has no vowel."""
    if _ACRONYM.fullmatch(word) or word.casefold() in _MAY_END:
        return True
    voiceless = word.isascii() and word.isalpha() and not _VOWELS.search(word)
    usual = word.isupper() or word.casefold() in _UNITS
    return voiceless and not usual and 1 < len(word) <= _LONGEST_ABBREVIATION
