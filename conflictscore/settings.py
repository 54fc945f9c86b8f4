"""The settings of a run, as one frozen record that is validated once, and their presets.

Each setting is declared in ``setting_declarations.py``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, get_args

from conflictscore.errors import InputError
from conflictscore.setting_declarations import DeclaredSettings
from conflictscore.setting_declarations import Effort as Effort
from conflictscore.setting_declarations import LookFurther as LookFurther
from conflictscore.setting_declarations import Unsettled as Unsettled

if TYPE_CHECKING:  # the command line's help needs no chat model
    from conflictscore.setting_keywords import CorrectionSettings


@dataclass(frozen=True, init=False)
class Settings(DeclaredSettings):
    """Settings of a run. The models and the source of documents are given separately.

    ```python
    Settings(effort="fast", max_claims=4)
    ```

    A preset (``effort``) sets several settings; explicit settings override it.

    Raises:
        InputError: A setting is unknown, or its value is not allowed. The message says which names
            or values are allowed.
        ConfigurationError: A prompt folder is missing or wrong, or a labeler needs an extra.
    """

    def __init__(self, **settings: "Unpack[CorrectionSettings]") -> None:
        effort: Any = settings.get("effort", "standard")
        preset = PRESETS.get(effort, {}) if isinstance(effort, str) else {}
        all_settings: Mapping[str, Any] = {**preset, **settings}
        names = self.names()
        for name in all_settings:
            if name not in names:
                raise InputError(unknown_name(name, names))
        for name in names:
            value = all_settings.get(name, self.default(name))
            try:
                stored_value = self.read(name, value)
            except ValueError:
                # a path's repr would show its class
                shown_value = str(value) if isinstance(value, Path) else value
                raise InputError(f"{name} is {shown_value!r}; give {self.allowed(name)}") from None
            object.__setattr__(self, name, stored_value)  # the class is frozen

    def replace(self, **changes: "Unpack[CorrectionSettings]") -> "Settings":
        """Return a copy with changed settings. Changing ``effort`` does not apply the preset."""
        all_settings: dict[str, Any] = {name: getattr(self, name) for name in self.names()}
        all_settings |= changes
        return Settings(**all_settings)

    def to_json(self) -> dict[str, Any]:
        """Return the settings as plain JSON, for a log or a manifest."""
        plain = {name: getattr(self, name) for name in self.names()}
        labeler = self.labeler
        if labeler is not None and not isinstance(labeler, str):
            plain["labeler"] = getattr(labeler, "name", None) or type(labeler).__name__
        plain["prompts"] = {"set": self.prompts.name, "sha256": self.prompts.sha256}
        plain["disputed"] = sorted(self.disputed)
        plain["trust"] = self.trust.described if self.trust else None
        return plain


PRESETS: "Mapping[str, CorrectionSettings]" = {
    effort: {  # type: ignore[misc]  # the keys are names of settings
        name: Settings.declaration(name).presets[effort]
        for name in Settings.names()
        if effort in Settings.declaration(name).presets
    }
    for effort in get_args(Effort)
}
"""The settings that each preset changes.

``paper`` is the loop of the paper's section 5, with the prompts of its tables and without our own
rules. ``paper`` means the same in every entry point and in benchmarks.
"""


def unknown_name(name: str, names: Iterable[str]) -> str:
    """Return the message about an unknown setting, with the nearest name and all valid names."""
    all_names = list(names)
    near = get_close_matches(name, all_names, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    return f"there is no setting {name!r}; {hint}The settings are {', '.join(all_names)}"
