"""Words of direction, such as "until" and "from", in several languages."""

from collections.abc import Mapping

DIRECTIONS: Mapping[str, frozenset[str]] = {
    word: frozenset(directions.split())
    for words, directions in (
        ("until till before bis vor jusqu jusque avant hasta antes fino prima até tot voor", "end"),
        ("from since after ab seit nach depuis dès après desde después dopo vanaf", "start"),
        ("above over exceeding über", "more"),
        ("below under beneath unter", "less"),
        ("with mit avec con com met", "with"),
        ("without ohne sans sin senza sem zonder", "without"),
        ("towards into to", "to"),
    )
    for word in words.split(" ")
}
"""The directions that prepositions express; a different direction changes the meaning of a
statement. "From" and "since" express the same direction.
"""
