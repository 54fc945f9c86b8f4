"""Recognises an answer's remarks on its own sources, which no document can support or contradict.

Clauses such as "No other passage contradicts this" and "none of the documents mention a price"
describe the documents. The labels of the claims do that more reliably. Advice to ask someone
("check with your embassy") states no fact. A clause with a number or a name is never a remark. Time
is linear in the length of the text.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from conflictscore.scripts import fold
from conflictscore.word_lists import (
    CONFLICT_WORDS,
    COURTESIES,
    FUNCTION_WORDS,
    NEGATIONS,
    REMARKS,
    SOURCE_NOUNS,
    stem,
)

# A sentence with its final marks, or marks alone. Clauses below end with a comma or similar mark.
_SENTENCE = re.compile(r"[^.!?\n]+[.!?\n]*|[.!?\n]+")
_CLAUSE = re.compile(r"[^,;:()\u2013\u2014]*[,;:()\u2013\u2014]|[^,;:()\u2013\u2014]+$")
_WORD = re.compile(r"[^\W_][\w'\u2019-]*")
_MOST_WORDS = 16
"""Maximum number of words in a clause about what the documents do not say.

A longer clause also says something else. The limit was chosen by hand.
"""
_MOST_CLOSING_WORDS = 24
"""Maximum number of words in a sentence that offers further help.

