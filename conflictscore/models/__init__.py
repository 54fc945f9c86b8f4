"""From a spec string to a chat model: OpenAI, a compatible endpoint, or the embedded local one.

``open_model`` opens one by its spec, ``from_chat_model`` takes any LangChain chat model; both give
a ``LanguageModel``, which is what nodes and labelers ask.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

LOCAL_ENDPOINT = "local"
"""The endpoint of every model on this machine: the address of its server changes each time."""
