"""The note under an answer: where its sources disagree, or that it could not be checked.

It stands in the text of an answer, which many clients show as Markdown. So what comes from a
document or a model is stripped of everything that could become a link, an image or markup.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from conflictscore.prompts import material

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


def disagreement_note(
    report: Mapping[str, Any], documents: Sequence[Mapping[str, Any]]
) -> str | None:
    """The note for an answer whose sources disagree; None where they do not.

    Args:
        report: The answer's scores, as ``ConflictReport.summary()``.
        documents: The documents, as ``Document`` in JSON.
    """
    split = [claim for claim in report["claims"] if claim["conflicting"]]
    if not split:
        return None
    names = {document["number"]: _name(document) for document in documents}
    lines = [
        f"Note: the sources disagree about {len(split)} of {len(report['claims'])} claims of this"
        " answer."
    ]
    for claim in split[:_MOST_CLAIMS]:
        for_it, against = (_listed(claim[side], names) for side in ("supports", "contradicts"))
        text = _plain(claim["text"], _CLAIM_CHARS)
        lines.append(f"- “{text}” For it: {for_it}. Against it: {against}.")
    if len(split) > _MOST_CLAIMS:
        lines.append(f"- and {len(split) - _MOST_CLAIMS} more")
    return "\n".join(lines)


def unchecked_note(reason: str) -> str:
    """The note for an answer that could not be checked."""
    return f"Note: this answer was not checked against sources ({_plain(reason, _CLAIM_CHARS)})."


def _listed(numbers: Sequence[int], names: Mapping[int, str]) -> str:
    shown = [names[number] for number in numbers[:_MOST_SOURCES]]
    if len(numbers) > _MOST_SOURCES:
        shown.append(f"{len(numbers) - _MOST_SOURCES} more")
    return "; ".join(shown)


def _name(document: Mapping[str, Any]) -> str:
    """A document by title and host, or by its number."""
    title = _plain(document["title"], _TITLE_CHARS) or f"document {document['number']}"
    host = _plain(_host(document["url"]), _TITLE_CHARS)
    return f"{title}, {host}" if host else title


def _host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


def _plain(text: str, most: int) -> str:
    folded = " ".join(_MARKUP.sub(" ", material(text)).split())
    return folded if len(folded) <= most else f"{folded[:most]}…"
