"""From a question to documents: a web search, files of your own, or what was recorded.

`open_retrieval` builds a LangChain retriever from settings; any other fits in its place.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
