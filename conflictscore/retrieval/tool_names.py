"""Classifies tools as search, fetch, read or write tools by the words in their names.

The words were chosen by hand. Common words such as "get" are absent because they say nothing about
the kind of tool: ``getTime`` returns no evidence. If a name contains none of the words, the tool is
classified by its output.

The sets are tried in this order: search, write, read. Therefore ``search_and_save`` counts as a
search tool. A tool whose name has words for both searching and fetching counts as a search tool,
too.
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


_FETCHING = {
    f"{stem}{ending}"
    for stem, endings in (
        *((stem, ("e", "es", "er", "ers", "ing")) for stem in ("brows", "scrap")),
        *((stem, ("", "s", "es", "er", "ers", "ing")) for stem in ("fetch", "crawl")),
        *((stem, ("", "s", "er", "ers", "ing")) for stem in ("download", "visit")),
    )
    for ending in endings
}
"""The forms of verbs, such as "browser" for "browse"."""
FETCHES = frozenset(_FETCHING | {"page", "webpage", "website", "url"})
"""Words in the names of tools that return one page. The output of such a tool is one source, even
if it looks like a list of documents. The plural of a noun, as in ``get_pages``, is absent, because
such a tool returns pages of several authors."""


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

The words in :data:`FETCHES` mean that the output is one document. Words that are not in
:data:`FETCHES` leave the number open: a tool named ``wiki`` or ``article`` may return one document
or several.
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
"""Words in the names of tools that store or send something. The output of such tools is only a
receipt.
"""


# The words in a name such as "searchWeb" or "HTTPGet".
NAME_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+s?(?![a-z])")
