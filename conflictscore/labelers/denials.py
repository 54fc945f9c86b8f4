"""Functions that write a denial, "It is not true that “…”.", and find the statement it denies.

A small NLI model hardly notices this form, and reads such a claim as the statement in it. So the
model is asked about the statement instead, and the labels SUPPORTS and CONTRADICTS are swapped.
"""

import re

# Denials of a whole statement, such as "It is not true that …" and "The claim “…” is false".
_DENIAL = re.compile(
    r"\s*it is (?:not true|not the case|false|untrue) that[:\s]\s*(?P<denied>\S.*)"
    r"|\s*the (?:statement|claim) [\"“](?P<framed>.+)[\"”] is (?:false|untrue|not true)[.\s]*",
    re.IGNORECASE | re.DOTALL,
)
_ENDS = " .\n"  # removed after a statement
_QUOTES = "“”\"' \n"  # removed on both sides of a statement that is denied


def denial_of(statement: str) -> str:
    """Return the denial of a statement, or, if the statement is a denial, what it denies."""
    inner_statement = denied_in(statement)
    return (
        f"It is not true that “{statement.rstrip(_ENDS)}”."
        if inner_statement is None
        else f"{inner_statement}."
    )


def denied_in(statement: str) -> str | None:
    """Return the statement that a text denies, without a full stop; None if it is no denial."""
    match = _DENIAL.fullmatch(statement)
    inner_statement = match and (match["denied"] or match["framed"])
    return inner_statement and inner_statement.rstrip(_ENDS).strip(_QUOTES).rstrip(_ENDS)
