"""From (claim, document) to an evidence label: one protocol, several judges.

``LABELERS`` names them and says what each one does. A labeler of your own offers ``Labeler``: one
method that judges one pair; or ``TableLabeler``, where it judges many pairs better together.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
