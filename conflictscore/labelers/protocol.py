"""The protocols that labelers implement."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from typing_extensions import TypeIs

from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import Claim, Document, EvidenceLabel
from conflictscore.scripts import script_of
from conflictscore.storage.cache import ContentCache

Pair = tuple[Claim, Document]


def supports_script(labeler: object, claim: Claim) -> bool:
    """Return whether a labeler supports the script of a claim.

    A labeler can list Unicode script names in an attribute ``scripts``. Without this attribute, a
    labeler, such as a language model, is assumed to support all scripts. A claim without letters
    has no script, and any labeler supports it.
    """
    scripts: frozenset[str] | None = getattr(labeler, "scripts", None)
    return scripts is None or script_of(claim.text) in (scripts | {""})


def reads_dates(labeler: object) -> bool:
    """Return whether a labeler's verdicts depend on the dates of documents.

    A labeler that reads dates has an attribute ``reads_dates`` that is true.
    """
    return bool(getattr(labeler, "reads_dates", False))


class Labeler(Protocol):
    """A judge of one claim against one document (paper, section 3, step 2)."""

    @property
    def name(self) -> str:
        """The name in records, such as ``choice(local:qwen2.5-coder-1.5b-instruct)``."""

    @property
    def identity(self) -> Mapping[str, Any] | None:
        """Everything that a verdict depends on besides the claim and the document, as plain JSON.

        The mapping includes the model, endpoint, parameters and prompt. None if any of these is
        unknown; verdicts are then not cached.
        """

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        """Judge one pair.

        The judge sees the document's text and title, but not its number.

        Raises:
            ConfigurationError: A setting is invalid, so no pair can be judged.
            ProviderError: This pair could not be judged.
        """


@runtime_checkable
class TableLabeler(Labeler, Protocol):
    """A labeler that is faster, cheaper or better if it judges many pairs together."""

    async def label_all(
        self, pairs: Sequence[Pair], meter: UsageMeter, on_label: Callable[[EvidenceLabel], None]
    ) -> None:
        """Judge pairs, in batches of any size.

        The call is cancelled when the time is up. Labels that were reported before then are kept.

        Args:
            pairs: The pairs to judge. There is at least one pair, and no two pairs have the same
                claim number and document number. The first pairs are the most important, and should
                be judged early.
            meter: The meter that counts the calls.
            on_label: A callback that must be called once for each pair, as soon as its label is
                known. If a pair could not be judged, the label is UNLABELLED and includes the
                reason.

        Raises:
            ConfigurationError: A setting is invalid, so no pair can be judged.
            ProviderError: None of the pairs without a reported label could be judged.
        """


@runtime_checkable
class StagedLabeler(Labeler, Protocol):
    """A labeler whose verdict on a pair depends on other pairs of the same claim.

    So its final verdicts cannot be cached by the content of a pair, but the verdicts of each stage
    can.
    """

    async def label_in_stages(
        self,
        pairs: Sequence[Pair],
        meter: UsageMeter,
        on_label: Callable[[EvidenceLabel], None],
        cache: ContentCache | None = None,
    ) -> None:
        """Judge pairs like ``TableLabeler.label_all``, and cache the verdicts of each stage."""


def judges_in_stages(labeler: Labeler) -> TypeIs[StagedLabeler]:
    """Return whether a labeler is a :class:`StagedLabeler`, which is recognised by its method.

    ``isinstance`` would check every member of the protocol in each call, which takes longer than a
    lookup of a cached verdict.
    """
    return hasattr(labeler, "label_in_stages")


def judges_many(labeler: Labeler) -> TypeIs[TableLabeler | StagedLabeler]:
    """Return whether a labeler has a method that judges many pairs in one call."""
    return judges_in_stages(labeler) or hasattr(labeler, "label_all")


LabelerFactory = Callable[[LanguageModel, PromptSet], Labeler]
"""A function that makes a labeler from the judging model and the templates of a run."""
