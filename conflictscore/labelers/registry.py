"""Every labeler by name, with what it needs: the one source of help and errors."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

from conflictscore.errors import ConfigurationError

if TYPE_CHECKING:  # help and errors are made from here, and need no client of a model
    from conflictscore.labelers.protocol import Labeler, LabelerFactory
    from conflictscore.models.language_model import LanguageModel
    from conflictscore.prompts import PromptSet

__all__ = [
    "LABELERS",
    "LabelerKind",
    "LabelerName",
    "default_judge",
    "make_labeler",
    "nli_is_installed",
    "takers",
]

LabelerName = Literal["json", "choice", "nli", "cascade", "per-document", "matrix"]
"""The names of ``LABELERS``, for type checkers."""
_NLI_PACKAGES = ("onnxruntime", "tokenizers")
"""Of the extra ``nli``."""


@dataclass(frozen=True, slots=True)
class LabelerKind:
    """One labeler.

    Attributes:
        summary: What it does, in a few words.
        maker: What makes it, as ``module:callable`` with the module in ``conflictscore.labelers``.
        needs: What it needs of a run: the judging ``model`` and the templates, which its maker is
            then called with; a ``judge`` for the pairs it leaves open; or ``nothing``.
        options: Keyword arguments of its maker that a user may set; on the command line, with
            hyphens, they are its options.
        fixed: Further keyword arguments of its maker.
        extra: The optional extra that it needs; empty where it needs none.
    """

    summary: str
    maker: str
    needs: Literal["model", "judge", "nothing"] = "model"
    options: tuple[str, ...] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict)
    extra: str = ""

    def open(self, **options: Any) -> "Labeler | LabelerFactory":
        """Open it with these options; one that needs the judging model stays a factory.

        Raises:
            ConfigurationError: An option is wrong, or its extra is missing.
        """
        module, _, name = self.maker.partition(":")
        maker = attrgetter(name)(import_module(f"conflictscore.labelers.{module}"))
        with_options = partial(maker, **self.fixed, **options)
        made: Labeler | LabelerFactory = with_options if self.needs == "model" else with_options()
        return made


LABELERS: Mapping[str, LabelerKind] = {
    "json": LabelerKind(
        "snippet, reasoning and label for each pair, as in the paper",
        "json_judge:JsonJudge",
        options=("unquoted",),
    ),
    "choice": LabelerKind(
        "one letter with its probability for each pair, several times cheaper",
        "choice_judge:ChoiceJudge",
        options=("calibration",),
    ),
    "nli": LabelerKind(
        "a small model for inference, bundled or your own, reads each document in windows",
        "nli.by_claim:open_nli_by_claim",
        needs="nothing",
        options=("nli_model", "calibration"),
        extra="nli",
    ),
    "cascade": LabelerKind(
        "nli and words settle the easy pairs, and the model judges the others, a local one by"
        " choice and another by json; the default on local models",
        "cascade:open_cascade",
        needs="judge",
        options=("nli_model", "certain", "calibration"),
        extra="nli",
    ),
    "per-document": LabelerKind(
        "up to 8 claims and one document in a call",
        "batch_judge:BatchJudge",
        fixed={"mode": "per-document"},
    ),
    "matrix": LabelerKind(
        "up to 8 claims and 16 documents in a call",
        "batch_judge:BatchJudge",
        fixed={"mode": "matrix"},
    ),
}


def make_labeler(
    labeler: "Labeler | LabelerFactory | str | None", model: "LanguageModel", prompts: "PromptSet"
) -> "Labeler":
    """The labeler of a run.

    Args:
        labeler: A name of ``LABELERS``, a labeler, or what makes one; None for ``json``, and on the
            local model for ``cascade``, with ``nli-mpnet`` where that was fetched, or ``choice``
            where the extra ``nli`` is not installed. A cascade without a judge gets
            :func:`default_judge`.
        model: The model that judges.
        prompts: The templates.

    Raises:
        ConfigurationError: The name is unknown, or what the labeler needs is missing.
    """
    from conflictscore.labelers.cascade import Cascade
    from conflictscore.labelers.nli.adapted import NLI_MPNET

    if labeler is None:
        if not (model.is_local and nli_is_installed()):
            return default_judge(model, prompts)
        larger = NLI_MPNET.name if NLI_MPNET.fetched() else None
        labeler = LABELERS["cascade"].open(nli_model=larger)
    if isinstance(labeler, str):
        if labeler not in LABELERS:
            raise ConfigurationError(f"unknown labeler {labeler!r}; one of {', '.join(LABELERS)}")
        labeler = LABELERS[labeler].open()
    if callable(labeler):
        labeler = labeler(model, prompts)
    if isinstance(labeler, Cascade) and not labeler.complete:
        return labeler.with_judge(default_judge(model, prompts))
    return labeler


def default_judge(model: "LanguageModel", prompts: "PromptSet") -> "Labeler":
    """What judges single pairs where no labeler is named: ``choice`` on the local model, or json.

    Args:
        model: The model that judges.
        prompts: The templates.
    """
    return make_labeler("choice" if model.is_local else "json", model, prompts)


def nli_is_installed() -> bool:
    """Whether what NLI models need is there; the extras ``local`` and ``nli`` bring it."""
    return all(map(find_spec, _NLI_PACKAGES))


def takers(option: str) -> tuple[str, ...]:
    """The names of the labelers that an option is for."""
    return tuple(name for name, kind in LABELERS.items() if option in kind.options)
