"""Declarations of the settings of a run: each once, with all that others need to know of it.

The fields of :class:`DeclaredSettings` are the declarations: name, type with its range, default,
help, presets, and the way in which commands take it. From them come the options of commands, their
environment variables and keys in settings files (``cli/options.py``), the keywords of entry points
and the fields of the chat model (``setting_keywords.py``, whose stub for type checkers is
generated), the log and the table of the guide. After a change,
``UPDATE_GOLDEN=1 pytest -n0 tests/test_settings.py`` writes the stub and the table again.
"""

from collections.abc import Collection, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
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

if TYPE_CHECKING:  # the command line's help needs the names, and no library of a model
    from conflictscore.labelers.protocol import Labeler, LabelerFactory
    from conflictscore.prompts import PromptSet
    from conflictscore.trust import TrustTable

Effort = Literal["fast", "standard", "thorough", "paper"]
"""Name of a preset."""
LookFurther = Literal["off", "disputed", "unsupported"]
"""Claims for which the retriever is asked once more before an answer is corrected: ties alone, and
only where a search is free; the disputed ones; or also those that no document mentions."""
Unsettled = Literal["hedge", "keep"]
"""Treatment of a passage that the evidence does not settle: it says that the sources disagree, or
it stays as it is."""
CommandForm = Literal["option", "model option", "set"]
"""How a command takes a setting: by an option of its own, by one beside the options of models, or
by ``--set NAME=VALUE``."""


