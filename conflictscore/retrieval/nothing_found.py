"""Recognises results that say nothing: an empty or failed search, and a list of places."""

import re

_NOTHING = re.compile(
    r"(?:sorry[,. ]*|(?:the )?search (?:is )?(?:completed?|done|finished)[.:,]? *)?"
    r"(?:(?:there (?:are|were) )?(?:no|zero|0)(?: \w+){0,4}"
    r" (?:results?|documents?|matches|hits|pages?|articles?|passages?)"
    r"(?: (?:were |was |are |is |have been )?(?:found|available|returned|matched))?"
    r"|(?:nothing|none)(?: \w+){0,2}(?: (?:was|were))? found"
    r"|(?:the )?(?:search|query) (?:returned|found|gave|yielded) (?:no|zero|0)(?: \w+){0,3}"
    r" (?:results?|documents?|matches|hits|pages?|articles?|passages?)"
    r"|(?:the )?(?:index|database|collection|list|result) is empty|none|n/a|\{\}"
    r"|keine(?: \w+){0,2} (?:ergebnisse|treffer|dokumente)(?: gefunden)?"
    r"|aucune? (?:r\u00e9sultat|document)s?(?: trouv\u00e9e?s?)?"
    r"|(?:no se encontraron|sin|ning\u00fan) (?:resultados?|documentos?)(?: encontrados?)?"
    r"|nessun (?:risultato|documento)(?: trovato)?|nenhum (?:resultado|documento)(?: encontrado)?"
    r"|geen (?:resultaten|documenten)(?: gevonden)?"
    r"|(?:error[:. ]{1,2})?(?:\d{3} )?(?:not found|forbidden|too many requests|service unavailable"
    r"|internal server error|rate limit (?:exceeded|reached)|timed out)"
    r"(?:[,.:;] (?:please )?(?:try again|retry)(?: \w+){0,4})?"
    r"|(?:(?:I|we) )?(?:could not|couldn['\u2019]t|did not|didn['\u2019]t|unable to)"
    r" find any(?:thing| \w+)(?: \w+){0,2})"
    r"(?: (?:for|matching|about|to|in)\b(?:(?!\b(?:but|however|though)\b)[^.!?\n]){0,120})?[.!]*",
    re.IGNORECASE,
)
"""Matches a search tool's statement that nothing was found ("No results found for 'X'."), or that
the search failed ("429 Too Many Requests"). A text that only says this is not a document. The
repetitions are bounded by hand.
"""
_NOTHING_CHARS = 300  # in characters; a longer text says more than that nothing was found
# A path or an address: "./notes/a.txt", "https://example.org/a".
_PLACE = re.compile(r"(?:\.{0,2}/|~/|[A-Za-z][A-Za-z0-9+.-]{0,20}://)\S+")
# An entry of a list, which may be printed as in Python: "['/a.txt', '/b.txt']".
_LISTED = re.compile(r"[^\s,\[\]'\"]+")


def lists_places(text: str) -> bool:
    """Return whether a text lists only paths or addresses, as the tools ``ls`` and ``glob`` do."""
    if _LISTED.search(text) is None:
        return False
    return all(_PLACE.fullmatch(each[0]) for each in _LISTED.finditer(text))


def says_nothing_found(text: str) -> bool:
    """Return whether a text only says that a search found nothing, or that it failed."""
    return len(text) < _NOTHING_CHARS and bool(_NOTHING.fullmatch(text))
