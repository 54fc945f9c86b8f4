"""Validity: whether the score measures what it says, and how far wrong labels move it.

Answers that people judged, and made ones whose order a reader knows, are scored claim by claim; the
score stands beside plain rivals made of the same labels. On claims whose documents people labelled,
labels are made worse and the score is corrected for it.
"""
