"""Detects claims that swap the roles in a passage: "Dal beat Vik" for "Vik beat Dal".

Such a claim has all the words of the passage, but states something different. Two texts swap roles
if the words on either side of a shared word have traded places ("Vik beat Dal", "Dal beat Vik").
Words around an auxiliary may also trade places ("Dal hat Vik geschlagen"). In a passage with
several numbers, a claim also swaps roles if it gives the number of one name to a different name. So
does a claim with "from" where the passage has "until". Words such as "borders" and "resembles" are
symmetric, so a text with such a word never counts. When in doubt, the roles count as unchanged.
Time is linear in the lengths of the texts.

Limits without a stated reason were chosen by hand.
"""

import re
from collections.abc import Iterator, Sequence, Set
from functools import lru_cache
from itertools import islice
from typing import Literal, NamedTuple

from conflictscore.answering.claim_terms import WORD_OR_NUMBER, numbers_in, plain_text, stem_of
from conflictscore.answering.roles import opposite_limits
from conflictscore.scripts import fold, word_set
from conflictscore.word_lists import (
    AGENTS,
    AUXILIARIES,
    FUNCTION_WORDS,
    NEGATIONS,
    PASSIVE,
    SYMMETRIC,
)

_NEAREST = 2  # Maximum number of neighbours that share a word's role, as the parts of a name do.
# German articles of objects, which may also come first ("Den Hund biss die Katze").
_OF_OBJECTS = frozenset(("den", "dem", "einen", "einem"))
# German and Dutch words that open a clause whose verb stands at its end.
_SUBORDINATING = word_set(
    fold(
        "dass daß weil ob wenn als nachdem bevor obwohl damit während sodass dat omdat terwijl"
        " nadat hoewel"
    )
)
# Prepositions, perhaps joined with an article, before nouns that neither act nor are acted upon.
_BEFORE_ADVERBIALS = word_set(
    fold(
        "in im ins an am auf bei beim mit nach aus zu zum zur für gegen über unter vor seit bis um"
        " ohne op bij met naar uit voor tegen sinds tot"
    )
)
_NEVER_NAMES = FUNCTION_WORDS | _BEFORE_ADVERBIALS
# Clauses of German and Dutch, the languages with verbs at the end.
_CLAUSE = re.compile(r"[,;:()]|\s[\u2013\u2014-]\s|\b(?:und|aber|en|maar)\b")
_MOST_WORDS = 80  # Maximum number of words in a text to compare; longer sentences are lists.
# Joints, in any language, between parts of a passage that may each give the number of one name.
_JOINT = re.compile(
    r"[,;:()]|\s[\u2013\u2014-]\s|\b(?:and|while|but|whereas|und|aber|et|mais|y|pero|mientras)\b"
)
# Words that assign a list of numbers to a list of names, which the clauses do not show.
_RESPECTIVELY = re.compile(r"\b(?:respectively|jeweils|beziehungsweise|respectiv)", re.IGNORECASE)


class _Token(NamedTuple):
    """A word, folded; its stem if it is informative; and whether it is a name."""

    word: str
    stem: str
    is_name: bool


class _Sides(NamedTuple):
    """The stems before and after a word, in order, and the side on which the actor is named.

    In "Dal was beaten by Vik", the actor comes after the verb; "the games were held" names no
    actor.
    """

    before: Sequence[str]
    after: Sequence[str]
    actor: Literal["before", "after", "none"]


def exchanged_roles(claim: str, passage: str) -> tuple[str, ...]:
    """Return the words of a claim whose roles are swapped in a passage; empty if there are none.

    Only a claim whose informative words all occur in the passage is compared.
    """
    if claim.strip(" .") in passage:
        return ()
    own, theirs = _tokens(passage), _tokens(claim)
    if _has_object_first(own) or _has_object_first(theirs):
        return ()
    stems = {token.stem for token in own}
    if not all(token.stem in stems for token in theirs if token.stem):
        return ()
    around = _around_auxiliaries(own, theirs) or _around_a_word(own, theirs)
    around = around or _before_a_final_verb(claim, passage)
    others = around or _with_another_number(claim, passage)
    return tuple(dict.fromkeys(others or opposite_limits(claim, passage)))


