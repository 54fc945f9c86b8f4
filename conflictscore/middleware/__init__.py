"""Ways to wrap an existing chatbot: a chat model, a middleware for agents, a decorator."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
