"""What the HTML pages share: templates that escape, and text of others made fit to be shown."""

import base64
import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from conflictscore.errors import ConfigurationError
from conflictscore.reporting import figure_text

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["asset", "environment", "shown", "web_address", "web_host"]

_FOLDER = Path(__file__).parent

_LINE_END = re.compile("\r\n?")
# control characters, overrides of the text's direction, and halves of surrogate pairs
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def shown(value: object) -> str:
    """A text as it may stand on a page: lines end alike, each unsafe character is a space.

    Markup is left to the template, which escapes it.
    """
    return _UNSAFE.sub(" ", _LINE_END.sub("\n", str(value)))


def web_address(url: str) -> str | None:
    """The address where it is one of the web, as a link may hold it; None for all others."""
    if _UNSAFE.search(url) or any(character.isspace() for character in url):
        return None
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return None
    return url if known else None


def web_host(url: str) -> str:
    """Where a document is from, in short: the host, or an address that is none of the web."""
    address = web_address(url)
    return urlsplit(address).hostname or "" if address else url


def environment(folder: Path) -> "Environment":
    """Templates of a folder and of this one, which escape all that they are filled with.

    Raises:
        ConfigurationError: Jinja2 is not installed.
    """
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
        from markupsafe import Markup
    except ImportError as error:
        raise ConfigurationError(
            "a report needs the extra bench: pip install 'conflictscore[bench]'"
        ) from error

    def finalize(value: Any) -> Any:
        return value if isinstance(value, Markup) else shown(value)

    made = Environment(
        loader=FileSystemLoader([folder, _FOLDER]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    names = ("percent", "published", "points", "p_value", "money", "seconds", "counted")
    made.filters |= {name: getattr(figure_text, name) for name in names}
    return made


def asset(name: str) -> tuple[Any, str]:
    """A style or script of the pages as markup, and the hash that a page's policy allows it by."""
    from markupsafe import Markup

    text = (_FOLDER / name).read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Markup(text), f"sha256-{digest}"  # noqa: S704 - our own file
