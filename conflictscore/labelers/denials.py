"""Functions that write denials ("It is not true that “…”.") and find the statement denied.

A small NLI model often misses the denial, and judges the statement inside it. So the model is asked
about the statement instead, and the labels SUPPORTS and CONTRADICTS are swapped.
"""

import re

# Denials of a whole statement, such as "It is not true that …" and "The claim “…” is false".
_DENIAL = re.compile(
    r"\s*it is (?:not true|not the case|false|untrue) that[:\s]\s*(?P<denied>\S.*)"
    r"|\s*the (?:statement|claim) (?P<framed>[\"“].+[\"”]) is (?:false|untrue|not true)[.\s]*",
    re.IGNORECASE | re.DOTALL,
)
# The outermost quotation marks of a text.
_QUOTATION = re.compile(r"(?P<mark>[“\"'])(?P<inside>.+)[”\"']", re.DOTALL)
# A contrast, after which a sentence usually affirms something: "It is false that A, but B" denies
# only A.
_CONTRAST = re.compile(
    r"[,;]\s{1,9}(?:but|while|whereas|although|though|yet|instead)\b", re.IGNORECASE
)
_ENDS = " .\n"  # removed from the end of a statement, so that it can stand within a sentence


def denial_of(statement: str) -> str:
    """Return the denial of a statement; if it is a denial itself, return what it denies."""
    inner_statement = denied_in(statement)
    return (
        f"It is not true that “{statement.rstrip(_ENDS)}”."
        if inner_statement is None
        else f"{inner_statement}."
    )


def denied_in(statement: str) -> str | None:
    """Return the statement that a text denies, without a full stop; None if it denies nothing."""
    match = _DENIAL.fullmatch(statement)
    if match is None:
        return None
    inner_statement = str(match["denied"] or match["framed"]).rstrip(_ENDS)
    if (quoted_statement := _quoted(inner_statement)) is not None:
        return quoted_statement.rstrip(_ENDS) or None
    if match["framed"] or _CONTRAST.search(inner_statement):
        return None
    return inner_statement or None


def _quoted(text: str) -> str | None:
    """Return a text without the quotation marks around all of it; None if there are no such marks.

    Marks that close before the end, as in ‘“A” is not “B”’, do not count.
    """
    quotation = _QUOTATION.fullmatch(text)
    if quotation is None:
        return None
    inside, depth = quotation["inside"], 0
    if quotation["mark"] != "“":
        # opening and closing marks are the same here, so a further mark makes the text unclear
        return inside if quotation["mark"] not in inside else None
    for character in inside:
        depth += (character == "“") - (character == "”")
        if depth < 0:
            return None
    return inside