The sentence may have two clauses ("If you have more questions, feel free to ask"). The limit was
chosen by hand.
"""
# Words that say that a source does not mention something. Only English is recognised; in other
# languages, such a sentence counts as a statement.
_SILENT = re.compile(
    r"\b(?:no|none|neither|nothing|not|n['\u2019]t)\b.{0,80}\b(?:mention|state|say|specif|discuss"
    r"|address|indicate|tell|contain|provide|cover)",
    re.IGNORECASE,
)
_ACCOUNTS = (
    r"(?:conflicting|contradictory|inconsistent|differing) (?:information|accounts?|reports?|data"
    r"|statements?|evidence|sources?|claims?|dates?|figures?|views?)"
)
_DISAGREEING = re.compile(
    r"\W{0,3}(?:(?:however|but|and|so|since|as|therefore) )?(?:"
    rf"(?:there (?:is|are|exists?|remains?) )?(?:some |two )?{_ACCOUNTS}"
    r"|(?:the |these |different )?(?:sources|documents|passages|accounts|reports|texts)"
    r" (?:conflict|differ|disagree|vary|contradict (?:each other|one another))"
    r")(?: (?:about|on|over|regarding|concerning|as to)(?: [\w'\u2019-]{1,40}){1,7})?[^\w]{0,3}"
    rf"|\W{{0,3}}(?:[\w'\u2019-]{{1,40}} ){{1,7}}(?:is|are|remains?) (?:a matter of |subject to )"
    rf"{_ACCOUNTS}\W{{0,3}}",
    re.IGNORECASE,
)
"""Matches a clause that only says what the sources disagree about: "the sources differ on it"."""
# Words with which a clause states something.
_ASSERTS = re.compile(
    r"\b(?:that|and|is|are|was|were|has|have|had|can|may|might|will|would|should|must|does|do|did"
    r"|which|who|because)\b",
    re.IGNORECASE,
)
_POINTS_BACK = re.compile(
    r"\W*(?:the|this) (?:context|text|passage|document|source|question) refers? to the"
    r" (?:former|latter|first|second)(?: one)?\W*",
    re.IGNORECASE,
)
"""Matches a clause that only says which of several things a source refers to."""
# Words that introduce a reason or an exception, which is a statement.
_REASON = re.compile(r"\b(?:because|since|as|but|denn|weil|car|porque)\b", re.IGNORECASE)
# "I could not find", "but I am unable to say".
_COULD_NOT_FIND = re.compile(
    r"\s*(?:but |and |so |though |however |what )?I (?:(?:could|can|did|do)(?: not|n['\u2019]t)"
    r"|(?:am|was) (?:not able|unable) to) (?:find|say|tell|know|determine|confirm|verify)\b",
    re.IGNORECASE,
)
_CAPITAL_PRONOUNS = frozenset({"I", "Sie", "Ihnen"})
_CLOSING = re.compile(
    r"\b(?:let (?:me|us) know|feel free|(?:do not|don['\u2019]t) hesitate"
    r"|n['\u2019]h\u00e9sitez pas|z\u00f6gern sie nicht|no dudes? en|non esit\w{1,4} a"
    r"|n\u00e3o hesite)\b",
    re.IGNORECASE,
)
"""Matches the offer at the end of an answer: "If you mean someone else, please let me know."."""
# Advice to ask someone else, such as "Please consult a doctor".
_ADVICE = re.compile(
    r"\W*(?:(?:so|and|but|please|always|however|you should|it is best to) ){0,3}"
    r"(?:check with|consult|contact|talk to|speak to|speak with|ask) (?:a|an|the|your|our)\b"
    r"|\W*(?:(?:am besten )?(?:fragen|wenden|erkundigen|pr\u00fcfen) sie\b"
    r"|(?:il convient de|mieux vaut|veuillez|je vous conseille de)"
    r" (?:v\u00e9rifier|consulter|demander)"
    r"|(?:conviene|hay que|es mejor|se recomienda|recomiendo) (?:comprobar|consultar|verificar))\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=64)  # the same passage is read several times
def without_remarks(text: str, question_stems: frozenset[str] = frozenset()) -> str:
    """Return the text with spaces in place of remarks on its sources.

    Args:
        text: A passage of an answer.
        question_stems: Stems of the question's informative words, which a remark may repeat.
    """
    return "".join(_bared(sentence, question_stems) for sentence in _SENTENCE.findall(text))


def _bared(sentence: str, question_stems: frozenset[str]) -> str:
    if _is_closing(sentence):
        return " " * len(sentence)
    clauses = _CLAUSE.findall(sentence)
    remarks = [_is_remark(clause, question_stems) or _is_advice(clause) for clause in clauses]
    # alone, "they agree" may be about people; after "no document mentions a price", it is about the
    # sources, so a clause beside a remark need not name them
    if any(remarks) or _COULD_NOT_FIND.match(clauses[0]):
        remarks = [
            is_remark or _is_remark(clause, question_stems, beside=True) or _is_owned_up(clause)
            for is_remark, clause in zip(remarks, clauses, strict=True)
        ]
    pairs = zip(clauses, remarks, strict=True)
    return "".join(" " * len(clause) if is_remark else clause for clause, is_remark in pairs)


def _is_remark(clause: str, question_stems: frozenset[str], *, beside: bool = False) -> bool:
    """Return whether a clause is a remark.

    If ``beside`` is true, the same sentence contains another remark.
    """
    words = _WORD.findall(clause)
    if _only_disagrees(clause) or _POINTS_BACK.fullmatch(clause):
        return True
    if not _is_plain(words):
        return False
    stems = set(_content_stems(words))
    names_source = bool(stems & SOURCE_NOUNS)
    if stems and stems <= REMARKS and (beside or names_source):
        return True
    # without a word of conflict, the clause may be a denial: "the texts state that it is not safe"
    if len(stems) > 1 and stems & CONFLICT_WORDS and stems <= REMARKS | question_stems:
        return True
    return names_source and len(words) <= _MOST_WORDS and bool(_SILENT.search(clause))


def _only_disagrees(clause: str) -> bool:
    """Return whether a clause only says that the sources disagree, perhaps naming the topic.

    Such a clause has no number, and at most one finite verb, which belongs to the remark itself. So
    the clause states nothing about its topic.
    """
    if any(map(str.isdigit, clause)) or len(_ASSERTS.findall(clause)) > 1:
        return False
    return bool(_DISAGREEING.fullmatch(clause))


def _is_plain(words: list[str]) -> bool:
    """Return whether a clause has neither a number nor a name."""
    return not _has_name(words) and not any(map(str.isdigit, "".join(words)))


def _is_advice(clause: str) -> bool:
    words = _WORD.findall(clause)
    return len(words) <= _MOST_WORDS and _is_plain(words) and bool(_ADVICE.match(clause))


def _is_closing(sentence: str) -> bool:
    """Return whether a sentence only offers further help, and gives no reason for it."""
    words = _WORD.findall(sentence)
    if len(words) > _MOST_CLOSING_WORDS or not _is_plain(words) or not _CLOSING.search(sentence):
        return False
    return not _REASON.search(sentence)


def _is_owned_up(clause: str) -> bool:
    """Return whether a clause only says that something could not be found out."""
    words = _WORD.findall(clause)
    is_short = len(words) <= _MOST_WORDS
    return is_short and _is_plain(words) and bool(_COULD_NOT_FIND.match(clause))


def _has_name(words: list[str]) -> bool:
    # without a list of names, only a capital marks a name; so a clause with a German noun stays a
    # statement. The first word is skipped, since it has a capital at the start of a sentence.
    firsts = [word[0] for word in words[1:] if word not in _CAPITAL_PRONOUNS]
    return any(map(str.isupper, firsts))


def _content_stems(words: list[str]) -> Iterator[str]:
    """Yield the stems of a clause's informative words, without courtesies."""
    for word in words:
        folded = fold(word)
        if folded not in FUNCTION_WORDS and folded not in NEGATIONS:
            short = stem(folded)
            if short in SOURCE_NOUNS or short in REMARKS or short not in COURTESIES:
                yield short
