"""Makes untrusted text safe for an HTML page."""

import re
from functools import cache
from html import unescape
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

# Tags of inline elements.
_INLINE = re.compile("</?(?:a|code|em|strong)\\b[^<>]*>")
_TAG = re.compile("<[^<>]*>")
_LINE_END = re.compile("\r\n?")
# control characters, marks that change the direction of text, and halves of surrogate pairs
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def shown(value: object) -> str:
    """Return a text with normalised newlines, and with spaces in place of unsafe characters.

    The text may still contain markup, which the template escapes.
    """
    return _UNSAFE.sub(" ", _LINE_END.sub("\n", str(value)))


def web_address(url: str) -> str | None:
    """Return the URL if it is http or https and safe in a link; otherwise None."""
    if _UNSAFE.search(url) or any(character.isspace() for character in url):
        return None
    try:
        parts = urlsplit(url)
        is_web_address = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return None
    return url if is_web_address else None


@cache
def _markdown() -> "MarkdownIt":
    """Return a Markdown parser that permits no raw HTML or images, and only http(s) links."""
    from markdown_it import MarkdownIt

    class Safe(MarkdownIt):
        """A parser that renders only links to web addresses."""

        def validateLink(self, url: str) -> bool:  # noqa: N802 - the library's name
            return web_address(url) is not None

    def link(self: Any, tokens: Any, place: int, options: Any, env: Any) -> str:
        tokens[place].attrSet("rel", "noopener noreferrer")
        tokens[place].attrSet("target", "_blank")
        return str(self.renderToken(tokens, place, options, env))

    def heading(self: Any, tokens: Any, place: int, options: Any, env: Any) -> str:
        tokens[place].tag = "h6"  # h6 is below all headings of the page that shows the text
        return str(self.renderToken(tokens, place, options, env))

    parser = Safe("commonmark", {"html": False, "breaks": True}).enable("table").disable("image")
    parser.add_render_rule("link_open", link)
    parser.add_render_rule("heading_open", heading)
    parser.add_render_rule("heading_close", heading)
    return parser


def rendered_markdown(text: str) -> str:
    """Render untrusted Markdown as HTML. HTML in the Markdown is escaped."""
    return str(_markdown().render(shown(text)))


def without_markdown(text: str) -> str:
    """Return the visible words of untrusted Markdown, on one line."""
    markup = _INLINE.sub("", rendered_markdown(text))
    return " ".join(unescape(_TAG.sub(" ", markup)).split())
