"""Reviews of a service's runs. The package stores, counts and exports what reviewers say."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
