"""Shared parts of the HTML pages: escaping templates, and untrusted text as markup."""

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterator
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conflictscore.errors import ConfigurationError, install_hint
from conflictscore.markup import rendered_markdown, shown
from conflictscore.reporting.figure_text import counted

if TYPE_CHECKING:
    from jinja2 import Environment

_FOLDER = Path(__file__).parent

_CITED = re.compile(
    r"\b(?:docs?|documents?)\.?\s+\d+(?:(?:,|\s+and|,\s+and)\s+\d+)*", re.IGNORECASE
)
_DIFFED_PAIRS = 100_000
"""Of equal words in two texts. Comparing looks at each pair, and at some of them many times."""


def markdown(text: str) -> Any:
    """Untrusted Markdown as markup; HTML in it stays text."""
    from markupsafe import Markup

    return Markup(rendered_markdown(text))  # noqa: S704 - escaped by the renderer


def linked_documents(text: str, anchor: str, numbers: Collection[int]) -> Any:
    """Untrusted text in which "(Docs 1, 3)" links to these documents on the page."""
    from markupsafe import Markup, escape

    def one(number: re.Match[str]) -> str:
        known = int(number[0]) in numbers
        return f'<a href="#{anchor}-{number[0]}">{number[0]}</a>' if known else number[0]

    def cited(found: re.Match[str]) -> str:
        return re.sub(r"\d+", one, found[0], flags=re.ASCII)

    return Markup(_CITED.sub(cited, str(escape(shown(text)))))  # noqa: S704 - escaped before


def word_diff(before: str, after: str) -> Any:
    """Deletions and insertions, word by word; empty where the texts are too long."""
    from markupsafe import Markup, escape

    old, new = (re.findall(r"\s*\S+|\s+", shown(text)) for text in (before, after))
    there = Counter(new)
    if sum(there[word] for word in old) > _DIFFED_PAIRS:
        return Markup("")

    def parts() -> Iterator[Any]:
        same = SequenceMatcher(None, old, new, autojunk=False)
        for kind, a, b, c, d in same.get_opcodes():
            if kind == "equal":
                yield escape("".join(old[a:b]))
            if kind in ("replace", "delete"):
                yield Markup("<del>{}</del>").format("".join(old[a:b]))
            if kind in ("replace", "insert"):
                yield Markup("<ins>{}</ins>").format("".join(new[c:d]))

    return Markup("").join(parts())


@cache
def environment() -> "Environment":
    """The page's templates, which escape all that they are filled with; compiled once."""
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
        from markupsafe import Markup
    except ImportError as error:
        raise ConfigurationError(
            f"a report needs the extra bench: {install_hint('bench')}"
        ) from error

    def finalize(value: Any) -> Any:
        return value if isinstance(value, Markup) else shown(value)

    made = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"counted": counted, "markdown": markdown}
    return made


def asset(name: str) -> tuple[Any, str]:
    """A style or script of the pages as markup, and the hash that a page's policy allows it by."""
    from markupsafe import Markup

    text = (_FOLDER / name).read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Markup(text), f"sha256-{digest}"  # noqa: S704 - our own file
