"""Live runs reviewed in place: what reviewers say of a service's runs, kept, counted, exported."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
