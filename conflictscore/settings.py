"""Settings of a run: one frozen record, validated once, with the presets in it.

Entry points, the command line, the chat model and the log take names, ranges and help from here.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, get_args

from conflictscore.choices import Disputed, Duplicates, Regeneration
from conflictscore.errors import InputError
from conflictscore.labelers.registry import LabelerName, check_labeler

if TYPE_CHECKING:  # the command line's help needs the names, and no library of a model
    from conflictscore.labelers.protocol import Labeler, LabelerFactory
    from conflictscore.prompts import PromptSet
    from conflictscore.trust import TrustTable

Effort = Literal["fast", "standard", "thorough", "paper"]
"""Name of a preset."""
LookFurther = Literal["off", "disputed", "unsupported"]
"""For which claims the retriever is asked once more before an answer is corrected: for ties alone
and only where that is free, for the disputed ones, or also for those that no document speaks to."""
Unsettled = Literal["hedge", "keep"]
"""Treatment of a passage where the evidence settles nothing: it says that the sources disagree, or
it stays as it is."""


class ScoringSettings(TypedDict, total=False):
    """The fields of :class:`Settings` that decide how an answer is scored, as keywords."""

    effort: Effort
    labeler: "Labeler | LabelerName | LabelerFactory | str | None"
    prompts: "PromptSet | str | Path | None"
    max_claims: int | None
    min_coverage: float | None
    duplicates: Duplicates
    trust: "TrustTable | Mapping[str, Any] | str | Path | None"
    budget_seconds: float | None


class CorrectionSettings(ScoringSettings, total=False):
    """All fields of :class:`Settings`, as keywords."""

    max_rounds: int
    regeneration: Regeneration
    disputed: Iterable[Disputed]
    unsettled: Unsettled
    look_further: LookFurther
    guard: bool


@dataclass(frozen=True)
class Rule:
    """Values that a setting takes.

    Attributes:
        allowed: The values in words, for errors and help: ``0 to 20``.
        read: Turns a given value into the stored one; ValueError if it is not allowed.
        kind: The type of a value that is written as text.
        choices: The values, if they are a few names.
    """

    allowed: str
    read: Callable[[Any], Any]
    kind: type = str
    choices: tuple[str, ...] = ()


def _one_of(kind: Any) -> Rule:
    choices = get_args(kind)
    return Rule(f"one of {', '.join(choices)}", _only(lambda one: one in choices), choices=choices)


def _some_of(kind: Any) -> Rule:
    choices = get_args(kind)

    def fits(value: Any) -> bool:
        # a lone text is a collection too, of its letters
        listed = isinstance(value, Collection) and not isinstance(value, str)
        return listed and all(one in choices for one in value)

    def read(value: Any) -> tuple[Any, ...]:
        return tuple(_only(fits)(value))

    return Rule(f"a list of any of {', '.join(choices)}", read, tuple)


def _number(
    kind: type, least: float, most: float = inf, *, above: bool = False, or_none: bool = False
) -> Rule:
    def fits(value: Any) -> bool:
        number = type(value) is int or (kind is float and isinstance(value, float))
        inside = number and least <= value <= most and value not in (inf, least if above else inf)
        return inside or (or_none and value is None)

    bounds = f"{least:g} to {most:g}" if most < inf else f"at least {least:g}"
    allowed = (f"a number above {least:g}" if above else bounds) + ", or None" * or_none
    return Rule(allowed, _only(fits), kind)


def _only(fits: Callable[[Any], bool]) -> Callable[[Any], Any]:
    """A reader that takes the values that fit, as they are."""

    def read(value: Any) -> Any:
        if not fits(value):
            raise ValueError
        return value

    return read


def _prompts(value: Any) -> "PromptSet":
    from conflictscore.prompts import PromptSet
    from conflictscore.threads import off_loop  # loads asyncio, which help must not

    return off_loop(PromptSet.open)(value)


def _trust(value: Any) -> "TrustTable | None":
    from conflictscore.threads import off_loop
    from conflictscore.trust import TrustTable

    return value if value is None else off_loop(TrustTable.open)(value)


def _setting(default: Any, rule: Rule, help_: str) -> Any:
    return field(default=default, metadata={"rule": rule, "help": help_})


@dataclass(frozen=True, init=False)
class Settings:
    """Settings of a run, apart from the models that it calls and the source of its documents.

    ```python
    Settings(effort="fast", max_claims=4)
    ```

    A preset (``effort``) sets several of them; a setting that is named beside it overrides it.

    Raises:
        InputError: A setting is unknown or not allowed; names it, and what is allowed.
        ConfigurationError: A prompt folder or the extra of a labeler is missing or wrong.
    """

    effort: Effort = _setting(
        "standard",
        _one_of(Effort),
        "A preset; explicit settings override it. fast: the bundled NLI model labels every claim,"
        " and the judge only the pairs that a conflict hangs on (extra [nli]). standard: the"
        " defaults. thorough: the judge also gives its reasoning on each pair of a claim that a"
        " document contradicts, and up to 3 rounds. paper: the paper's loop.",
    )
    labeler: "Labeler | LabelerFactory | str | None" = _setting(
        None,
        Rule(
            "a name of LABELERS, such as json or cascade:certain=0.9, or a labeler", check_labeler
        ),
        "Labeler that judges pairs of claim and document. Default: that of the effort; for standard"
        " per-document, and on the local model nli (choice without the extra [nli], and for claims"
        " in scripts that nli does not read).",
    )
    prompts: "PromptSet" = _setting(
        None,
        Rule("default, paper, a folder of templates or a prompt set", _prompts),
        "Prompt set: default; paper, worded by the paper's own tables; or a folder with templates"
        " (NAME.txt) that override some of the default ones.",
    )
    max_rounds: int = _setting(
        1, _number(int, 0, 20), "Correct an answer at most N times; 0 only scores it."
    )
    max_claims: int | None = _setting(
        None,
        _number(int, 1, or_none=True),
        "Label at most N claims of an answer, those that the documents say most about. Default:"
        " all.",
    )
    min_coverage: float | None = _setting(
        0.5,
        _number(float, 0, 1, or_none=True),
        "Share of labelled pairs, 0 to 1, from which an answer counts as checked.",
    )
    regeneration: Regeneration = _setting(
        "revise",
        _one_of(Regeneration),
        "How an answer is corrected. revise: each disputed passage is replaced, hedged, removed or"
        " kept, and all else stays byte for byte. paper: a whole new answer, with both sides of the"
        " conflict in view.",
    )
    disputed: tuple[Disputed, ...] = _setting(
        ("conflict", "refuted"),
        _some_of(Disputed),
        "Claims to look at again. conflict: evidence on both sides. refuted: at least two"
        " independent documents contradict it and none supports it. contradicted: one does."
        " unsupported: no document speaks to it.",
    )
    unsettled: Unsettled = _setting(
        "hedge",
        _one_of(Unsettled),
        "A passage where the evidence settles nothing: hedge says that the sources disagree, keep"
        " leaves it.",
    )
    look_further: LookFurther = _setting(
        "off",
        _one_of(LookFurther),
        "Search once more before an answer is corrected, for its disputed claims or also for those"
        " that no document speaks to: at most three claims a round, two queries each.",
    )
    guard: bool = _setting(
        True,
        Rule("True or False", _only(lambda value: isinstance(value, bool)), bool),
        "Accept a change only if its claims have better evidence than those before.",
    )
    duplicates: Duplicates = _setting(
        "vote",
        _one_of(Duplicates),
        "Weight of near-identical documents. vote: each counts, as in the paper. once: a group"
        " counts once a side. domain: so do all documents of a registrable domain.",
    )
    trust: "TrustTable | None" = _setting(
        None,
        Rule("a TOML file, or a mapping with the same tables", _trust),
        "Table (TOML) of weights for documents by host, domain and type. Scores with weights"
        " are shown beside those without; the choice of claims to correct and the guard follow the"
        " weights. Default: all count alike.",
    )
    budget_seconds: float | None = _setting(
        None,
        _number(float, 0, above=True, or_none=True),
        "Seconds that a run may take. The most telling pairs are labelled first, and what was left"
        " out is reported. Default: no limit.",
    )

    def __init__(self, **settings: Unpack[CorrectionSettings]) -> None:
        effort: Any = settings.get("effort", "standard")
        preset = PRESETS.get(effort, {}) if isinstance(effort, str) else {}
        given: Mapping[str, Any] = {**preset, **settings}
        known = {setting.name: setting for setting in fields(self)}
        for name in given:
            if name not in known:
                raise InputError(unknown_name(name, known))
        for name, setting in known.items():
            rule, value = self.rule(name), given.get(name, setting.default)
            try:
                stored = rule.read(value)
            except ValueError:
                shown = str(value) if isinstance(value, Path) else value
                raise InputError(f"{name} is {shown!r}; give {rule.allowed}") from None
            object.__setattr__(self, name, stored)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Names of all settings."""
        return tuple(setting.name for setting in fields(cls))

    @classmethod
    def rule(cls, name: str) -> Rule:
        """Values that a setting takes."""
        rule: Rule = _FIELDS[name].metadata["rule"]
        return rule

    @classmethod
    def help(cls, name: str) -> str:
        """One paragraph on a setting, without its default if that is a plain value."""
        return str(_FIELDS[name].metadata["help"])

    @classmethod
    def default(cls, name: str) -> Any:
        """Default of a setting, as it is given."""
        return _FIELDS[name].default

    def replace(self, **changes: Unpack[CorrectionSettings]) -> "Settings":
        """A copy with other values; ``effort`` stays a name and applies no preset."""
        kept: dict[str, Any] = {name: getattr(self, name) for name in self.names()}
        kept |= changes
        return Settings(**kept)

    def to_json(self) -> dict[str, Any]:
        """The settings as plain JSON, for a log or a manifest."""
        told = {name: getattr(self, name) for name in self.names()}
        labeler = self.labeler
        if labeler is not None and not isinstance(labeler, str):
            told["labeler"] = getattr(labeler, "name", None) or type(labeler).__name__
        told["prompts"] = {"set": self.prompts.name, "sha256": self.prompts.sha256}
        told["disputed"] = sorted(self.disputed)
        told["trust"] = self.trust.described if self.trust else None
        return told


_FIELDS = {setting.name: setting for setting in fields(Settings)}

PRESETS: Mapping[str, CorrectionSettings] = {
    "fast": {},
    "standard": {},
    "thorough": {"max_rounds": 3},
    "paper": {
        "labeler": "json",
        "prompts": "paper",
        "max_rounds": 1,
        "max_claims": None,
        "min_coverage": None,
        "regeneration": "paper",
        "disputed": ("conflict",),
        "look_further": "off",
        "guard": False,
        "duplicates": "vote",
        "trust": None,
    },
}
"""Settings of each preset; all others keep their defaults. ``paper`` is the loop of section 5 with
the prompts of the paper's tables and none of our rules, in every entry point and in benchmarks."""


def unknown_name(name: str, known: Iterable[str]) -> str:
    """The line that refuses an unknown setting: its name, the nearest one, and all that exist."""
    names = list(known)
    near = get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    return f"there is no setting {name!r}; {hint}The settings are {', '.join(names)}"