@lru_cache(maxsize=256)  # each passage is compared with several claims
def _tokens(text: str) -> tuple[_Token, ...]:
    tokens = list[_Token]()
    for match in islice(WORD_OR_NUMBER.finditer(plain_text(text)), _MOST_WORDS):
        word = fold(match[0])
        # a single letter, such as an initial, tells nothing
        tells = word not in FUNCTION_WORDS and word not in NEGATIONS and len(word) > 1
        is_name = bool(tokens) and match[0][0].isupper()
        tokens.append(_Token(word, stem_of(match[0]) if tells else "", is_name))
    return tuple(tokens)


def _has_object_first(tokens: Sequence[_Token]) -> bool:
    """Return whether a German text begins with an object: "Den Hund biss die Katze"."""
    # one word may precede the article, as in "Nur den Hund biss die Katze"
    return any(token.word in _OF_OBJECTS for token in tokens[:2])


def _around_a_word(own: Sequence[_Token], theirs: Sequence[_Token]) -> list[str]:
    """Return words that have moved to the other side of a word that both texts contain.

    If the texts share several names, only names are compared.
    """
    stems = _stems(own) & _stems(theirs)
    if stems & SYMMETRIC:
        return []
    all_names = _stems([token for token in (*own, *theirs) if token.is_name])
    names = all_names & stems
    compared = all_names if len(names) > 1 else _stems(own)
    places = _places(own)
    for word, [first, *more] in _places(theirs).items():
        if more or theirs[first].stem in names or word not in places or word[0].isdigit():
            continue
        claimed = _sides(theirs, first, compared)
        if all(_change_sides(_sides(own, place, compared), claimed) for place in places[word]):
            return [*claimed.before[-1:], *claimed.after[:1]]
    return []


def _stems(tokens: Sequence[_Token]) -> frozenset[str]:
    return frozenset(token.stem for token in tokens) - {""}


def _places(tokens: Sequence[_Token]) -> dict[str, list[int]]:
    """Return the places of each informative word."""
    places: dict[str, list[int]] = {}
    for place, token in enumerate(tokens):
        if token.stem:
            places.setdefault(token.word, []).append(place)
    return places


def _sides(tokens: Sequence[_Token], place: int, compared: Set[str]) -> _Sides:
    before, after = tokens[:place], tokens[place + 1 :]
    has_agent = any(token.word in AGENTS for token in after[:1])
    # an adverb may stand between the auxiliary and the verb ("was soon beaten")
    has_auxiliary = any(token.word in PASSIVE for token in before[-2:])
    is_active = not has_agent and (not has_auxiliary or tokens[place].word.endswith("ing"))
    actor: Literal["before", "after", "none"] = "before" if is_active else "none"
    return _Sides(
        [token.stem for token in before if token.stem in compared],
        [token.stem for token in after if token.stem in compared],
        "after" if has_agent and has_auxiliary else actor,
    )


def _change_sides(own: _Sides, claimed: _Sides) -> bool:
    """Return whether the words nearest to a word swapped roles, and none kept its role."""
    if own.actor != claimed.actor:
        if "none" in (own.actor, claimed.actor):
            return False
        own = _Sides(own.after, own.before, claimed.actor)
    if not claimed.before or not claimed.after:
        return False
    both = {*own.before} & {*own.after}  # words that both names contain, such as "Mount"
    before, after = {*own.before} - both, {*own.after} - both
    if before & {*claimed.before} or after & {*claimed.after}:
        return False
    nearest = own.after[:_NEAREST], own.before[-_NEAREST:]
    return claimed.before[-1] in nearest[0] and claimed.after[0] in nearest[1]


def _around_auxiliaries(own: Sequence[_Token], theirs: Sequence[_Token]) -> list[str]:
    """Return words that changed places around an auxiliary, as in "Dal hat Vik geschlagen"."""
    of_passage = {*_auxiliary_pairs(own)}
    for before, middle, after in _auxiliary_pairs(theirs):
        is_same = (before, middle, after) in of_passage
        if not is_same and before != after and (after, middle, before) in of_passage:
            return [before, after]
    return []


