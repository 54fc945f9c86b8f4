"""What the commands share that label given claims: from options to a labeler."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from conflictscore.errors import InputError

if TYPE_CHECKING:
    from conflictscore.labelers.protocol import Labeler
    from conflictscore.models.language_model import LanguageModel
    from conflictscore.storage.cache import ContentCache

__all__ = ["OpenLabeler", "open_labeler"]


class OpenLabeler(NamedTuple):
    """A labeler, with what it works with."""

    labeler: "Labeler"
    cache: "ContentCache | None"
    model: "LanguageModel | None"
    """The language model that it asks; None where it asks none."""

    @property
    def local(self) -> bool:
        """Whether it works on this machine, so that more at a time is no gain."""
        return self.model is None or self.model.is_local


def open_labeler(settings: Mapping[str, Any], *, calibrated: bool = True) -> OpenLabeler:
    """Open the labeler that the model options name; no language model where it needs none.

    Args:
        settings: The options.
        calibrated: Whether an NLI model comes with the calibration in its folder.
    """
    from conflictscore.cli.running import chosen_labeler, chosen_spec
    from conflictscore.graph.create import run_context
    from conflictscore.labelers.nli.labeler import NliLabeler
    from conflictscore.storage.cache import ContentCache

    chosen = chosen_labeler(settings, calibrated=calibrated)
    if chosen in ("whole-answer", "salient"):
        raise InputError(f"--labeler {chosen} is for answers, and here are claims: use json")
    if chosen == "nli":
        chosen = NliLabeler.open()
    if isinstance(chosen, NliLabeler):
        return OpenLabeler(chosen, None if settings["no_cache"] else ContentCache.default(), None)
    context = run_context(
        chosen_spec(settings),
        None,
        labeler=chosen,
        judge=settings["judge"],
        base_url=settings["base_url"],
        context_window=settings["context_window"],
        prompts=settings["prompts"],
        cache=not settings["no_cache"],
    )
    return OpenLabeler(context.labeler, context.cache, context.decomposer)
