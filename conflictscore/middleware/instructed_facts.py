"""Finds claims of an answer that stem from the system prompt, which no labeler reads.

A fact in the instructions is evidence that the model saw and the check did not. It matters only
where the documents say nothing about the claim. Time is linear in the length of the instructions.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise

from conflictscore.answering.statements import numbers_in, telling_terms
from conflictscore.records import Gap, GapKind, Run
from conflictscore.records.examined import quoted
from conflictscore.sentences import sentence_starts

_MOST_CHARS = 40_000  # characters of instructions that are compared
_MOST_CLAIMS = 20  # claims that are compared
_LEAST_TERMS = 2  # minimum terms of a claim beyond its question
_SHARE = 0.8
"""Smallest share of a claim's terms in one sentence of the instructions, chosen by hand: models
reword a little."""


def instructed_facts(run: Run, instructions: Iterable[str]) -> Iterator[Gap]:
    """Yield a gap for each claim that only the instructions state, and no document mentions."""
    report = run.final_report or run.report
    claims = report.claims if report else ()
    unmentioned = [c.claim for c in claims if not c.supports and not c.contradicts]
    if not unmentioned:
        return
    text = "\n".join(instructions)[:_MOST_CHARS]
    asked = _terms(run.question or "")
    sentences = [_terms(text[start:end]) for start, end in pairwise([*sentence_starts(text), None])]
    for claim in unmentioned[:_MOST_CLAIMS]:
        own = _terms(claim.text) - asked
        if len(own) >= _LEAST_TERMS and any(len(own & s) >= _SHARE * len(own) for s in sentences):
            note = f"{quoted(claim.text)} is in the system prompt, which is not read as a document"
            yield Gap(kind=GapKind.EVIDENCE_LEFT_OUT, note=note, passage=claim.passage)


def _terms(text: str) -> frozenset[str]:
    return telling_terms(text) | numbers_in(text)
