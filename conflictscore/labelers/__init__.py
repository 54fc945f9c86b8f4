"""From (claim, document) to an evidence label: one protocol, several judges.

``LABELERS`` lists them with a summary of each. A custom labeler implements ``Labeler``, with one
method that judges one pair, or ``TableLabeler`` if it judges many pairs better together.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
