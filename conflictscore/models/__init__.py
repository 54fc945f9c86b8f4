"""Opens the chat model that a spec string names: at OpenAI or a compatible endpoint, or local.

``open_model`` opens a model by its spec, and ``from_chat_model`` wraps any LangChain chat model.
Both functions return the ``LanguageModel`` that nodes and labelers call.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

LOCAL_ENDPOINT = "local"
"""The endpoint that is recorded for every local model.

The real address changes whenever the model's server starts.
"""
