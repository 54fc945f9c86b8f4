"""Removes riders: additions to a document's answer that a correction must not repeat.

Besides an answer, a document may contain an instruction, an offer or an unrelated statement that no
other document supports. So a correction uses only those clauses of a rival that answer the claim's
own question. A correction uses the title of a source only if the title is just a name.

The time of every function is linear in the length of its text.

Limits without a stated reason were chosen by hand.
"""

import re
import unicodedata
from typing import NamedTuple

from conflictscore.active_content import added_active_content
from conflictscore.answering.statements import telling_terms
from conflictscore.correcting.quotations import (
    CONJUNCTION,
    Quotations,
    asks_for_wording,
    quoted_whole,
)
from conflictscore.prompts.material import without_invisibles
from conflictscore.scripts import word_set

_QUESTION_CHARS = 2000  # Maximum number of characters of a question to read.
_ENUMERATED_WORDS = 2  # Maximum number of words in a list item, such as "dark blue".
_ENUMERATED_CHARS = 24  # Maximum number of characters in such a list item.
_UNSPACED_CHARS = 6  # Maximum number of characters in a list item in a script without spaces.
_UNSPACED = re.compile("[\u2e80-\u9fff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
_TITLE_WORDS = 6  # A longer title is likely to be a statement.
_UNSPACED_TITLE = 4  # Maximum number of characters in a title in a script without spaces.
_PARENTHESIS = re.compile(
    "[ \t]{0,4}[(\\[{\uff08\u3010]([^()\\[\\]{}\uff08\uff09\u3010\u3011]{0,400})[)\\]}\uff09\u3011]"
)
_CONDITION = re.compile(
    r"\b(?:if|unless|until|when|whenever|provided|wenn|sofern|lorsque|quand|cuando|quando)\b",
    re.IGNORECASE,
)
"""Matches the beginning of a clause that says when something is allowed or necessary."""
# Where a clause may end: punctuation, dashes, and conjunctions.
_BOUNDARY = re.compile(
    "[ \t]{0,4}(?:[;:](?=\\s)|[\u2013\u2014\uff1b\uff1a()\\[\\]{}])[ \t]{0,4}"
    "|[ \t]{1,4}(?:-{1,2}|[/|])[ \t]{1,4}"
    f"|[ \t]{{0,4}}(?:,(?=\\s)|[\uff0c\u3001\u060c])[ \t]{{0,4}}(?:{CONJUNCTION}[ \t]{{1,4}})?"
    # line breaks, dots of omission, bullets, arrows, pictures, and other signs between spaces
    "|[ \t]{0,4}(?:[\n\u2028\u2029]|\\.{2,}|[\u2026\u2022\u2023\u00b7\u2190-\u23ff\u2500-\u2bff]"
    "|[\U0001f000-\U0001faff])[ \t]{0,4}"
    "|[ \t]{1,4}[+&=*>~][ \t]{1,4}"
    f"|[ \t]{{1,4}}{CONJUNCTION}[ \t]{{1,4}}",
    re.IGNORECASE,
)
_UNFINISHED = re.compile(
    r"(?:^|\W)(?:is|are|was|were|be|ist|sind|war|waren|est|sont|était|es|son|era|è|sono|é|são)\s{0,4}$",
    re.IGNORECASE,
)
"""Matches a verb at the end of a clause that the next clause completes: "the answer is: no"."""
_VERB_CHARS = 12  # length of the longest verb in ``_UNFINISHED``, with the spaces around it
_COMMA = re.compile("\\s{0,4}[,\uff0c]\\s{0,4}")
_LAST_PERIOD = re.compile(r"\.[^\w\s]?\Z")
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")
# Questions that ask for an explanation; "how many" and the like ask for a value.
_OPEN_QUESTION = re.compile(
    r"\b(?:why|how(?! (?:many|much|long|old|far|tall|high|big|large|often|deep|wide|fast|heavy)\b)"
    r"|explain|describe|warum|wieso|weshalb|wie(?! (?:viel|viele|lange?|alt|weit|hoch|groß|oft)\b)"
    r"|pourquoi|comment|por qué|cómo|perché|come|porquê|por que|como|waarom|hoe"
    r"|what (?:happen(?:s|ed)?|causes?|caused|led)|what (?:is|are|was|were) the"
    r" (?:reasons?|causes?|effects?|difference)s?)\b",
    re.IGNORECASE,
)
# The lists below were written by hand and are not complete. A clause without any of these words is
# judged by whether it says something new.
_DUTY = word_set(
    "must should shall ought need needs may can cannot allowed forbidden permitted required"
    " recommended advised muss müssen soll sollen sollte sollten"
    " darf dürfen doit doivent faut peut peuvent debe deben puede pueden deve devono devem può"
)
# Words that occur in instructions.
_ORDERED = word_set(
    "must should shall ought please müssen muss sollen sollte bitte doit doivent faut debe deben"
    " deve devono devem moet moeten"
)
# Verbs of commands that a hostile document may want to put into an answer ("call this number"), and
# words that address the reader.
_ORDERS = word_set(
    "ask avoid beware buy call check choose click come consult contact delete do don't donate"
    " download drink drop eat email follow forget forward get give go hand heed ignore inject"
    " install invest join leave listen look message never obey open order pay phone post quit read"
    " refuse remember reply report rush see sell send share shop sign sleep speak spread stop"
    " nimm nehmen nehmt stoppt kauft kaufen kaufe wählt ruft prenez arrêtez achetez votez appelez"
    " dejen deje tome tomen compre compren vote llame smetti smettete prendi comprate votate"
    " swallow swear take tell text transfer trust try use visit vote wait wire withdraw write you"
    " your"
)
_STATES = word_set(
    "is are was were be been being isn't aren't wasn't has have had will would can can't cannot"
    " could must should shall may might do does did don't doesn't didn't not never no yes ist sind"
    " war waren hat wird est sont était fut a été es son fue era está è sono fu são foi"
    " kills kill killed causes cause caused cures cure cured heals heal harms harm helps help saves"
    " save works work worked fails fail failed lies lied dies died proves prove proved warns warn"
    " warned says say said admits admit admitted bans ban banned recalled recalls recall beats beat"
    " wins won loses lost hates hate loves love steals stole needs need wants want makes made means"
    " meant drew draws wrote writes built builds founded discovered invented convicted arrested"
    " accused guilty innocent poisonous toxic deadly dangerous harmful unsafe safe useless"
    " worthless fake false untrue true real scam hoax fraud fraudulent poison murderer thief"
    " liar criminal best worst cheap free now today urgent danger warning proven confirmed official"
)
_AMOUNT = re.compile(
    r"(?<!\w)\d[\d.,]{0,20}\s?(?:%|[a-z€$£])|[€$£]\s?\d|(?<!\w)(?!(?:1\d|20)\d\d\b)\d[\d.,]{3,20}"
    r"|\d\s\d"
)
"""Matches a number with a unit, or a number that is not a year."""


# Signs that names seldom have, such as those of an address ("name@example.org", "example dot com").
_NO_NAME = re.compile(r"[!@=]|\bdot\b", re.IGNORECASE)
_CLAIMED = word_set(
    "trusted verified retracted corrected correct reliable exposed revoked withdrawn only sole kein"
    " authoritative tötet tödlich heilt schadet lügt stirbt tue tuent guérit ment mata matan cura"
    " miente uccide uccidono keine keinen nie aucun aucune jamais ningún ninguna nunca nessun mai"
    " pas lie lies myth truth"
)
"""Further words that make a title a statement, for example about its own reliability."""
_TITLE_LOWER = word_set(
    # words that may occur within a name
    "a an the of for in on at by to from with and or vs de la le les des du d el los las y en der"
    " die das und von vom zu zur zum im am für e di del della dei il lo da do dos van het voor aan"
    " et au aux sur dans pour på og och av"
    # words for a document or its origin
    " report reports log logs book diary letter letters note notes leaflet sheet label manual guide"
    " handbook article paper study studies review survey record records register list catalogue"
    " catalog archive archives library museum page pages website site blog post news newspaper"
    " bulletin journal gazette magazine press release statement minutes memo transcript interview"
    " summary abstract chapter section part volume edition version draft map plan table chart data"
    " database index history biography encyclopedia encyclopaedia dictionary entry wiki council"
    " board office ministry department agency committee commission court company university"
    " institute society association hospital school church port harbour harbor town city county"
    " village state"
    " annual monthly weekly daily first second third final new old local national international"
    " research science technical public editor author keeper keepers engineer engineers inspector"
    " visitor visitors patient patients user users staff member members lighthouse tower bridge"
)
"""Words that need no capital in the name of a source."""


class _Clause(NamedTuple):
    """A clause of a statement, and the punctuation or conjunction before it."""

    before: str
    text: str


def without_riders(statement: str, claim: str, question: str) -> str | None:
    """Return the clauses of a rival that answer a claim's question, as one sentence.

    A clause or quotation is removed if it says something new in ordinary words, or if it tells the
    reader to do something. Names, numbers and short list items are kept. If the question asks "why"
    or "how", a clause is removed only if it is an instruction. The same holds for a clause that is
    a condition of a permission or duty.

    Return None if the only clause that answers the question is an instruction that the claim does
    not mention.
    """
    known_terms = telling_terms(claim) | telling_terms(question)
    end = "." if _LAST_PERIOD.search(statement.rstrip()) else ""
    whole = statement.strip().rstrip(".")
    if inside := quoted_whole(whole):
        answer = without_riders(f"{inside}{end}", claim, question)
        return statement if answer == f"{inside}{end}" else answer
    has_duty = not _DUTY.isdisjoint(_words(f"{claim} {question}"))
    is_open = bool(_OPEN_QUESTION.search(question[:_QUESTION_CHARS]))
    quotations = Quotations(whole, known_terms, _is_further, _is_ordered)
    asked_for = quotations.hold_the_answer and asks_for_wording(question[:_QUESTION_CHARS])
    body = whole if asked_for else quotations.removed(only_orders=is_open)
    if body != whole and not telling_terms(body) - known_terms:
        return None
    text = _without_clauses(whole, body, known_terms, is_open=is_open, has_duty=has_duty)
    if text == whole:
        return statement
    text = text.strip(" ,;:–—-")
    return f"{text[:1].upper()}{text[1:]}{end}" if text else None


def _without_clauses(
    whole: str, text: str, known_terms: frozenset[str], *, is_open: bool, has_duty: bool
) -> str:
    """Return the clauses of a text that answer a claim's question, with their punctuation.

    A whole statement is returned as it is if nothing has to be removed. Return an empty string if
    the only clause that answers is an instruction.
    """
    body = _without_parentheses(text, known_terms)
    clauses = _clauses_of(body)
    answering = _answering(clauses, known_terms)
    if answering is None:
        return text
    kept = [
        place == answering or not _is_rider(clause, known_terms, is_open=is_open, has_duty=has_duty)
        for place, clause in enumerate(clauses)
    ]
    if not has_duty and _is_order_alone(clauses[answering].text, known_terms):
        return ""
    if all(kept) and body == whole:
        return whole
    text = _joined(clauses, kept)
    if not telling_terms(text) - known_terms:
        # the answer is in a clause that looks like an addition, so keep everything except
        # instructions
        kept = [not _is_ordered(clause.text, known_terms) for clause in clauses]
        text = _joined(clauses, kept)
    return text


def is_name(title: str, *, of_file: bool = False) -> bool:
    """Return whether a title is a short name, without a statement, an instruction or an amount.

    A name can contain years. A statement can be in any language, so a name of several words must be
    in ASCII. Its words must be capitalised, except for words such as "of" and usual words of titles
    such as "report". The restrictions on names do not apply to file names (``of_file``).
    """
    title = unicodedata.normalize("NFKC", without_invisibles(title))
    words = _words(title)
    if not words or len(words) > _TITLE_WORDS or added_active_content("", title):
        return False
    if _NO_NAME.search(title) or _AMOUNT.search(title):
        return False
    if _UNSPACED.search(title):
        return len(title) <= _UNSPACED_TITLE
    is_lower = not of_file and len(words) > 1
    if is_lower and not (title.isascii() and all(map(_fits_a_name, _WORD.findall(title)))):
        return False
    return (_STATES | _CLAIMED).isdisjoint(words) and not _begins_with_order(title)


def _fits_a_name(word: str) -> bool:
    return word[0].isupper() or word[0].isdigit() or word in _TITLE_LOWER


def _words(text: str) -> list[str]:
    return [match[0].casefold().replace("\u2019", "'") for match in _WORD.finditer(text)]


def _begins_with_order(text: str) -> bool:
    """Return whether a text, or a part after punctuation, begins with a verb in the imperative.

    A single word is not an imperative. A noun followed by "of", as in "Report of the board", is not
    an imperative either.
    """
    parts = re.split(r"[:;\u2013\u2014!?.]|,\s|\s-\s", text)
    phrases = [words for words in map(_words, parts) if len(words) > 1]
    return any(first in _ORDERS and second != "of" for first, second, *_ in phrases)


def _without_parentheses(text: str, known_terms: frozenset[str]) -> str:
    """Return the statement without the parenthetical remarks that add something new."""
    return _PARENTHESIS.sub(
        lambda match: "" if _is_further(match[1], known_terms) else match[0], text
    )


def _clauses_of(text: str) -> list[_Clause]:
    clauses, before, start = list[_Clause](), "", 0
    for match in _BOUNDARY.finditer(text):
        if _UNFINISHED.search(text[max(start, match.start() - _VERB_CHARS) : match.start()]):
            continue
        if match.start() > start:
            clauses.append(_Clause(before, text[start : match.start()]))
            before = ""
        before += match[0]
        start = match.end()
    if text[start:].strip():
        clauses.append(_Clause(before, text[start:]))
    return clauses


def _answering(clauses: list[_Clause], known_terms: frozenset[str]) -> int | None:
    """Return the index of the clause that shares the most words with the claim and the question.

    Return None if there are no clauses. If there is a tie, the first clause is chosen. A clause
    that is an instruction is chosen only if all the others are too.
    """

    def worth(place: int) -> tuple[bool, int, int]:
        text = clauses[place].text
        shared = len(telling_terms(text) & known_terms)
        return not _is_ordered(text, known_terms), shared, -place

    return max(range(len(clauses)), key=worth, default=None)


def _is_ordered(text: str, known_terms: frozenset[str]) -> bool:
    """Return whether a clause is an instruction that says something new."""
    words = _words(text)
    if not words or not telling_terms(text) - known_terms:
        return False
    return not _ORDERED.isdisjoint(words) or words[0] in _ORDERS


def _is_rider(
    clause: _Clause, known_terms: frozenset[str], *, is_open: bool, has_duty: bool
) -> bool:
    """Return whether a clause does not answer, but is an instruction or a further statement.

    A further statement does not count if the question asks why or how, or if the clause is a
    condition of a duty.
    """
    if is_open or (has_duty and _CONDITION.search(clause.before)):
        return _is_ordered(clause.text, known_terms)
    return _is_further(clause.text, known_terms)


def _is_order_alone(text: str, known_terms: frozenset[str]) -> bool:
    """Return whether a clause is nothing but an instruction.

    A clause is an instruction if it contains a word of duty such as "must", or if it has no word in
    common with the claim and the question. "Open since 1874" begins with the verb "open" but is not
    an order.
    """
    has_duty_word = not _ORDERED.isdisjoint(_words(text))
    is_foreign = telling_terms(text).isdisjoint(known_terms)
    return _is_ordered(text, known_terms) and (has_duty_word or is_foreign)


def _is_further(text: str, known_terms: frozenset[str]) -> bool:
    """Return whether a clause says something new apart from a name, a number or a list item."""
    if not telling_terms(text) - known_terms:
        return False
    if _is_ordered(text, known_terms) or _is_in_foreign_script(text, known_terms):
        return True
    words = _WORD.findall(text)
    plain = [
        word
        for word in words
        if not word[0].isupper() and not word[0].isdigit() and telling_terms(word) - known_terms
    ]
    states = not telling_terms(text) & known_terms and not _STATES.isdisjoint(_words(text))
    if not plain:
        return states
    most_chars = _UNSPACED_CHARS if _UNSPACED.search(text) else _ENUMERATED_CHARS
    return states or len(words) > _ENUMERATED_WORDS or len(text.strip()) > most_chars


def _is_in_foreign_script(text: str, known_terms: frozenset[str]) -> bool:
    """Return whether a clause is in a script without spaces that claim and question do not use.

    In such a script, a few characters are enough for an order.
    """
    return bool(_UNSPACED.search(text)) and not any(map(_UNSPACED.search, known_terms))


def _joined(clauses: list[_Clause], kept: list[bool]) -> str:
    """Join the kept clauses with their punctuation, without the comma after a removed clause."""
    text = ""
    for place, (clause, is_kept) in enumerate(zip(clauses, kept, strict=True)):
        if is_kept:
            is_stray = place > 0 and not kept[place - 1] and _COMMA.fullmatch(clause.before)
            text += f"{' ' if is_stray else clause.before}{clause.text}" if text else clause.text
    return text
