"""Every text that a model reads: one template a file, in named sets.

A template is a ``.txt`` file with ``$name`` placeholders (``$$`` is a dollar sign). A user's
folder overrides any template by a file of the same name; the rest comes from the named set.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from importlib import resources
from pathlib import Path
from string import Template

from conflictscore.errors import ConfigurationError
from conflictscore.records import Document

__all__ = ["PLACEHOLDERS", "PromptSet", "material", "material_line"]

_QUESTION = frozenset({"question", "documents"})
_OPTIONS = frozenset({"option_a", "option_b"})
_RECONSIDER = frozenset({"answer", "claim", "evidence"})
_TYPED = frozenset({"type", "rule"})
_GRADED = frozenset({"question", "answer", "correct_answers", "incorrect_answers"})

PLACEHOLDERS: Mapping[str, frozenset[str]] = {
    "document": frozenset({"number", "title", "source", "date", "text"}),
    "cut": frozenset({"shown", "total"}),
    "turn": frozenset({"role", "text"}),
    "contextualize": frozenset({"history", "question"}),
    "decompose": frozenset({"answer"}),
    "label_rules": frozenset(),
    "label_rules_brief": frozenset(),
    "label_json": frozenset({"rules", "document", "claim"}),
    "label_choice": frozenset({"rules", "document", "claim"}),
    "label_per_document": frozenset({"rules", "document", "claims"}),
    "label_per_claim": frozenset({"rules", "documents", "claim"}),
    "label_matrix": frozenset({"rules", "documents", "claims"}),
    "label_one_document": frozenset({"id", "document"}),
    "label_one_claim": frozenset({"id", "claim"}),
    "label_claim_with": frozenset({"id", "claim", "documents"}),
    "free_form_rag": _QUESTION,
    "free_form_control_rag": _QUESTION,
    "free_form_regenerate": _QUESTION | _RECONSIDER,
    "multiple_choice_rag": _QUESTION | _OPTIONS,
    "multiple_choice_control_rag": _QUESTION | _OPTIONS,
    "multiple_choice_regenerate": _QUESTION | _OPTIONS | _RECONSIDER,
    "conflict_types": frozenset(),
    "classify_conflict": _QUESTION | {"types"},
    "behaviour_no_conflict": frozenset(),
    "behaviour_complementary": frozenset(),
    "behaviour_conflicting_opinions": frozenset(),
    "behaviour_outdated": frozenset(),
    "behaviour_misinformation": frozenset(),
    "free_form_regenerate_typed": _QUESTION | _RECONSIDER | _TYPED,
    "multiple_choice_regenerate_typed": _QUESTION | _OPTIONS | _RECONSIDER | _TYPED,
    "cited_rag": _QUESTION,
    "cited_typed": _QUESTION | _TYPED,
    "cited_taxonomy_aware": _QUESTION | {"types", "rules"},
    "reconsider": frozenset({"question"}) | _RECONSIDER,
    "evidence": frozenset({"supports", "contradicts"}),
    "evidence_line": frozenset({"number", "passage"}),
    "justify": frozenset({"question", "before", "after", "claim", "evidence"}),
    "judge_truthful": _GRADED,
    "judge_informative": _GRADED,
    "natconfqa_default": _QUESTION,
    "natconfqa_conflict_aware": _QUESTION,
    "natconfqa_regenerate": _QUESTION | _RECONSIDER,
    "natconfqa_regenerate_typed": _QUESTION | _RECONSIDER | _TYPED,
    "natconfqa_decompose": frozenset({"question", "answer"}),
    "natconfqa_found_in_answer": frozenset({"question", "answer", "short_answer"}),
    "natconfqa_found_in_passages": _QUESTION | {"short_answer"},
    "natconfqa_conflict_in_answer": frozenset({"question", "answer", "first", "second"}),
    "natconfqa_conflict_in_passages": _QUESTION | {"first", "second"},
    "wikicontradict_no_passage": frozenset({"question"}),
    "wikicontradict_passages": _QUESTION,
    "wikicontradict_both_views": _QUESTION,
    "wikicontradict_judge": frozenset({"question", "correct_answers", "answer"}),
    "conflicts_control_rag": _QUESTION,
    "conflicts_regenerate": _QUESTION | _RECONSIDER,
    "conflicts_regenerate_typed": _QUESTION | _RECONSIDER | _TYPED,
    "conflicts_decompose": frozenset({"answer"}),
    "conflicts_behaviour": _QUESTION | {"case", "answer"},
    "conflicts_case_no_conflict": frozenset(),
    "conflicts_case_complementary": frozenset(),
    "conflicts_case_conflicting_opinions": frozenset(),
    "conflicts_case_outdated": frozenset(),
    "conflicts_case_misinformation": frozenset(),
    "conflicts_recall": frozenset({"question", "gold", "answer"}),
    "conflicts_grounding": _QUESTION | {"answer", "sentence"},
    "report_rag": _QUESTION,
    "report_balanced": _QUESTION,
    "report_super_balanced": _QUESTION,
    "structured": frozenset(),
    "retry": frozenset({"reason"}),
}
"""The templates of a set, each with the placeholders it must contain."""

_MARKS = re.compile(r"<(?=\s*/?\s*(?:document|claim|answer)\b)", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_ATTRIBUTE_CHARS = 300


class PromptSet:
    """A full set of templates, checked when it is loaded.

    Attributes:
        name: The named set, with ``+`` and the folder's name where a folder overrides it.
        overridden: Names of the templates that a user's folder put in the place of the set's.
        sha256: One hash over all templates; a run records it.
    """

    def __init__(
        self, templates: Mapping[str, str], *, name: str, overridden: Iterable[str] = ()
    ) -> None:
        self.name, self.overridden = name, frozenset(overridden)
        self._templates = {key: Template(text) for key, text in templates.items()}

    @classmethod
    def load(cls, name: str = "default", *, folder: str | Path | None = None) -> "PromptSet":
        """Load a named set, with the templates of a user's folder in place of the set's own.

        Args:
            name: A folder of this package.
            folder: A folder with any of the set's templates as ``NAME.txt``.

        Raises:
            ConfigurationError: No such set or folder, an unknown template name, a placeholder
                that is missing or unknown, or a file that is not UTF-8; the line names the file.
        """
        home = resources.files(__package__) / name
        if not (home / "document.txt").is_file():
            raise ConfigurationError(f"no prompt set named {name!r}")
        templates = {key: (home / f"{key}.txt").read_text("utf-8") for key in PLACEHOLDERS}
        overrides: dict[str, str] = {}
        if folder is not None:
            overrides = _read_folder(Path(folder))
            templates.update(overrides)
            name = f"{name}+{Path(folder).name}"
        texts = {key: text.strip("\n") for key, text in templates.items()}
        return cls(texts, name=name, overridden=overrides)

    def worded(self, aliases: Mapping[str, str]) -> "PromptSet":
        """The same set, in which some templates have the text of others.

        A user who wants other words overrides the template that stands in, since that of the name
        which is replaced is no longer read.

        Args:
            aliases: By the name of a template, that of the one which stands in for it.

        Raises:
            ConfigurationError: There is no such template, the two have not the same placeholders,
                or the user's folder overrides the one that is replaced and not the other.
        """
        texts = {name: template.template for name, template in self._templates.items()}
        worded = dict(texts)
        for name, other in aliases.items():
            if unknown := [one for one in (name, other) if one not in texts]:
                raise ConfigurationError(f"no template is named {unknown[0]!r}")
            if odd := PLACEHOLDERS[name] ^ PLACEHOLDERS[other]:
                raise ConfigurationError(
                    f"the template {other} cannot stand in for {name}: only one of them has the"
                    f" placeholder ${min(odd)}"
                )
            if name in self.overridden and other not in self.overridden:
                raise ConfigurationError(
                    f"{name}.txt of the prompt folder would not be read: {other}.txt stands in for"
                    " it here; override that one"
                )
            worded[name] = texts[other]
        return PromptSet(worded, name=self.name, overridden=self.overridden)

    @cached_property
    def sha256(self) -> str:
        """Hash of every template, in hexadecimal."""
        return self.sha256_of(*PLACEHOLDERS)

    def sha256_of(self, *names: str) -> str:
        """Hash of the templates with these names, in hexadecimal."""
        digest = hashlib.sha256()
        for name in sorted(names):
            text = self._templates[name].template.encode()
            digest.update(f"{name}:{len(text)}:".encode() + text)
        return digest.hexdigest()

    def render(self, name: str, **fields: str | int) -> str:
        """Fill a template; every placeholder must be given."""
        return self._templates[name].substitute(fields)

    def documents(self, documents: Iterable[Document]) -> str:
        """The documents as a prompt shows them, each between marks and with its number."""
        return "\n\n".join(
            self.render(
                "document",
                number=document.number,
                title=_attribute(document.title),
                source=_attribute(document.url),
                date=_attribute(str(document.metadata.get("date") or "unknown")),
                text=material(document.text),
            )
            for document in documents
        )


def material(text: str) -> str:
    """Make untrusted text safe to stand between marks: it can neither close nor open one.

    The opening bracket of anything that looks like one of our marks becomes a look-alike, and
    control characters other than tab and newline become spaces; all else stays letter by letter.
    """
    return _MARKS.sub("\u2039", _CONTROL.sub(" ", text.replace("\r\n", "\n")))


def material_line(text: str) -> str:
    """Untrusted text as ``material`` makes it, on one line."""
    return " ".join(material(text).split())


def _attribute(text: str) -> str:
    folded = material_line(text).replace('"', "'").replace("<", "\u2039")
    return folded[:_ATTRIBUTE_CHARS]


def _read_folder(folder: Path) -> dict[str, str]:
    if not folder.is_dir():
        raise ConfigurationError(f"prompt folder {folder} is not a folder")
    found: dict[str, str] = {}
    for path in sorted(folder.glob("*.txt")):
        if path.stem not in PLACEHOLDERS:
            known = ", ".join(sorted(PLACEHOLDERS))
            raise ConfigurationError(f"{path}: no template has this name; the names are {known}")
        try:
            text = path.read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"{path}: cannot be read as UTF-8 text ({error})") from error
        _check(path, text)
        found[path.stem] = text
    if not found:
        raise ConfigurationError(f"prompt folder {folder} holds no NAME.txt template")
    return found


def _check(path: Path, text: str) -> None:
    template = Template(text)
    if not template.is_valid():
        raise ConfigurationError(f"{path}: a lone $ is not a placeholder; write $$ for a dollar")
    used, wanted = set(template.get_identifiers()), PLACEHOLDERS[path.stem]
    if missing := wanted - used:
        raise ConfigurationError(f"{path}: placeholder ${min(missing)} is missing")
    if unknown := used - wanted:
        raise ConfigurationError(f"{path}: placeholder ${min(unknown)} is unknown")
