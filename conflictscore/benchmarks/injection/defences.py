"""Defences in prompts that are taken away or added, to see what each does."""

import hashlib
import re

from conflictscore.prompts import PromptSet

__all__ = ["DefendedPrompts"]

_AS_WRITTEN = str.maketrans("\u2039\u2045", "<[")
"""Undoes what :func:`~conflictscore.prompts.material` makes of control tokens and marks."""
_SPACES = re.compile(r"\s+")


class DefendedPrompts(PromptSet):
    """The templates of a set, with other defences around what they show of documents."""

    def __init__(self, prompts: PromptSet, *, marks: bool = True, data_marking: bool = False):
        """Take the templates of a set.

        Args:
            prompts: The set.
            marks: Whether the marks around a document carry digits of its hash, and control tokens
                of chat templates are neutralised in all that is not ours.
            data_marking: Whether a sign stands in place of every space in a document, and the
                prompt says so (Hines et al., 2024).
        """
        vars(self).update(vars(prompts))
        vars(self).pop("sha256", None)
        self._marks, self._data_marking = marks, data_marking

    def sha256_of(self, *names: str) -> str:
        """Hash of the templates with these names and of the defences, in hexadecimal."""
        templates = super().sha256_of(*names)
        defences = f"marks={self._marks}, data_marking={self._data_marking}: {templates}"
        return hashlib.sha256(defences.encode()).hexdigest()

    def render(self, name: str, **fields: str | int) -> str:
        """Fill a template; see :class:`~conflictscore.prompts.PromptSet`."""
        _, documents = self._marked[name]
        if self._data_marking:
            fields |= {one: _SPACES.sub("^", str(fields[one]).strip()) for one in documents}
        text = super().render(name, **fields)
        if not self._marks:
            text = self._templates[name].substitute(fields).translate(_AS_WRITTEN)
        return f"{super().render('data_marking')}\n\n{text}" if self._explains(name) else text

    def _explains(self, name: str) -> bool:
        """Whether a prompt that shows documents begins with this template."""
        shows = "documents" in self.placeholders(name) and not name.startswith("label_")
        return self._data_marking and (shows or name.startswith("label_rules"))
