"""Declares the settings of a run. Everything about a setting is declared here, and only here.

Each field of :class:`DeclaredSettings` declares a setting's name, type (with its range), default,
help, presets, and how commands accept it. Several things are generated from these fields:

- the options of commands, with their environment variables and keys in settings files
  (``cli/options.py``)
- the keywords of entry points and the fields of the chat model (``setting_keywords.py``, with a
  stub for type checkers)
- the settings in the log, and the table in the guide

After a change, run ``UPDATE_GOLDEN=1 pytest -n0 tests/test_settings.py`` to rewrite the stub and
the table.
"""

from collections.abc import Collection, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from annotated_types import Ge, Gt, Le

from conflictscore.choices import Disputed, Duplicates, Regeneration
from conflictscore.labelers.registry import check_labeler

if TYPE_CHECKING:  # the types are needed here, but ``--help`` must not load model libraries
    from conflictscore.labelers.protocol import Labeler, LabelerFactory
    from conflictscore.prompts import PromptSet
    from conflictscore.trust import TrustTable

Effort = Literal["fast", "standard", "thorough", "paper"]
"""Name of a preset."""
LookFurther = Literal["off", "disputed", "unsupported"]
"""The claims for which further documents are sought before an answer is corrected.

- ``off``: only claims whose evidence is tied, and only if the search is free.
- ``disputed``: all disputed claims.
- ``unsupported``: also claims that no document mentions.
"""
Unsettled = Literal["hedge", "keep"]
"""How to treat a passage that the evidence does not settle.

- ``hedge``: say that sources disagree.
- ``keep``: leave the passage as it is.
"""
CommandForm = Literal["option", "model option", "set"]
"""How a command accepts a setting: as a separate option, as one of the options for models, or
through ``--set NAME=VALUE``."""


@dataclass(frozen=True)
class Declaration:
    """The attributes that a setting declares besides its name, type, range and default.

    Attributes:
        help: The help text, in one paragraph. The text omits the default if that is a plain value.
        brief: A phrase for the table of settings in the guide.
        presets: The values of the setting in presets that fix it. Some presets fix a setting to its
            default, so that they stay the same if the default changes.
        scoring: Whether the setting also applies if an answer is only scored.
        form: How a command accepts the setting.
        metavar: The placeholder for a value in a command's help.
        accepts: The type for type checkers, if more types are accepted than stored.
        read: A function that converts a value to its stored form, or raises ValueError.
        allowed: The allowed values in words. By default, the words are derived from type and range.
        shown_default: The default as the guide shows it, if it is not a plain value.
    """

    help: str
    brief: str
    presets: Mapping[Effort, Any] = field(default_factory=dict)
    scoring: bool = False
    form: CommandForm = "option"
    metavar: str | None = None
    accepts: str | None = None
    read: Any = None
    allowed: str | None = None
    shown_default: str | None = None


def _setting(default: Any, help_: str, *, brief: str, **more: Any) -> Any:
    return field(default=default, metadata={"of": Declaration(help_, brief, **more)})


def _read_prompts(value: Any) -> "PromptSet":
    from conflictscore.prompts import PromptSet
    from conflictscore.threads import off_loop  # loads asyncio, which ``--help`` must not do

    if not isinstance(value, PromptSet | str | Path | None):
        raise ValueError("no prompts")  # noqa: TRY004 - like every refusal of a setting
    # hosts such as ``langgraph dev`` refuse file access in the thread of their event loop
    return off_loop(PromptSet.open)(value)


def _read_trust(value: Any) -> "TrustTable | None":
    from conflictscore.threads import off_loop
    from conflictscore.trust import TrustTable

    return value if value is None else off_loop(TrustTable.open)(value)


def _read_list(value: Any) -> tuple[Any, ...]:
    # a string is refused, although it is a collection
    if not isinstance(value, Collection) or isinstance(value, str):
        raise ValueError("no list")  # noqa: TRY004 - like every refusal of a setting
    return tuple(value)


