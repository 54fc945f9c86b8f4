"""Defines the unit that a model is trained and measured on: a claim, a document and a label."""

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

Label = Literal["SUPPORTS", "CONTRADICTS", "IRRELEVANT"]
LABELS: tuple[Label, ...] = ("SUPPORTS", "CONTRADICTS", "IRRELEVANT")
"""The model's outputs, in this order."""

_OTHERWISE = """
    arc begin_wow cad_snli fnc1 infotabs mnli_ni mnli_subset.dev newprotocols_wiki
    newprotocols_wiki.dev semiauto_wiki snli_18k wanli_15k
"""
OTHERWISE = frozenset(_OTHERWISE.split())
"""Sets whose labels have a different meaning. In some, sentences about different things are
IRRELEVANT; in others, two captions that cannot both be true contradict each other. In all other
sets, a claim that is an answer is contradicted by a passage with a different answer."""

Part = Literal["synthetic", "human", "validation", "questions", "general", "neutral", "taught"]


class Pair(NamedTuple):
    """One claim and one document.

    Attributes:
        claim: The claim.
        document: The document's text.
        label: How the document relates to the claim.
        source: The set that it comes from.
        kind: How it was made, such as ``change_date``; ``people`` if people labelled it.
        title: The document's title, or empty.
        date: When the document was published, or empty.
    """

    claim: str
    document: str
    label: Label
    source: str
    kind: str
    title: str = ""
    date: str = ""


class Row(NamedTuple):
    """A pair, and the part that it belongs to."""

    part: Part
    pair: Pair


def claim_key(text: str) -> str:
    """Return a key that claims share if they differ only in case, punctuation and spaces."""
    return " ".join(re.findall(r"\w+", text.lower()))


def read_rows(path: Path) -> Iterator[Row]:
    """Read compressed JSON lines, one row at a time."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            part: Part = record.pop("part")
            yield Row(part, Pair(**record))
