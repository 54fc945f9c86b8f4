"""From a spec string to a chat model: OpenAI, a compatible endpoint, or the embedded local one.

``open_model`` opens a model by its spec, and ``from_chat_model`` wraps any LangChain chat model.
Both return the ``LanguageModel`` that nodes and labelers call.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

LOCAL_ENDPOINT = "local"
"""The recorded endpoint of every local model, since its server's address changes at each start."""
