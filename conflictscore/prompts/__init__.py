"""The templates of all prompts, in named sets with one file per template.

The set ``default`` is specific to this project. The set ``paper`` follows the rules, inputs and
output formats of Tables 6 to 18 of the paper. It uses different words, since the paper's sentences
are not copied. An edit must preserve the rules, inputs and formats, not the words. For all other
prompts, ``paper`` uses the templates of ``default``.

A template is a ``.txt`` file with ``$name`` placeholders (``$$`` is a dollar sign). For each set,
this package has a folder with the loop's templates. A benchmark's templates are in its folder
``prompts/``. A file in a user's folder overrides the template of the same name.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from importlib import resources
from pathlib import Path
from string import Template

from conflictscore.errors import ConfigurationError
from conflictscore.prompts.material import (
    brief_mark_of,
    mark_of,
    material,
    material_line,
    neutral,
    without_invisibles,
)
from conflictscore.records import Document

__all__ = ["PROMPT_SETS", "PromptSet", "material", "material_line", "neutral", "without_invisibles"]

# A template's place for one document, such as "<document …>Text: $text</document>".
_DOCUMENT = re.compile(
    r"<document\b(?P<about>[^<>]*)>(?P<text>(?:(?!</?document\b).)*+)</document>", re.DOTALL
)
# Titles and addresses come from web pages, so a page could otherwise fill a prompt with its title.
# The number was chosen by hand, and is independent of other limits.
_ATTRIBUTE_CHARS = 300
# The templates of a document in its brief form: without a date, and with one.
_BRIEF_DOCUMENTS = "document_brief", "document_brief_dated"
PROMPT_SETS = ("default", "paper")
"""The named sets.

The first set is complete; the other sets take the templates that they lack from the first.
"""


class PromptSet:
    """A complete set of templates, which is checked when it is loaded.

    ``name`` is the name of the set. If a user's folder overrides templates, ``+`` and the folder's
    name are appended to it, and ``overridden`` contains the names of these templates.
    """

    def __init__(
        self, templates: Mapping[str, str], *, name: str, overridden: Iterable[str] = ()
    ) -> None:
        self.name, self.overridden = name, frozenset(overridden)
        self._templates = {key: Template(text) for key, text in templates.items()}
        self._marked = {key: _with_marks(text) for key, text in templates.items()}
        self._placeholders = {
            key: frozenset(template.get_identifiers()) for key, template in self._templates.items()
        }

    @classmethod
    def load(cls, name: str = "default", *, folder: str | Path | None = None) -> "PromptSet":
        """Load a named set; templates in a user's folder (``NAME.txt``) replace the set's own.

        Raises:
            ConfigurationError: There is no such set or folder, or a file in the folder is not a
                valid template.
        """
        if name not in _SHIPPED:
            names = ", ".join(PROMPT_SETS)
            raise ConfigurationError(f"no prompt set named {name!r}; there are {names}")
        texts, overrides = _SHIPPED[name], dict[str, str]()
        if folder is not None:
            overrides = _read_folder(Path(folder), texts)
            name = f"{name}+{Path(folder).name}"
        return cls({**texts, **overrides}, name=name, overridden=overrides)

    @classmethod
    def open(cls, given: "PromptSet | str | Path | None", *, base: str = "default") -> "PromptSet":
        """Open a named set, or the base set with any templates from a user's folder.

        A folder with the same name as a set must be given as a path, such as ``./paper``.

        Raises:
            ConfigurationError: For the same reasons as in :meth:`load`.
        """
        if isinstance(given, PromptSet):
            return given
        if given is None or str(given) in PROMPT_SETS:
            return cls.load(base if given is None else str(given))
        return cls.load(base, folder=given)

    @property
    def follows_the_paper(self) -> bool:
        """Whether this is the set ``paper``, with or without a user's changes."""
        return self.name.partition("+")[0] == "paper"

    @property
    def names(self) -> frozenset[str]:
        """The names of all templates."""
        return frozenset(self._templates)

    @property
    def texts(self) -> dict[str, str]:
        """Return the text of each template, by name, in alphabetical order."""
        return {name: self._templates[name].template for name in sorted(self._templates)}

    def placeholders(self, name: str) -> frozenset[str]:
        """Return the placeholders in a template."""
        return self._placeholders[name]

    def worded(self, aliases: Mapping[str, str]) -> "PromptSet":
        """Return a copy in which each template named in ``aliases`` has its replacement's text.

        A benchmark whose authors published prompts uses such a copy to ask in the authors' form.
        The two templates must have the same placeholders, since ``render`` refuses fields that are
        not shown.

        Raises:
            ConfigurationError: The user's folder overrides a template, but not its replacement, so
                the override would be ignored.
        """
        texts = {name: template.template for name, template in self._templates.items()}
        for name, stand_in in aliases.items():
            if name in self.overridden and stand_in not in self.overridden:
                raise ConfigurationError(
                    f"{name}.txt in the prompt folder has no effect, since {stand_in}.txt is used"
                    f" here instead; override {stand_in}.txt"
                )
            texts[name] = self._templates[stand_in].template
        return PromptSet(texts, name=self.name, overridden=self.overridden)

    @cached_property
    def sha256(self) -> str:
        """Return the hash of all templates, in hexadecimal."""
        return self.sha256_of(*self._templates)

    def sha256_of(self, *names: str) -> str:
        """Return the hash of the templates with these names, in hexadecimal."""
        digest = hashlib.sha256()
        for name in sorted(names):
            text = self._templates[name].template.encode()
            digest.update(f"{name}:{len(text)}:".encode() + text)
        return digest.hexdigest()

    def render(self, name: str, **fields: str | int) -> str:
        """Fill in a template; the tags around a document get digits that its text cannot contain.

        Raises:
            KeyError: A placeholder has no value, or a field has no placeholder.
        """
        if unshown := fields.keys() - self.placeholders(name):
            raise KeyError(min(unshown))
        template, documents = self._marked[name]
        mark_of_text = brief_mark_of if name in _BRIEF_DOCUMENTS else mark_of
        marks = {
            mark: mark_of_text("".join(str(fields.get(field)) for field in shown))
            for mark, shown in documents.items()
        }
        return template.substitute(marks, **fields)

    def documents(self, documents: Iterable[Document], *, brief: bool = False) -> str:
        """Return the documents as a prompt shows them, each numbered and between tags.

        The brief form, for models that take seconds to read a tag, has no address, a date only if
        it is known, and no heading that repeats the title. It is not used if the user overrides the
        template ``document``, or in the set ``paper``.
        """
        is_brief = brief and not (self.follows_the_paper or "document" in self.overridden)
        return "\n\n".join(self._document(document, is_brief=is_brief) for document in documents)

    def _document(self, document: Document, *, is_brief: bool) -> str:
        date = str(document.metadata.get("date") or "")
        fields: dict[str, str | int] = {
            "number": document.number,
            "title": _attribute(document.title),
            "text": material(document.text),
        }
        if not is_brief:
            fields |= {"source": _attribute(document.url), "date": _attribute(date or "unknown")}
            return self.render("document", **fields)
        undated, dated = _BRIEF_DOCUMENTS
        fields["text"] = material(_without_title(document))
        if not date:
            return self.render(undated, **fields)
        return self.render(dated, **fields, date=_attribute(date))


