"""Measures how well a labeler detects claims on which documents conflict (paper, section 4).

Every claim comes with its documents. The labeler judges each document of a claim. A claim counts as
conflicting if at least one document supports it and at least one contradicts it. The verdicts are
compared with human labels. The figures are also compared with the figures of three constant
strategies, which ignore what the documents say. The three strategies answer "conflict" for every
claim, for no claim, and for every claim with at least two documents.
"""
