"""Denials by template, "It is not true that “…”.": how they are made, and what they deny.

A small NLI model hardly sees the frame and reads such a claim as what it denies. So it is asked
about that, and its two sides are exchanged.
"""

import re

_DENIAL = re.compile(
    r"\s*it is (?:not true|not the case|false|untrue) that[:\s]\s*(?P<denied>\S.*)"
    r"|\s*the (?:statement|claim) [\"“](?P<framed>.+)[\"”] is (?:false|untrue|not true)[.\s]*",
    re.IGNORECASE | re.DOTALL,
)
_ENDS, _QUOTES = " .\n", "“”\"' \n"


def denial_of(statement: str) -> str:
    """The denial of a statement; of a denial, what it denies."""
    inner_statement = denied_in(statement)
    return (
        f"It is not true that “{statement.rstrip(_ENDS)}”."
        if inner_statement is None
        else f"{inner_statement}."
    )


def denied_in(statement: str) -> str | None:
    """The statement that a denial denies, without its full stop; None of any other statement."""
    match = _DENIAL.fullmatch(statement)
    inner_statement = match and (match["denied"] or match["framed"])
    return inner_statement and inner_statement.rstrip(_ENDS).strip(_QUOTES).rstrip(_ENDS)
