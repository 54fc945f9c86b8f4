"""The note under an answer: where its sources disagree, or that it could not be checked.

It is part of the answer's text, which many clients show as Markdown. So what comes from a document
or a model is stripped of everything that could become a link, an image or markup.
"""

import re
from collections.abc import Sequence

from conflictscore.nodes.conflict_details import Witness, witnesses
from conflictscore.prompts import material
from conflictscore.records import Document, Label, Run

__all__ = ["disagreement_note", "unchecked_note"]

_MARKUP = re.compile(
    r"""
      (?<!\S)\S+@\S+  # first, since the local part of an address may hold what is cut out below
    | [\[\]()<>{}|`*_#!~\\]+
    | \w{1,20}://\S*
    | www\.\S*
    | &\w+;  # clients decode these before they look for addresses
    """,
    re.IGNORECASE | re.VERBOSE,
)
_TITLE_CHARS = 80
_CLAIM_CHARS = 300
_MOST_SOURCES = 3
_MOST_CLAIMS = 5


def disagreement_note(run: Run) -> str | None:
    """The note on a first answer whose sources disagree; None where they do not.

    It names every claim that a document contradicts, since nothing is changed for that.
    """
    claims = run.report.claims if run.report else ()
    disputed = run.report.disputed if run.report else ()
    split = [claim for claim in claims if claim.contradicts or claim.claim.number in disputed]
    if not split:
        return None
    speaks_against = all(not claim.supports for claim in split)
    lines = [
        f"Note: the sources {'speak against' if speaks_against else 'disagree about'} {len(split)}"
        f" of {len(claims)} claims of this answer."
    ]
    for claim in split[:_MOST_CLAIMS]:
        text = _plain(claim.claim.text, _CLAIM_CHARS)
        sides = (
            _listed(list(witnesses(claim, label, run.documents)))
            for label in (Label.SUPPORTS, Label.CONTRADICTS)
        )
        lines.append("- “{}” For it: {}. Against it: {}.".format(text, *sides))
    if len(split) > _MOST_CLAIMS:
        lines.append(f"- and {len(split) - _MOST_CLAIMS} more")
    return "\n".join(lines)


def unchecked_note(reason: str) -> str:
    """The note for an answer that could not be checked."""
    return f"Note: this answer was not checked against sources ({_plain(reason, _CLAIM_CHARS)})."


def _listed(side: Sequence[Witness]) -> str:
    """The first sources of a side, each with the number of its near-copies there."""
    shown = [
        _name(one.document) + (f" (and {len(one.copies)} like it)" if one.copies else "")
        for one in side[:_MOST_SOURCES]
    ]
    if len(side) > _MOST_SOURCES:
        shown.append(f"{len(side) - _MOST_SOURCES} more")
    return "; ".join(shown) or "none"


def _name(document: Document) -> str:
    """A document by title and host, or by its number."""
    title = _plain(document.title, _TITLE_CHARS) or f"document {document.number}"
    host = _plain(document.site, _TITLE_CHARS) if document.site != document.url else ""
    return f"{title}, {host}" if host else title


def _plain(text: str, most: int) -> str:
    folded = " ".join(_MARKUP.sub(" ", material(text)).split())
    return folded if len(folded) <= most else f"{folded[:most]}…"
