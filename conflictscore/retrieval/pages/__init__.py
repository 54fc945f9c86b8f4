"""Reading the pages behind search results: fetched safely, extracted in processes of their own.

`reader.PageReadingRetriever` wraps any retriever. A page that cannot be read leaves the text that
its search engine gave, and says why. Needs the extra ``fetch``; nothing is imported here, so that
its libraries load only where pages are read.
"""
