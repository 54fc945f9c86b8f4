"""Finds documents for a question by searching the web, your own files or a recorded search.

`open_retrieval` builds a LangChain retriever from settings. You can also use any other retriever.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
