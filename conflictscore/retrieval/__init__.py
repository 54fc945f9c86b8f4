"""From a question to documents: a web search, files of one's own, or what was recorded.

Every provider is a LangChain retriever with a number of documents ``k``, and any other LangChain
retriever fits in its place. Nothing is imported here, so that a provider's libraries load only
where that provider is used.
"""