def _with_marks(template: str) -> tuple[Template, Mapping[str, Sequence[str]]]:
    """Add a placeholder for a mark to the tags around each document.

    Returns the template and, for each of these placeholders, the fields between its tags.
    """
    fields_by_mark: dict[str, Sequence[str]] = {}

    def marked(place: re.Match[str]) -> str:
        fields = Template(place["text"]).get_identifiers()
        if not fields:
            return place[0]
        name = f"document_mark_{len(fields_by_mark)}"
        fields_by_mark[name] = fields
        mark = f' mark="${{{name}}}"'
        return f"<document{place['about']}{mark}>{place['text']}</document{mark}>"

    return Template(_DOCUMENT.sub(marked, template)), fields_by_mark


def _without_title(document: Document) -> str:
    """Return the text of a document without a first line that only repeats its title."""
    heading, _, rest = document.text.partition("\n")
    title, body = document.title.strip(), rest.strip()
    is_shown = 0 < len(title) <= _ATTRIBUTE_CHARS  # a longer title is cut
    return body if body and is_shown and heading.lstrip("#").strip() == title else document.text


def _attribute(text: str) -> str:
    line = material_line(text).replace('"', "'").replace("<", "\u2039").replace(">", "\u203a")
    return line[:_ATTRIBUTE_CHARS]


def _read_shipped(name: str) -> Mapping[str, str]:
    package = resources.files("conflictscore")
    sets = [package / "prompts" / each for each in dict.fromkeys((PROMPT_SETS[0], name))]
    # benchmarks may replace one another's wordings, so each set has all; the tests ensure that no
    # two folders have a template of the same name
    benchmarks = [folder / "prompts" for folder in (package / "benchmarks").iterdir()]
    return {
        file.name.removesuffix(".txt"): file.read_text("utf-8").strip("\n")
        for folder in (*benchmarks, *sets)
        if folder.is_dir()
        for file in folder.iterdir()
        if file.name.endswith(".txt")
    }


# The sets are read on import (3 ms), since a set may be loaded on an event loop.
_SHIPPED = {name: _read_shipped(name) for name in PROMPT_SETS}


def _read_folder(folder: Path, default_texts: Mapping[str, str]) -> dict[str, str]:
    """Read a user's templates; each must have the placeholders of the template that it replaces."""
    try:
        is_folder = folder.is_dir()
    except OSError:  # is_dir raises OSError for a name that is too long
        is_folder = False
    if not is_folder:
        raise ConfigurationError(f"prompt folder {folder} is not a folder")
    texts: dict[str, str] = {}
    for path in sorted(folder.glob("*.txt")):
        if path.stem not in default_texts:
            all_names = ", ".join(sorted(default_texts))
            raise ConfigurationError(
                f"{path}: no template has this name; the names are {all_names}"
            )
        try:
            text = path.read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"{path}: cannot be read as UTF-8 text ({error})") from error
        template, default = Template(text), Template(default_texts[path.stem])
        if not template.is_valid():
            raise ConfigurationError(
                f"{path}: a lone $ is not a placeholder; write $$ for a dollar"
            )
        own_names, names = set(template.get_identifiers()), set(default.get_identifiers())
        if missing_names := names - own_names:
            raise ConfigurationError(f"{path}: placeholder ${min(missing_names)} is missing")
        if unknown_names := own_names - names:
            raise ConfigurationError(f"{path}: placeholder ${min(unknown_names)} is unknown")
        texts[path.stem] = text.strip("\n")
    if not texts:
        raise ConfigurationError(f"prompt folder {folder} contains no NAME.txt template")
    return texts
