"""Configures the docs site, which ``make docs`` builds in ``build/site``."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

project = "conflictscore"
html_title = "conflictscore"
html_theme = "furo"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinxcontrib.mermaid",
]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
myst_fence_as_directive = ["mermaid"]
autodoc_typehints = "description"
autodoc_member_order = "bysource"
autodoc_typehints_description_target = "documented"
autodoc_default_options = {"members": True, "exclude-members": "model_config, model_post_init"}
copybutton_prompt_text = "$ "

_ROOT = Path(__file__).parents[1]
_CARD = "conflictscore/labelers/nli/minilm/MODEL_CARD.md"
_ELSEWHERE = {
    "index": "README.md",
    "architecture": "ARCHITECTURE.md",
    "changelog": "CHANGELOG.md",
    "contributing": "CONTRIBUTING.md",
    "model-card": _CARD,
    "model-card-mpnet": "conflictscore/labelers/nli/mpnet/MODEL_CARD.md",
}
"""Files outside this folder that contain the text of a page, by the page's name."""
_FENCED = re.compile(r"^```\w*$")


def _read(app: Sphinx, name: str, source: list[str]) -> None:
    """Insert the text of a page from outside this folder, and adapt links to such files."""
    if name in _ELSEWHERE:
        text = (_ROOT / _ELSEWHERE[name]).read_text(encoding="utf-8")
        source[0] = f"{text.replace('](docs/', '](')}\n\n{source[0]}"
    for page, path in _ELSEWHERE.items():
        source[0] = re.sub(rf"\]\((?:\.\./)*{re.escape(path)}(?=[)#])", f"](/{page}.md", source[0])


def _fences(app: Sphinx, kind: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Replace the Markdown code fences of a docstring by blocks of reStructuredText."""
    lines[:] = _without_fences(lines)


def _without_fences(lines: Sequence[str]) -> list[str]:
    inside, out = False, list[str]()
    for line in lines:
        if _FENCED.match(line.strip()):
            inside = not inside
            out += ["", "::", ""] if inside else [""]
        else:
            out.append(f"    {line}" if inside else line)
    return out


def setup(app: Sphinx) -> None:
    """Connect the functions above to Sphinx, which calls this function."""
    app.connect("source-read", _read)
    app.connect("autodoc-process-docstring", _fences)
