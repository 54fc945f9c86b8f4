"""Finds documents whose quoted words give the same answer, so that only one of them is queried.

The judge quotes the words that decide its verdict. If the quotations from two documents have the
same new values, such as the same year, both documents would give the same answer to the claim's
question. Querying one of two such documents is enough.
"""

from collections.abc import Mapping, Sequence

from conflictscore.records import Document
from conflictscore.values import StatedValue, values_beyond, values_in


def with_equal_values(
    documents: Sequence[Document], quotations: Mapping[int, str], claim: str
) -> list[list[Document]]:
    """Group documents whose quotations state the same values, apart from the values of a claim.

    A document without a quotation, or without such a value, forms a group of its own.
    """
    groups = list[tuple[tuple[StatedValue, ...], list[Document]]]()
    for document in documents:
        values = values_beyond(quotations.get(document.number, ""), claim)
        same = next((group for own, group in groups if values and _are_equal(own, values)), None)
        if same is None:
            groups.append((values, [document]))
        else:
            same.append(document)
    return [group for _, group in groups]


def states_the_values(reply: str, quotation: str, claim: str) -> bool:
    """Return whether a reply states all values of a quotation, apart from the values of a claim.

    Their order does not matter, since a reply puts them into its own words.
    """
    reply_values = values_in(reply)
    return all(
        any(value.agrees(reply_value) for reply_value in reply_values)
        for value in values_beyond(quotation, claim)
    )


def _are_equal(first: Sequence[StatedValue], second: Sequence[StatedValue]) -> bool:
    """Return whether two lists of values agree one by one.

    The same values in a different order may have other roles, so both documents are then queried.
    """
    return len(first) == len(second) and all(
        own.agrees(other) for own, other in zip(first, second, strict=True)
    )
