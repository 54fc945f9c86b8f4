"""Classifies tools as search, fetch, read or write tools by the words in their names.

The words were chosen by hand. Some common words are absent because they decide nothing: ``getTime``
returns no evidence. The output of a tool without any of the words is judged by its look.

The sets are tried in this order: search, write, read. So ``search_and_save`` counts as a search
tool. If a name has words for searching and for fetching, the tool counts as a search tool too.
"""

import re

SEARCHES = frozenset(
    {
        "search",
        "retrieve",
        "retriever",
        "retrieval",
        "lookup",
        "look",
        "find",
        "google",
        "bing",
        "tavily",
        "exa",
        "duckduckgo",
        "ddg",
        "serp",
        "serper",
        "brave",
        "wikipedia",
        "arxiv",
        "pubmed",
        "rag",
    }
)
"""Words in the names of search tools, whose output may be several documents joined by blank
lines. LangChain's tools ``wikipedia`` and ``arxiv`` join their results in this way."""


FETCHES = frozenset(
    {
        "browse",
        "fetch",
        "scrape",
        "crawl",
        "download",
        "visit",
        "page",
        "webpage",
        "website",
        "url",
    }
)
"""Words in the names of tools that return one page. Its output is one source, even if it looks
like a list of documents."""


READS = FETCHES | frozenset(
    {
        "read",
        "wiki",
        "web",
        "doc",
        "docs",
        "document",
        "documents",
        "passage",
        "passages",
        "knowledge",
        "knowledgebase",
        "kb",
        "article",
        "articles",
        "corpus",
        "library",
        "archive",
        "faq",
        "handbook",
        "manual",
        "literature",
        "news",
        "encyclopedia",
        "encyclopaedia",
        "source",
        "sources",
        "context",
    }
)
"""Words in the names of tools whose output is evidence, even if it is short.

Apart from the words of :data:`FETCHES`, they do not tell whether the output is one document or
several. A tool ``wiki`` or ``article`` may return either.
"""


WRITES = frozenset(
    {
        "save",
        "write",
        "update",
        "create",
        "add",
        "insert",
        "delete",
        "remove",
        "send",
        "upload",
        "submit",
        "edit",
        "append",
        "post",
    }
)
"""Words in the names of tools that store or send something, whose output is a mere receipt."""


# The words in a name such as "searchWeb" or "HTTPGet".
NAME_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
