"""Compares the roles of words in short statements, since word order can change the meaning.

For example, "Vik beat Dal" is not "Dal beat Vik", "open until 9" is not "open from 9", and Ida
Reeve is not Ida Reeve's sister. Only differences that are certain count. When in doubt, only the
words of the statements are compared.

Limits without a stated reason were chosen by hand.
"""

import re
from typing import NamedTuple, Self

from conflictscore.directions import DIRECTIONS
from conflictscore.scripts import word_set
from conflictscore.word_lists import STEM

# Maximum number of characters read of a statement, which keeps the time linear.
_MOST_COMPARED = 2000

# Words between a verb and its preposition that play no role themselves.
_PASSED_OVER = word_set(
    "a an and are be been did do does had has have he his is it its the their they was were which"
    " who der die das den dem des ein eine einen einem le la les un une el los las"
)
# Words before an owner ("the capital of Norr") and before the one who acts ("beaten by Vik").
_OF = word_set("of von vom de du della del")
_BY = word_set("by von par por da door")
_PREPOSITIONS = word_set(
    "in on at for against as between near during through im am an auf bei für gegen en dans sur"
    " pour sous zu nach"
).union(_OF, _BY, DIRECTIONS)
# A word, and whether it is a possessive: "Vik's goal", "the fans' song".
_ORDERED = re.compile(r"(?P<word>\w+)(?P<possessive>['\u2019]s\b(?= \w)|(?<=s)['\u2019](?= \w))?")


def differs_in_order(statement: str, rival: str) -> bool:
    """Return whether two statements differ in meaning because of the positions of shared words.

    The meanings of two statements differ in three cases. First, different words of direction
    precede the same word. Second, a name is an owner in only one of the statements. Third, two
    names change places although both statements are active or both are passive. The same holds for
    two names that keep their places although only one statement is passive.
    """
    first, second = _Roles.of(statement), _Roles.of(rival)
    for term in first.directions.keys() & second.directions.keys():
        if first.directions[term].isdisjoint(second.directions[term]):
            return True
    owners_in_first_alone = (first.owners & second.names) - second.owners
    owners_in_second_alone = (second.owners & first.names) - first.owners
    if owners_in_first_alone or owners_in_second_alone:
        return True
    # a name that occurs twice ("on 3 May or 5 May") counts at its first place
    order = [name for name in dict.fromkeys(first.subjects) if name in second.subjects]
    other_order = [name for name in dict.fromkeys(second.subjects) if name in first.subjects]
    # "Vik was beaten by Dal" is "Dal beat Vik": in the passive, the agent follows the verb
    changes_voice = first.is_passive != second.is_passive
    return len(order) > 1 and (order == other_order) is changes_voice


def opposite_limits(statement: str, rival: str) -> frozenset[str]:
    """Return the words that begin a period in one statement and end a period in the other.

    An example is the 9 in "open from 9" and "open until 9".
    """
    first, second = _Roles.of(statement).directions, _Roles.of(rival).directions
    sides = {frozenset(("start",)), frozenset(("end",))}
    return frozenset(
        term for term in first.keys() & second.keys() if {first[term], second[term]} == sides
    )


class _Roles(NamedTuple):
    """The roles of names in a statement, and its words of direction.

    Attributes:
        subjects: Names without a preposition, and the agent of a passive, in order. Each name is
            represented by its last word.
        names: All words of names.
        owners: Names of owners, such as "Reeve" in "Reeve's sister" and "the sister of Reeve".
        directions: The direction of each word or number that follows a word of direction.
        is_passive: Whether "by" introduces an agent.
    """

    subjects: tuple[str, ...]
    names: frozenset[str]
    owners: frozenset[str]
    directions: dict[str, frozenset[str]]
    is_passive: bool

    @classmethod
    def of(cls, statement: str) -> Self:
        """Read the roles in a statement, word by word."""
        subjects, names, owners = list[str](), set[str](), set[str]()
        directions: dict[str, frozenset[str]] = {}
        governing, is_passive = "", False
        name_end = -2  # no name ends right before the first character
        for match in _ORDERED.finditer(statement[:_MOST_COMPARED]):
            word = match["word"].casefold()
            if _is_preposition(match):
                governing = word
                continue
            if word in _PASSED_OVER:
                continue
            term = word[:STEM]
            if governing in DIRECTIONS:
                directions[term] = DIRECTIONS[governing]
            if not match["word"][0].isupper():
                governing = ""
                continue
            names.add(term)
            if match["possessive"] or governing in _OF:
                owners.add(term)
            is_agent = governing in _BY
            is_passive = is_passive or is_agent
            if is_agent or not governing:
                if subjects and match.start() == name_end + 1:  # "Ida Reeve" is one name
                    subjects.pop()
                subjects.append(term)
                name_end = match.end()
        return cls(tuple(subjects), frozenset(names), frozenset(owners), directions, is_passive)


def _is_preposition(match: re.Match[str]) -> bool:
    """Return whether a word is a preposition; a capitalised word within a statement is a name."""
    in_lower_case = not match["word"][0].isupper()
    return match["word"].casefold() in _PREPOSITIONS and (in_lower_case or match.start() == 0)