@dataclass(frozen=True, init=False)
class DeclaredSettings:
    """The declared settings as fields; :class:`~conflictscore.settings.Settings` inherits them.

    The class has no constructor (``init=False``), since ``Settings`` applies presets and validates.
    """

    effort: Effort = _setting(
        "standard",
        "A preset for other settings. Settings that you give explicitly override it. fast: the "
        "bundled NLI model labels all pairs, and the judge labels only the pairs that decide "
        "whether there is a conflict (extra [nli]). standard: the defaults. thorough: up to 3 "
        "rounds; if a document contradicts a claim, the judge judges this claim's pairs again, "
        "one by one. paper: the paper's loop, which rewrites the whole answer.",
        brief="a [preset](#presets) for several settings; settings that you give explicitly "
        "override it",
        scoring=True,
    )
    # The labelers of other presets depend on the model, so ``labelers/registry.py`` chooses them.
    labeler: "Labeler | LabelerFactory | str | None" = _setting(
        None,
        "How each pair of a claim and a document is labelled. The default depends on --effort. "
        "With standard, it is per-document for remote models, and nli for the local model. If "
        "the extra [nli] is missing, or nli cannot read the script of a claim, the local model "
        "uses choice.",
        brief="the [labeler](models.md#labelers), which compares each claim with each document",
        presets={"paper": "json"},
        scoring=True,
        form="model option",
        metavar="SPEC",
        accepts="Labeler | LabelerName | LabelerFactory | str | None",
        read=check_labeler,
        allowed="a name of LABELERS, such as json or cascade:certain=0.9, or a labeler",
        shown_default="set by `effort`",
    )
    prompts: "PromptSet" = _setting(
        None,
        "The prompts: default, paper (as in the paper's tables), or a folder with your own "
        "templates (NAME.txt), which replace default templates of the same name.",
        brief="the texts that models read: `default`, `paper`, or a folder with your own templates",
        presets={"paper": "paper"},
        scoring=True,
        form="model option",
        metavar="SET|DIR",
        accepts="PromptSet | str | Path | None",
        read=_read_prompts,
        allowed="default, paper, a folder of templates or a prompt set",
        shown_default="`default`",
    )
    # One round as in the paper. The graph's step limit (graph/self_correction.py) allows 20 rounds.
    max_rounds: Annotated[int, Ge(0), Le(20)] = _setting(
        1,
        "Correct an answer at most N times. With 0, the answer is only scored.",
        brief="the maximum number of correction rounds; with 0, the answer is scored but never "
        "changed",
        presets={"thorough": 3, "paper": 1},
    )
    max_claims: Annotated[int, Ge(1)] | None = _setting(
        None,
        "Label at most N claims of an answer. If an answer has more, the claims that the "
        "documents cover best are labelled. Default: all claims.",
        brief="the maximum number of claims to label; if an answer has more, the claims that the "
        "documents cover best are labelled",
        presets={"paper": None},
        scoring=True,
        shown_default="no limit",
    )
    # Chosen, not measured: below it, the labels of most pairs are unknown.
    min_coverage: Annotated[float, Ge(0), Le(1)] | None = _setting(
        0.5,
        "The share of pairs that need a label, from 0 to 1. If fewer pairs have one, the answer "
        "counts as unchecked.",
        brief="the share of pairs that need a label; if fewer pairs have one, the answer counts "
        "as unchecked",
        presets={"paper": None},
        scoring=True,
        form="set",
    )
    regeneration: Regeneration = _setting(
        "revise",
        "How to correct an answer. revise: replace, hedge, remove or keep each disputed passage, "
        "and leave all other text unchanged, byte for byte. paper: let the model write a whole "
        "new answer after it has seen the evidence of both sides.",
        brief="how an answer is corrected: `revise` corrects passages in place, `paper` writes a "
        "whole new answer",
        presets={"paper": "paper"},
        form="set",
    )
    # A single document may be wrong, so by default two must contradict a claim; see "When a claim
    # counts as refuted" in docs/findings/second-answers.md.
    disputed: tuple[Disputed, ...] = _setting(
        ("conflict", "refuted"),
        "Which claims count as disputed. The documents are read again for each disputed claim. "
        "conflict: some documents support the claim and others contradict it. refuted: at least "
        "two independent documents contradict the claim, and no document supports it. "
        "contradicted: at least one document contradicts the claim, and no document supports it. "
        "unsupported: no document supports or contradicts the claim.",
        brief="the [kinds of claims](#which-claims-are-disputed) that count as disputed",
        presets={"paper": ("conflict",)},
        form="set",
        accepts="Iterable[Disputed]",
        read=_read_list,
    )
    unsettled: Unsettled = _setting(
        "hedge",
        "How to treat a disputed passage if the evidence settles nothing. hedge: the passage "
        "names both sides. keep: the passage stays unchanged.",
        brief="what happens if the evidence settles nothing: `hedge` names both sides, `keep` "
        "leaves the passage unchanged",
        form="set",
    )
    look_further: LookFurther = _setting(
        "off",
        "Whether to search for more documents before an answer is corrected. disputed: search "
        "for disputed claims. unsupported: search also for claims that no document mentions. "
        "off: search only after a tied vote, and only if the search is free. Each round searches "
        "for at most three claims, with at most two queries per claim.",
        brief="whether to search again before a correction: for `disputed` claims only, or for "
        "`unsupported` claims, too",
        presets={"paper": "off"},
        form="set",
    )
    guard: bool = _setting(
        True,
        "Accept a change only if the new claims have better evidence than the old ones.",
        brief="whether to refuse a change that its evidence does not support",
        presets={"paper": False},
        form="set",
        shown_default="on",
    )
    duplicates: Duplicates = _setting(
        "vote",
        "How near-identical documents count. vote: every document counts, as in the paper. once: "
        "a group of copies counts as one document. domain: all documents of a registrable "
        "domain, such as example.org, count as one document, too. If the documents of a group "
        "disagree, the group counts once on each side.",
        brief="how near-identical documents count ([documents](documents.md#near-duplicates))",
        presets={"paper": "vote"},
        scoring=True,
    )
    trust: "TrustTable | None" = _setting(
        None,
        "A TOML file with weights for documents by host, domain and type. Corrections and the "
        "guard use the weights. Scores are shown both with and without weights. Default: all "
        "documents have the same weight.",
        brief="a [table of weights](#weights-for-documents) for documents",
        presets={"paper": None},
        scoring=True,
        metavar="FILE",
        accepts="TrustTable | Mapping[str, Any] | str | Path | None",
        read=_read_trust,
        allowed="a TOML file, or a mapping with the same tables",
        shown_default="no weights",
    )
    budget_seconds: Annotated[float, Gt(0)] | None = _setting(
        None,
        "Time limit of a run in seconds. The pairs that are likely to matter most are labelled "
        "first. If the time is up, the other pairs are skipped and reported. Default: no limit.",
        brief="the time limit of a run, in seconds",
        scoring=True,
        metavar="S",
        shown_default="no limit",
    )

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of all settings, in order of declaration."""
        return tuple(setting.name for setting in fields(cls))

    @classmethod
    def declaration(cls, name: str) -> Declaration:
        """Return the attributes that a setting declares besides its name, type and default."""
        declaration: Declaration = cls.__dataclass_fields__[name].metadata["of"]
        return declaration

    @classmethod
    def default(cls, name: str) -> Any:
        """Return the declared default of a setting."""
        default = cls.__dataclass_fields__[name].default
        return None if default is MISSING else default

    @classmethod
    def help(cls, name: str) -> str:
        """Return the help text of a setting, in one paragraph."""
        return cls.declaration(name).help

    @classmethod
    def choices(cls, name: str) -> tuple[str, ...]:
        """Return the names to choose from; empty if the setting is not a choice between names."""
        return _choices(name)

    @classmethod
    def kind(cls, name: str) -> type:
        """Return the type to which text is converted: int, float, bool, tuple or str."""
        return _kind(name)

    @classmethod
    def allowed(cls, name: str) -> str:
        """Return the allowed values in words for errors and help, such as ``0 to 20``."""
        return cls.declaration(name).allowed or _allowed(name)

    @classmethod
    def read(cls, name: str, value: Any) -> Any:
        """Return the stored form of a value; raise ValueError if the value is not allowed."""
        return _read(name, value)


@cache
def _types() -> dict[str, Any]:
    """Return the declared types of the settings that have no ``read`` function of their own."""
    plain = {
        name: annotation
        for name, annotation in DeclaredSettings.__annotations__.items()
        if not isinstance(annotation, str)
    }
    # The omitted types are written as strings, and are imported only for type checkers. So
    # get_type_hints would fail on DeclaredSettings.
    return get_type_hints(type("_Plain", (), {"__annotations__": plain}), include_extras=True)


def _read(name: str, value: Any) -> Any:
    """Return the stored form of a value; raise ValueError if the value is not allowed."""
    reader = DeclaredSettings.declaration(name).read
    if reader is not None:
        value = reader(value)
    return value if name not in _types() else _adapter(name).validate_python(value)


@cache
def _adapter(name: str) -> Any:
    from pydantic import ConfigDict, TypeAdapter  # imported here because help does not need it

    # strict: booleans and strings are not numbers
    return TypeAdapter(_types()[name], config=ConfigDict(strict=True, allow_inf_nan=False))


def _taken_apart(name: str) -> tuple[Any, list[Any], bool]:
    """Return a setting's bare type, the bounds of its range, and whether None is allowed."""
    bare_type, optional = _types().get(name, str), False
    if get_origin(bare_type) in (Union, UnionType):
        optional = NoneType in get_args(bare_type)
        [bare_type] = [part for part in get_args(bare_type) if part is not NoneType]
    if get_origin(bare_type) is Annotated:
        bare_type, *bounds = get_args(bare_type)
        return bare_type, bounds, optional
    return bare_type, [], optional


def _choices(name: str) -> tuple[str, ...]:
    bare_type, _, _ = _taken_apart(name)
    return get_args(bare_type) if get_origin(bare_type) is Literal else ()


def _kind(name: str) -> type:
    bare_type, _, _ = _taken_apart(name)
    origin = get_origin(bare_type)
    if origin is Literal:
        return str
    kind: type = origin or bare_type
    return kind


def _allowed(name: str) -> str:
    bare_type, bounds, optional = _taken_apart(name)
    if choices := _choices(name):
        return f"one of {', '.join(choices)}"
    if get_origin(bare_type) is tuple:
        return f"a list of any of {', '.join(get_args(get_args(bare_type)[0]))}"
    if bare_type is bool:
        return "True or False"
    above = [bound.gt for bound in bounds if isinstance(bound, Gt)]
    least = [bound.ge for bound in bounds if isinstance(bound, Ge)]
    most = [bound.le for bound in bounds if isinstance(bound, Le)]
    if above:
        words = f"a number above {above[0]:g}"
    elif most:
        words = f"{least[0]:g} to {most[0]:g}"
    else:
        words = f"at least {least[0]:g}"
    return f"{words}, or None" if optional else words
