"""From a question to documents: a web search, files of your own, or what was recorded.

`open_retrieval` builds a retriever from settings. Every search in `PROVIDERS` is a LangChain
retriever with a number of documents ``k``, and any other LangChain retriever fits in its place.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