@dataclass(frozen=True)
class Declaration:
    """Declaration of a setting, beside its name, type, range and default.

    Attributes:
        help: One paragraph, without the default if that is a plain value.
        brief: The row of the guide's table.
        presets: Its value in each preset that sets it.
        scoring: Whether it matters to an answer that is scored alone.
        form: How commands take it.
        metavar: Its value in the help of commands, if its type does not say it.
        accepts: The type of what callers may give, if it is wider than the type that is stored.
        read: Makes the stored value of what is given; ValueError refuses it.
        allowed: The allowed values in words; by default those of the type and range.
        shown_default: The default in the guide's table, if it is not a plain value.
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
    from conflictscore.threads import off_loop  # loads asyncio, which help must not

    return off_loop(PromptSet.open)(value)


def _read_trust(value: Any) -> "TrustTable | None":
    from conflictscore.threads import off_loop
    from conflictscore.trust import TrustTable

    return value if value is None else off_loop(TrustTable.open)(value)


def _read_list(value: Any) -> tuple[Any, ...]:
    # a lone text is a collection too, of its letters
    if not isinstance(value, Collection) or isinstance(value, str):
        raise ValueError("no list")  # noqa: TRY004 - as every refusal of a setting
    return tuple(value)


@dataclass(frozen=True, init=False)
class DeclaredSettings:
    """The settings of a run as fields; :class:`~conflictscore.settings.Settings` reads them."""

    effort: Effort = _setting(
        "standard",
        "A preset; explicit settings override it. fast: the bundled NLI model labels every claim,"
        " and the judge labels only the pairs that decide whether there is a conflict (extra"
        " [nli]). standard: the defaults. thorough: the judge also gives its reasoning on each pair"
        " of a claim that a document contradicts, and up to 3 rounds. paper: the paper's loop.",
        brief="a preset; single settings override it",
        scoring=True,
    )
    labeler: "Labeler | LabelerFactory | str | None" = _setting(
        None,
        "Labeler that judges pairs of claim and document. Default: set by effort; for standard"
        " per-document, and on the local model nli (choice without the extra [nli], and for claims"
        " in scripts that nli does not read).",
        brief="how a claim is labelled against a document: [models](models.md#labelers)",
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
        "Prompt set: default; paper, worded by the paper's own tables; or a folder with templates"
        " (NAME.txt) that override some of the default ones.",
        brief="`default`, `paper`, or a folder with templates of your own",
        presets={"paper": "paper"},
        scoring=True,
        form="model option",
        metavar="SET|DIR",
        accepts="PromptSet | str | Path | None",
        read=_read_prompts,
        allowed="default, paper, a folder of templates or a prompt set",
        shown_default="`default`",
    )
    max_rounds: Annotated[int, Ge(0), Le(20)] = _setting(
        1,
        "Correct an answer at most N times; 0 only scores it.",
        brief="rounds of correction at most; 0 only scores the answer",
        presets={"thorough": 3, "paper": 1},
    )
    max_claims: Annotated[int, Ge(1)] | None = _setting(
        None,
        "Label at most N claims of an answer: the ones that the documents cover best. Default:"
        " all.",
        brief="claims to label at most: the ones that the documents cover best",
        presets={"paper": None},
        scoring=True,
        shown_default="all",
    )
    min_coverage: Annotated[float, Ge(0), Le(1)] | None = _setting(
        0.5,
        "Share of labelled pairs, 0 to 1, below which an answer counts as unchecked.",
        brief="share of labelled pairs below which an answer counts as unchecked",
        presets={"paper": None},
        scoring=True,
        form="set",
    )
    regeneration: Regeneration = _setting(
        "revise",
        "How an answer is corrected. revise: each disputed passage is replaced, hedged, removed or"
        " kept, and all else stays byte for byte. paper: a whole new answer, with both sides of the"
        " conflict in view.",
        brief="`revise` corrects passages in place, `paper` writes a whole new answer",
        presets={"paper": "paper"},
        form="set",
    )
    disputed: tuple[Disputed, ...] = _setting(
        ("conflict", "refuted"),
        "Claims to look at again. conflict: evidence on both sides. refuted: at least two"
        " independent documents contradict it and none supports it. contradicted: one does."
        " unsupported: no document mentions it.",
        brief="[which claims](#which-claims-are-disputed) get a second look",
        presets={"paper": ("conflict",)},
        form="set",
        accepts="Iterable[Disputed]",
        read=_read_list,
    )
    unsettled: Unsettled = _setting(
        "hedge",
        "A passage that the evidence does not settle: hedge says that the sources disagree, keep"
        " leaves it.",
        brief="if the evidence decides nothing: `hedge` names both sides, `keep` leaves the"
        " passage",
        form="set",
    )
    look_further: LookFurther = _setting(
        "off",
        "Search once more before an answer is corrected, for its disputed claims or also for those"
        " that no document mentions: at most three claims a round, two queries each.",
        brief="search once more before correcting: for `disputed` claims, or also for"
        " `unsupported` ones",
        presets={"paper": "off"},
        form="set",
    )
    guard: bool = _setting(
        True,
        "Accept a change only if its claims have better evidence than those before.",
        brief="accept a change only if its evidence is better",
        presets={"paper": False},
        form="set",
        shown_default="on",
    )
    duplicates: Duplicates = _setting(
        "vote",
        "Weight of near-identical documents. vote: each counts, as in the paper. once: a group"
        " counts once a side. domain: so do all documents of a registrable domain.",
        brief="what near-identical documents count: [documents](documents.md#near-duplicates)",
        presets={"paper": "vote"},
        scoring=True,
    )
    trust: "TrustTable | None" = _setting(
        None,
        "Table (TOML) of weights for documents by host, domain and type. Scores with weights"
        " are shown beside those without; the choice of claims to correct and the guard follow the"
        " weights. Default: all count alike.",
        brief="a table of weights for documents: [below](#weights-for-documents)",
        presets={"paper": None},
        scoring=True,
        metavar="FILE",
        accepts="TrustTable | Mapping[str, Any] | str | Path | None",
        read=_read_trust,
        allowed="a TOML file, or a mapping with the same tables",
        shown_default="–",
    )
    budget_seconds: Annotated[float, Gt(0)] | None = _setting(
        None,
        "Seconds that a run may take. The most telling pairs are labelled first, and what was left"
        " out is reported. Default: no limit.",
        brief="seconds that a run may take",
        scoring=True,
        metavar="S",
        shown_default="–",
    )

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Names of all settings, in the order of their declaration."""
        return tuple(setting.name for setting in fields(cls))

    @classmethod
    def declaration(cls, name: str) -> Declaration:
        """The declaration of a setting, beside its name, type and default."""
        declaration: Declaration = cls.__dataclass_fields__[name].metadata["of"]
        return declaration

    @classmethod
    def default(cls, name: str) -> Any:
        """Default of a setting, as it is given."""
        default = cls.__dataclass_fields__[name].default
        return None if default is MISSING else default

    @classmethod
    def help(cls, name: str) -> str:
        """One paragraph on a setting, without its default if that is a plain value."""
        return cls.declaration(name).help

    @classmethod
    def choices(cls, name: str) -> tuple[str, ...]:
        """The allowed values, if the setting takes one of a few names; otherwise empty."""
        return _choices(name)

    @classmethod
    def kind(cls, name: str) -> type:
        """The type of a value that is written as text: int, float, bool, tuple or str."""
        return _kind(name)

    @classmethod
    def allowed(cls, name: str) -> str:
        """The allowed values in words, for errors and help: ``0 to 20``."""
        return cls.declaration(name).allowed or _allowed(name)

    @classmethod
    def read(cls, name: str, value: Any) -> Any:
        """The stored form of a value; ValueError if it is not allowed."""
        return _read(name, value)


@cache
def _types() -> dict[str, Any]:
    """The declared type of each setting that is not read by a function of its own."""
    plain = {
        name: annotation
        for name, annotation in DeclaredSettings.__annotations__.items()
        if not isinstance(annotation, str)
    }
    return get_type_hints(type("_Plain", (), {"__annotations__": plain}), include_extras=True)


def _read(name: str, value: Any) -> Any:
    """The stored form of a value; ValueError if it is not allowed."""
    reader = DeclaredSettings.declaration(name).read
    if reader is not None:
        value = reader(value)
    return value if name not in _types() else _adapter(name).validate_python(value)


@cache
def _adapter(name: str) -> Any:
    from pydantic import ConfigDict, TypeAdapter  # not for help

    # strict: a truth value is no number, and a text is none either
    return TypeAdapter(_types()[name], config=ConfigDict(strict=True, allow_inf_nan=False))


def _taken_apart(name: str) -> tuple[Any, list[Any], bool]:
    """The bare type of a setting, the bounds of its range, and whether None is allowed."""
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
