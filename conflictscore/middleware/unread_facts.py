"""Finds claims of an answer that come from texts that the model saw but no labeler reads.

Such texts are the system prompt and the results of tools that are not sources. Unread texts matter
only for claims that the documents do not mention. Time is linear in the length of the texts.

Limits without a stated reason were chosen by hand.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise

from conflictscore.answering.statements import numbers_in, telling_terms
from conflictscore.records import Gap, GapKind, Run
from conflictscore.records.examined import quoted
from conflictscore.sentences import sentence_starts

# Maximum characters of a text to compare, which limits the time. A fact in the rest is not found.
_MOST_CHARS = 40_000
# Only the first claims are compared, since each is compared with every sentence.
_MOST_CLAIMS = 20
# Minimum number of shared terms that the question does not contain. One shared term, such as a name
# or a number, may be a coincidence.
_LEAST_TERMS = 2
_SHARE = 0.8
"""Minimum share of a claim's terms that one sentence of its source must contain.

The share is below 1, since models change the wording slightly. A much lower share would also match
sentences about the same subject that say something else.
"""


def unread_facts(run: Run, texts: Mapping[str, str]) -> Iterator[Gap]:
    """Yield a gap for each claim that no document mentions but that one of the texts states.

    Args:
        run: The run with the claims and their labels.
        texts: The texts by location, such as "the system prompt".
    """
    report = run.final_report or run.report
    claims = report.claims if report else ()
    unmentioned = [c.claim for c in claims if not c.supports and not c.contradicts]
    if not unmentioned:
        return
    asked = _terms(run.question or "")
    wanted = [(claim, _terms(claim.text) - asked) for claim in unmentioned[:_MOST_CLAIMS]]
    for place, text in texts.items():
        sentences = [*_sentences(text[:_MOST_CHARS])]
        for claim, own in wanted:
            least = max(_LEAST_TERMS, _SHARE * len(own))
            if any(len(own & terms) >= least for terms in sentences):
                note = f"{quoted(claim.text)} is in {place}, which is not read as a document"
                yield Gap(kind=GapKind.EVIDENCE_LEFT_OUT, note=note, passage=claim.passage)


def _sentences(text: str) -> Iterator[frozenset[str]]:
    """Yield the terms of each sentence."""
    for start, end in pairwise([*sentence_starts(text), None]):
        yield _terms(text[start:end])


def _terms(text: str) -> frozenset[str]:
    return telling_terms(text) | numbers_in(text)
