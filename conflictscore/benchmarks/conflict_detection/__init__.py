"""Conflict detection: whether a claim has evidence on both sides (paper, section 4).

Claims are given with their documents, a labeler judges every pair, and a claim counts as
conflicting where a document supports and another contradicts it. The verdicts are compared with
people's, and with three answers that need no judge: always, never, and wherever there are two
documents.
"""
