"""The labelers by name, with their requirements; help and errors are generated from this."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Literal

from conflictscore.errors import ConfigurationError

if TYPE_CHECKING:  # help and errors must not load model clients
    from conflictscore.labelers.protocol import Labeler, LabelerFactory
    from conflictscore.models.language_model import LanguageModel
    from conflictscore.prompts import PromptSet

LabelerName = Literal["json", "choice", "nli", "cascade", "per-document"]
"""The keys of ``LABELERS``, for type checkers."""
_NLI_PACKAGES = ("onnxruntime", "tokenizers")
"""The packages of the extra ``nli``, which is the default only if they are installed."""


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0  # refused below, like a number out of range
    if not 0 <= share <= 1:
        raise ValueError(f"is {text!r}; give 0 to 1")
    return share


@dataclass(frozen=True, slots=True)
class LabelerKind:
    """The entry of a labeler in ``LABELERS``.

    Attributes:
        summary: A few words on what the labeler does.
        maker: The callable that makes the labeler, as ``module:callable`` within
            ``conflictscore.labelers``.
        needs: What the labeler needs from a run. ``model`` means that its maker is called with the
            judging model and the templates. ``judge`` means that it needs a judge for pairs that it
            leaves open. ``nothing`` means that it needs neither.
        options: The keyword arguments of its maker that a spec can set, as in
            ``cascade:certain=0.9``, each with a function that parses the text.
    """

    summary: str
    maker: str
    needs: Literal["model", "judge", "nothing"] = "model"
    options: Mapping[str, Callable[[str], Any]] = field(default_factory=dict)

    def open(self, **options: Any) -> "Labeler | LabelerFactory":
        """Make the labeler with these options, or a factory if it needs the judging model.

        Raises:
            ConfigurationError: An option is wrong, or an extra package is missing.
        """
        maker = partial(resolve_name(f"conflictscore.labelers.{self.maker}"), **options)
        labeler: Labeler | LabelerFactory = maker if self.needs == "model" else maker()
        return labeler


LABELERS: Mapping[str, LabelerKind] = {
    "json": LabelerKind(
        "one call per pair returns a quotation, the reasoning and the label, as in the paper",
        "json_judge:JsonJudge",
    ),
    "choice": LabelerKind(
        "one call per pair returns one letter with its probability, which is several times "
        "cheaper than json",
        "choice_judge:ChoiceJudge",
    ),
    "nli": LabelerKind(
        "a small NLI model, bundled or your own, reads each document in windows; the "
        "default for local models",
        "nli.by_claim:open_nli_by_claim",
        needs="nothing",
        options={"model": str},
    ),
    "cascade": LabelerKind(
        "nli labels the easy pairs, and the model judges the rest (a local model like choice, "
        "other models like json)",
        "cascade:open_cascade",
        needs="judge",
        options={"model": str, "certain": _share},
    ),
    "per-document": LabelerKind(
        "one call labels up to 26 claims against one document",
        "batch_judge:BatchJudge",
    ),
}


def make_labeler(
    labeler: "Labeler | LabelerFactory | str | None",
    model: "LanguageModel",
    prompts: "PromptSet",
    effort: str = "paper",
) -> "Labeler":
    """Make the labeler of a run.

    ``labeler`` is a name in ``LABELERS``, a labeler or a factory. None means the default for the
    ``effort`` (:func:`default_labeler`), which is not used otherwise. A cascade without a judge
    gets the judge of :func:`default_judge`.

    Raises:
        ConfigurationError: The name is unknown, or something that the labeler needs is missing.
    """
    from conflictscore.labelers.cascade import Cascade

    if labeler is None:
        return default_labeler(effort, model, prompts)
    if isinstance(labeler, str):
        labeler = open_labeler(labeler)
    if callable(labeler):
        labeler = labeler(model, prompts)
    if isinstance(labeler, Cascade) and not labeler.complete:
        return labeler.with_judge(default_judge(model, prompts))
    return labeler


def default_labeler(effort: str, model: "LanguageModel", prompts: "PromptSet") -> "Labeler":
    """Return the default labeler for an effort and a model.

    Calls to a remote endpoint cost money, so each call shows up to 26 claims with one document. A
    call never shows several documents, since one could then influence the label of another. If the
    effort is ``fast``, an NLI model decides all pairs on which no conflict depends. If the effort
    is ``thorough``, pairs on which a conflict depends are judged again, one at a time. If the
    effort is ``paper``, the paper's judge is used.

    For the local model, the default is ``nli`` (with ``nli-mpnet`` if downloaded). The default is
    ``choice`` for scripts that NLI does not support, or if the extra ``nli`` is missing. If the
    effort is ``thorough``, the default is always ``json``.
    """
    from conflictscore.labelers.cascade import Cascade, Thresholds
    from conflictscore.labelers.nli.adapted import NLI_MPNET
    from conflictscore.labelers.nli.by_claim import open_nli_by_claim

    all_count = Thresholds.from_score(0)
    if model.is_local and effort != "thorough":
        if not nli_is_installed():
            return default_judge(model, prompts)
        larger = NLI_MPNET.name if NLI_MPNET.fetched() else None
        # accuracy is lower if the 1.5B model judges some of the pairs (docs/findings/labelers.md)
        nli = Cascade(open_nli_by_claim(larger), thresholds=all_count)
        return make_labeler(nli, model, prompts)
    if model.is_local or effort == "paper":
        return make_labeler("json", model, prompts)
    by_document = make_labeler("per-document", model, prompts)
    if effort == "standard":
        return by_document
    if effort == "fast":
        return Cascade(open_nli_by_claim(None), by_document, all_count, deciding="sole")
    judge = make_labeler("json", model, prompts)
    return Cascade(by_document, judge, all_count, deciding="sides")


def default_judge(model: "LanguageModel", prompts: "PromptSet") -> "Labeler":
    """Return the default judge of pairs: ``choice`` on the local model, otherwise ``json``."""
    return make_labeler("choice" if model.is_local else "json", model, prompts)


def nli_is_installed() -> bool:
    """Return whether the packages for NLI models are installed (extras ``local`` and ``nli``)."""
    # the packages are not imported, since importing them takes time
    return all(map(find_spec, _NLI_PACKAGES))


def parse_labeler(spec: str) -> tuple[str, dict[str, Any]]:
    """Parse the name and options of a spec, ``NAME`` or ``NAME:OPTION=VALUE,OPTION=VALUE``."""
    name, _, option_text = spec.partition(":")
    if name not in LABELERS:
        option_help = ", ".join(LABELERS)
        raise ConfigurationError(f"labeler is {spec!r}; give one of {option_help}, or a labeler")
    kind, options = LABELERS[name], dict[str, Any]()
    for part in filter(None, option_text.split(",")):
        option, _, setting = (text.strip() for text in part.partition("="))
        if option not in kind.options:
            option_help = ", ".join(f"{known_option}=…" for known_option in kind.options) or "none"
            raise ConfigurationError(
                f"labeler {spec!r} has an unknown option; the options of {name} are {option_help}"
            )
        if option in options or not setting:
            why = "occurs twice" if option in options else "has no value"
            raise ConfigurationError(f"labeler is {spec!r}; {option} {why}")
        try:
            options[option] = kind.options[option](setting)
        except ValueError as error:
            raise ConfigurationError(f"labeler is {spec!r}; {option} {error}") from None
    return name, options


def check_labeler(labeler: Any) -> Any:
    """Return a labeler, a labeler factory, a spec or None unchanged; refuse anything else."""
    if isinstance(labeler, str):
        parse_labeler(labeler)
    elif (
        labeler is not None
        and not callable(labeler)
        and not callable(getattr(labeler, "label", None))
    ):
        raise ValueError  # the settings add the allowed values to the message
    return labeler


def open_labeler(spec: str) -> "Labeler | LabelerFactory":
    """Make the labeler that a spec names, or a factory if the labeler needs the judging model.

    Raises:
        ConfigurationError: The spec is wrong, or something that the labeler needs is missing.
    """
    name, options = parse_labeler(spec)
    return LABELERS[name].open(**options)
