"""Conflict detection: whether a claim has evidence on both sides (paper, section 4).

Claims are given with their documents, a labeler judges every pair, and a claim counts as
conflicting if one document supports it and another contradicts it. The verdicts are compared with
people's labels, and with three constant answers: always, never, and for every claim with two
documents.
"""
