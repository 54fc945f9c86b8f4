"""Opens chat models from OpenAI, a compatible endpoint, or this machine, by a spec string.

``open_model`` opens a model by its spec, and ``from_chat_model`` wraps any LangChain chat model.
Both return the ``LanguageModel`` that nodes and labelers call.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

LOCAL_ENDPOINT = "local"
"""The endpoint that runs record for every local model. The real address changes at each start."""
