"""Labelers, which judge whether a document supports or contradicts a claim.

``LABELERS`` lists them, each with a summary. A custom labeler implements ``Labeler``, whose
``label`` judges one pair of claim and document, or ``TableLabeler`` if it is better at judging many
pairs together.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
