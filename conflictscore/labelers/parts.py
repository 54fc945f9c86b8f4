"""Functions that read a document that is too long for one prompt, one part per call.

The parts nearest to the claims are read first, and then the remaining parts in order. The document
must be read completely, since the decisive line may have no word in common with the claim. If
reading all parts would require too many calls, only the nearest parts are read, and the label
records this (``document_cut``).
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import NamedTuple

from conflictscore.models.fitting import Choose, Fitted
from conflictscore.prompts import material
from conflictscore.records import Document, EvidenceLabel, Label
from conflictscore.threads import at_once

MOST_PARTS = 4
"""Maximum number of parts of a document to read; each costs one call per claim or batch. The number
was chosen by hand."""
_TITLE_CHARS = 300
"""Maximum length of a document's title, in characters.

The title is shown with each part of the document. Titles come from pages, so a longer one could
fill every prompt.
"""
_SIDES = frozenset({Label.SUPPORTS, Label.CONTRADICTS})

Fit = Callable[[Document, Choose | None], Fitted]
"""A function that fits a document into a judge's prompt."""
AskAgain = Callable[[Sequence[str]], Awaitable[EvidenceLabel | None]]
"""A function that asks about a document again, showing the parts around quotations from it.

The function returns None if its judge never quotes.
"""


class Parts(NamedTuple):
    """A document in the form that a judge sees."""

    texts: tuple[str, ...]
    """The text for each prompt; a single text if the whole document fits."""
    cut: bool
    """Whether the document has further parts that are not read."""


def parts_of(document: Document, fit: Fit, choose: Choose) -> Parts:
    """Return the parts of a document to read; ``choose`` finds the parts nearest to the claims.

    Raises:
        ContextWindowError: The prompt has no room for any part.
    """
    # the title is then read once, as part of the text
    if len(document.title.strip()) > _TITLE_CHARS:
        text = f"{document.title.strip()}\n\n{document.text}"
        document = document.model_copy(update={"title": "", "text": text})
    nearest = fit(document, choose)
    first = as_shown(nearest.documents[0])
    rest = nearest.rests.get(document.number, "")
    texts = [first]
    most_chars = len(document.text)  # the first remainder is always split
    while rest.strip():
        # The first parts in document order are no likelier to hold the decisive line than any
        # others, so a document that stays cut costs one call instead of four.
        if len(texts) == MOST_PARTS or len(rest) > most_chars:
            return Parts((first,), cut=True)
        following = fit(document.model_copy(update={"text": rest}), None)
        texts.append(as_shown(following.documents[0]))
        rest, before = following.rests.get(document.number, ""), rest
        # A longer remainder would need too many parts, so it is not split at all. The factor 2
        # allows for text in a different script, which may have fewer tokens per character.
        most_chars = 2 * MOST_PARTS * (len(before) - len(rest))
    return Parts(tuple(texts), cut=False)


async def label_by_parts(
    prompts: Sequence[str],
    ask: Callable[[str], Awaitable[EvidenceLabel]],
    ask_again: AskAgain,
) -> EvidenceLabel:
    """Return the label of a document; each of the prompts shows one part of the document."""
    if len(prompts) == 1:
        return await ask(prompts[0])
    return await label_of_parts(await at_once(partial(ask, each) for each in prompts), ask_again)


async def label_of_parts(labels: Sequence[EvidenceLabel], ask_again: AskAgain) -> EvidenceLabel:
    """Combine the labels of the parts of a document; the first part is nearest to the claim.

    The result is the side that the parts take. If the parts take both sides, and there is a
    quotation for each side, the judge is asked again about the text around its quotations. If the
    judge is not asked, or then takes no side, the part with the highest score decides; a missing
    score counts as 0. If scores are equal, the earliest part in ``labels`` decides: the nearest
    part, or else the part that comes first in the document. If any part has no label, the document
    has no label.
    """
    [first, *_] = labels
    unread = next((label for label in labels if label.label is Label.UNLABELLED), None)
    if unread is not None:  # the unread part might have taken the other side
        return unread
    sided = [label for label in labels if label.label in _SIDES]
    if len({label.label for label in sided}) < 2:
        return next(iter(sided), first)
    snippets = _snippets_of_both(sided)
    again = await ask_again(snippets) if snippets else None
    if again is not None and again.label in _SIDES:
        return again
    # The judge may see too little around the quotations to take a side, while each part was read as
    # a whole. So the parts' own labels decide.
    return max(sided, key=lambda label: label.score or 0)


def _snippets_of_both(sided: Sequence[EvidenceLabel]) -> list[str]:
    """Return the quotations of two sides; empty unless there is one for each side.

    Judges that return only a letter quote nothing. With the quotations of one side alone, the
    prompt would show no evidence for the other side.
    """
    quotations = [(label.label, label.snippet) for label in sided if label.snippet]
    sides = {side for side, _ in quotations}
    return [snippet for _, snippet in quotations] if sides == _SIDES else []


def as_shown(document: Document) -> str:
    """Return the title and text as a judge reads them, made safe to put between delimiters."""
    title = document.title.strip()
    return material(f"{title}\n\n{document.text}" if title else document.text)
