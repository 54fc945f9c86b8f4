"""Finds the citations in a passage, and replaces them if the cited statement changes.

A citation has one of three forms: the number of a document ("[3]"), a word with numbers ("(Doc 3)",
"(Docs 1, 2)"), or a link to a document ("[3](https://…)", "([Log](https://…))"). The loop neither
writes nor changes citations in any other form.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from conflictscore.records import Candidate, Document

# Repetitions are bounded, so that a search through a hostile text takes linear time.
_LINK = r"\[(?P<text>[^\[\]\n]{1,80})\]\((?P<url>[^()\s]{1,500})\)"
IN_WORDS = (
    r"\((?P<word>[Dd]oc(?:ument)?s?|[Ss]ources?|[Dd]okumente?|[Qq]uellen?)\.?[ \t]"
    r"(?P<list>\d{1,3}(?:(?:,[ \t]|[ \t]and[ \t]|[ \t]und[ \t])\d{1,3})*)\)"
)
"""A pattern for a citation in words: "(Docs 1, 2)"."""
# Citations as links, as numbers in brackets ("[3]"), and in words.
_CITATION = re.compile(rf"{_LINK}|\[(?P<number>\d{{1,3}})\](?!\()|{IN_WORDS}")
# "[1], [2]" is one group of citations
_BETWEEN = re.compile(r"[\s,;]{0,3}")
_PLURALS = {
    "doc": "docs",
    "document": "documents",
    "source": "sources",
    "dokument": "dokumente",
    "quelle": "quellen",
}
_PLURALS |= {word.capitalize(): plural.capitalize() for word, plural in _PLURALS.items()}
_SINGULARS = {plural: word for word, plural in _PLURALS.items()}


class _Citation(NamedTuple):
    """A citation in a passage: its span, its form, and the documents of the run that it names."""

    start: int
    end: int
    form: str  # "number", "word" or "link".
    documents: tuple[int, ...]  # Empty if the citation names no document of the run.
    word: str = ""


def cites(passage: str, documents: Sequence[Document]) -> bool:
    """Return whether a passage cites documents of the run."""
    return any(each.documents for each in _citations(passage, documents))


def citations_of(passage: str, side: Candidate, documents: Sequence[Document]) -> bool:
    """Return whether a passage cites documents by "[number]", and all of them support a side."""
    numbers = [each for each in _citations(passage, documents) if each.form == "number"]
    cited_numbers = {number for each in numbers for number in each.documents}
    return bool(cited_numbers) and cited_numbers <= {*side.votes, *side.evidence.supports}


def without_last_citations(passage: str, documents: Sequence[Document]) -> str:
    """Remove the group of citations at the end of a passage, but not the full stop.

    A group that cites something other than documents of the run is kept.
    """
    runs = _runs(passage, documents)
    # if words follow the last group, it is not at the end
    if not runs or passage[runs[-1][-1].end :].strip(" ).!?\u3002"):
        return passage
    run = runs[-1]
    if not all(each.documents for each in run):
        return passage
    start, end = _around(passage, run)
    return passage[:start].rstrip() + passage[end:]


def cited_anew(
    passage: str, claim: Candidate, rival: Candidate, documents: Sequence[Document]
) -> str:
    """Replace the citations of a passage with citations of the rival's documents, in the same form.

    A link is replaced by links to the rival's documents, or removed if they have no address. The
    passage is not changed if it has several groups of citations, or if it cites a document that
    does not support the claim.
    """
    runs = _runs(passage, documents)
    if len(runs) != 1:
        return passage
    [run] = runs
    cited_numbers = {number for each in run for number in each.documents}
    if not cited_numbers or not cited_numbers <= {*claim.votes, *claim.evidence.supports}:
        return passage
    numbers = rival.votes or rival.evidence.supports
    new = _written(run[0], numbers, documents)
    start, end = (run[0].start, run[-1].end) if new else _around(passage, run)
    before = passage[:start] if new else passage[:start].rstrip()
    return before + new + passage[end:]


def _written(form: _Citation, numbers: Sequence[int], documents: Sequence[Document]) -> str:
    """Return a new citation of these documents, in the form of an existing citation."""
    if form.form == "number":
        return "".join(f"[{number}]" for number in numbers)
    if form.form == "word":
        word = form.word
        word = _PLURALS.get(word, word) if len(numbers) > 1 else _SINGULARS.get(word, word)
        return f"({word} {', '.join(map(str, numbers))})"
    urls = {document.number: document.url for document in documents}
    links = [(number, urls.get(number, "")) for number in numbers]
    if not all(url.startswith(("http://", "https://")) for _, url in links):
        return ""
    return "".join(f"[{number}]({url})" for number, url in links)


def _around(passage: str, run: Sequence[_Citation]) -> tuple[int, int]:
    """Return the span of a group of citations, including parentheses around it."""
    start, end = run[0].start, run[-1].end
    if passage[start - 1 : start] == "(" and passage[end : end + 1] == ")":
        return start - 1, end + 1
    return start, end


def _runs(passage: str, documents: Sequence[Document]) -> list[list[_Citation]]:
    """Return the citations of a passage, in groups of adjacent citations."""
    runs = list[list[_Citation]]()
    for each in _citations(passage, documents):
        if runs and _BETWEEN.fullmatch(passage, runs[-1][-1].end, each.start):
            runs[-1].append(each)
        else:
            runs.append([each])
    return runs


def _citations(passage: str, documents: Sequence[Document]) -> list[_Citation]:
    by_url = {document.url: document.number for document in documents if document.url}
    numbers = {document.number for document in documents}

    def of_run(cited: tuple[int, ...]) -> tuple[int, ...]:
        # without a list of documents, any number may be that of a document
        return cited if not numbers or numbers.issuperset(cited) else ()

    citations = list[_Citation]()
    for match in _CITATION.finditer(passage):
        start, end = match.span()
        if match["url"]:
            number = by_url.get(match["url"])
            if number is None and match["text"].isdecimal() and int(match["text"]) in numbers:
                number = int(match["text"])
            citations.append(_Citation(start, end, "link", () if number is None else (number,)))
        elif match["number"]:
            citations.append(_Citation(start, end, "number", of_run((int(match["number"]),))))
        else:
            listed = tuple(map(int, re.findall(r"\d+", match["list"])))
            citations.append(_Citation(start, end, "word", of_run(listed), match["word"]))
    return citations
