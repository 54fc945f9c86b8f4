"""Labelers, which judge whether a document supports or contradicts a claim.

``LABELERS`` lists them, each with a summary. A custom labeler implements ``Labeler``, whose method
``label`` judges one pair of a claim and a document. If it judges pairs better in batches, it
implements ``TableLabeler`` instead.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
