"""Classifies tools as search, fetch, read or write tools by the words in their names."""

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
lines."""


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
"""Words in the names of tools that return one page, whatever the page contains."""


READS = FETCHES | frozenset(
    {
        "read",
        "wiki",
        "web",
        "doc",
        "docs",
        "document",
        "documents",
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


# The words in a name such as "searchWeb" or "HTTPGet".
NAME_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
