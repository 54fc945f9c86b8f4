"""Finds web addresses in the arguments of tool calls; a call with an address counts as a fetch."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from urllib.parse import unquote

# Maximum nesting depth of the arguments that are searched, and maximum number of arguments at each
# level. Real calls stay far below both limits.
_DEPTH = 12
_MOST_ARGUMENTS = 100
_LONGEST_ADDRESS = 2000  # In characters; few addresses are longer.
# Quantifiers are bounded, so that searching a hostile text takes linear time.
_ADDRESS = re.compile(r"\s*(?:[a-z][a-z0-9+.-]{1,20}://|www\.)\S+\s*", re.IGNORECASE)
_MENTIONED = re.compile(
    r"(?<![\w.-])(?:[a-z][a-z0-9+.-]{1,20}://|www\.)\S"  # https://a and www.a.
    # A host's name before a path or port, or at the end: a.org/b, a.org:80, a.org
    r"|(?<![\w.@/-])(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}(?:[/:][^\s/]|/?\s*\Z)"
    r"|(?<![\w:/])//[\w\[]"  # //a
    # localhost, a:80/, 127.0.0.1
    r"|(?<![\w.-])(?:localhost\b|[a-z][a-z0-9-]{0,62}:\d{2,5}/|(?:\d{1,3}\.){3}\d{1,3}(?![\w.]))"
    r"|\[[0-9a-f]{0,4}:[0-9a-f:.]{1,40}\]",  # [::1]
    re.IGNORECASE,
)


def argument_texts(arguments: object, depth: int = _DEPTH) -> Iterator[str]:
    """Yield the strings among the arguments of a call, including nested ones.

    The name of an argument is yielded only if it is an address, as in ``{"https://a.org": true}``.
    """
    if isinstance(arguments, str):
        yield arguments
    elif depth and isinstance(arguments, Mapping | list):
        if isinstance(arguments, Mapping):
            names = map(str, islice(arguments, _MOST_ARGUMENTS))
            yield from (name for name in names if address_of(name))
        inner = arguments.values() if isinstance(arguments, Mapping) else arguments
        for each in islice(inner, _MOST_ARGUMENTS):
            yield from argument_texts(each, depth - 1)


def address_of(text: str) -> str | None:
    """Return the text, stripped of white space, if it is an address; otherwise None."""
    return text.strip() if len(text) <= _LONGEST_ADDRESS and _ADDRESS.fullmatch(text) else None


def mentions_address(text: str) -> bool:
    """Return whether an argument, such as a command, contains an address or is a host name."""
    # an address may also be percent-encoded, for example as a parameter of another address
    return any(_MENTIONED.search(each) for each in {text, unquote(text)})
