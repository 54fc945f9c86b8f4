"""From the model options to a labeler."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from conflictscore.errors import InputError

if TYPE_CHECKING:
    from conflictscore.labelers.protocol import Labeler, LabelerFactory
    from conflictscore.labelers.registry import LabelerName
    from conflictscore.models.language_model import LanguageModel
    from conflictscore.storage.cache import ContentCache

__all__ = ["OpenLabeler", "chosen_labeler", "open_labeler"]

_OPTIONS = ("nli_model", "certain", "calibration", "unquoted")
"""The options that are for some labelers only."""


class OpenLabeler(NamedTuple):
    """A labeler with the model and the cache that it uses."""

    labeler: "Labeler"
    cache: "ContentCache | None"
    model: "LanguageModel | None"
    """The language model that it asks; None where it asks none."""

    @property
    def local(self) -> bool:
        """Whether it runs on this machine, where more at a time gains nothing."""
        return self.model is None or self.model.is_local


def chosen_labeler(
    settings: Mapping[str, Any], *, calibrated: bool = True
) -> "Labeler | LabelerName | LabelerFactory | None":
    """The labeler that the model options name; None for the default one.

    What needs no language model is opened here, so that a wrong folder is found before one is.

    Args:
        settings: The options.
        calibrated: Whether an NLI model is used with the calibration in its folder.

    Raises:
        InputError: An option is given that belongs to other labelers.
        ConfigurationError: What the labeler needs is missing or wrong.
    """
    from conflictscore.labelers.calibration import UNCALIBRATED
    from conflictscore.labelers.registry import LABELERS, takers

    named: LabelerName | None = settings["labeler"]
    given = {option: settings[option] for option in _OPTIONS if settings[option] is not None}
    for option in given:
        if named not in takers(option):
            known = " or ".join(f"--labeler {name}" for name in takers(option))
            raise InputError(f"--{option.replace('_', '-')} needs {known}")
    if named is None:
        return None
    kind = LABELERS[named]
    if not calibrated and kind.needs == "nothing" and "calibration" in kind.options:
        given.setdefault("calibration", UNCALIBRATED)
    return kind.open(**given) if given or kind.needs != "model" else named


def open_labeler(settings: Mapping[str, Any], *, calibrated: bool = True) -> OpenLabeler:
    """Open the labeler that the model options name; no language model where it needs none.

    Args:
        settings: The options.
        calibrated: Whether an NLI model is used with the calibration in its folder.

    Raises:
        InputError: The labeler chooses among the claims of an answer.
    """
    from conflictscore.cli.running import chosen_spec
    from conflictscore.graph.create import run_context
    from conflictscore.graph.settings import LoopSettings
    from conflictscore.labelers.registry import LABELERS
    from conflictscore.storage.cache import ContentCache

    kind = LABELERS.get(settings["labeler"])
    if kind and kind.for_answers:
        raise InputError(
            f"--labeler {settings['labeler']} chooses among the claims of an answer; here the"
            " claims are given: use json"
        )
    chosen = chosen_labeler(settings, calibrated=calibrated)
    if kind and kind.needs == "nothing":
        cache = None if settings["no_cache"] else ContentCache.default()
        return OpenLabeler(cast("Labeler", chosen), cache, None)
    loop = LoopSettings(
        labeler=chosen,
        judge=settings["judge"],
        base_url=settings["base_url"],
        context_window=settings["context_window"],
        prompts=settings["prompts"],
        cache=not settings["no_cache"],
    )
    context = run_context(chosen_spec(settings), None, loop)
    return OpenLabeler(context.labeler, context.cache, context.decomposer)
