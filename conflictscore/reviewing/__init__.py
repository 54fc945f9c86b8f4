"""Reviews of live runs: what reviewers say about a service's runs, stored, counted and exported."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
