"""Labelers, which judge whether a document supports or contradicts a claim.

``LABELERS`` lists the labelers, each with a summary. A custom labeler implements ``Labeler``, whose
method ``label`` judges a claim against a document. If a labeler works better on batches of such
pairs, it implements ``TableLabeler`` instead.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