def _auxiliary_pairs(tokens: Sequence[_Token]) -> Iterator[tuple[str, str, str]]:
    """Yield each word before an auxiliary, with the word after it or after its preposition."""
    # the empty token is what follows the last three tokens
    following = [*tokens[3:], _Token("", "", is_name=False)]
    for before, middle, after, later in zip(
        tokens, tokens[1:], tokens[2:], following, strict=False
    ):
        if middle.word not in AUXILIARIES or not before.stem:
            continue
        if after.stem:
            yield before.stem, middle.word, after.stem
        elif later.stem:  # an article, or the preposition before an agent, is between the two words
            agent = after.word if after.word in AGENTS else ""
            yield before.stem, f"{middle.word} {agent}".strip(), later.stem


def _before_a_final_verb(claim: str, passage: str) -> list[str]:
    """Return two names that swap their roles if either text has its verb at the end of a clause.

    In "dass Anna Ben schlug", both names precede the verb; the first one acts.
    """
    stems = {stem_of(match[0]) for match in WORD_OR_NUMBER.finditer(claim)}
    if stems & SYMMETRIC:
        return []
    pairs = {pair[:2]: pair[2] for pair in map(_actor_first, _CLAUSE.split(passage)) if pair}
    for actor, other, is_final in filter(None, map(_actor_first, _CLAUSE.split(claim))):
        is_swapped = (other, actor) in pairs and (actor, other) not in pairs
        if is_swapped and (is_final or pairs[other, actor]):
            return [actor, other]
    return []


def _actor_first(clause: str) -> tuple[str, str, bool] | None:
    """Return the only two names of a clause, the actor first, and whether its verb is final.

    Names after a preposition do not count, except the agent of a passive. Return None if there are
    not exactly two names, or if the clause begins with an object.
    """
    names, is_final, before, agent = list[str](), False, "", ""
    for match in WORD_OR_NUMBER.finditer(clause):
        word = fold(match[0])
        if match[0][0].isupper() and word not in _NEVER_NAMES:
            if not names and before in _OF_OBJECTS:
                return None
            if before in AGENTS:
                agent = stem_of(match[0])
            if before not in _BEFORE_ADVERBIALS:
                names.append(stem_of(match[0]))
        if word in _SUBORDINATING:
            # the names so far belong to the main clause
            names, is_final = [], True
        before = word
    if len(names) != 2 or names[0] == names[1]:
        return None
    actor, other = names[::-1] if names[1] == agent else names
    return actor, other, is_final


def _with_another_number(claim: str, passage: str) -> list[str]:
    """Return a name and its number in a claim, if the passage gives the number to a different name.

    Only passages whose clauses each have a number and a name are compared.
    """
    claimed, clauses = _clause(claim), _numbered_clauses(passage)
    own = [clause for clause in clauses if claimed.numbers <= clause.numbers]
    if len(claimed.numbers) != 1 or len(own) != 1 or claimed.names & own[0].names:
        return []
    others = frozenset[str]().union(*(clause.names for clause in clauses if clause not in own))
    moved = claimed.names & others
    return [*sorted(moved), *claimed.numbers] if moved else []


def _numbered_clauses(passage: str) -> list["_Clause"]:
    """Return the clauses with numbers; if one of them has no name, return no clauses."""
    clauses = [clause for part in _JOINT.split(passage) if (clause := _clause(part)).numbers]
    is_clear = all(clause.names for clause in clauses) and not _RESPECTIVELY.search(passage)
    return clauses if is_clear else []


class _Clause(NamedTuple):
    """The names and the numbers of a clause."""

    names: frozenset[str]
    numbers: frozenset[str]


def _clause(text: str) -> _Clause:
    return _Clause(_names(text), frozenset(numbers_in(text)))


@lru_cache(maxsize=512)  # each clause of a passage is compared with many claims
def _names(text: str) -> frozenset[str]:
    words = [match[0] for match in WORD_OR_NUMBER.finditer(plain_text(text))]
    capitals = (word for word in words if word[0].isupper() and fold(word) not in FUNCTION_WORDS)
    return frozenset(map(stem_of, capitals))
