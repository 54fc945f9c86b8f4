"""Conflict detection: whether a claim has evidence on both sides (paper, section 4).

Every claim comes with its documents. A labeler judges every pair of claim and document, and a claim
counts as conflicting if one document supports it and another contradicts it. The verdicts are
compared with human labels, and with three constant strategies: always answer "conflict", never, and
only for claims with at least two documents.
"""
