"""What every labeler offers."""

from collections.abc import Mapping
from typing import Any, Protocol

from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, EvidenceLabel

__all__ = ["Labeler"]


class Labeler(Protocol):
    """A judge of one claim against one document (paper, section 3, step 2)."""

    @property
    def name(self) -> str:
        """How records call it, such as ``choice(local:qwen2.5-coder-1.5b-instruct)``."""

    @property
    def identity(self) -> Mapping[str, Any] | None:
        """What a verdict depends on beside claim and document, as plain JSON.

        Model, endpoint, parameters and prompt; None where they are not known, and then no verdict
        is cached.
        """

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        """Judge one pair.

        Args:
            claim: The claim.
            document: The document; its text and title are judged, its number is not shown.
            meter: Counts the calls.

        Raises:
            ConfigurationError: A setting is wrong, so that no pair can be judged.
            ProviderError: This pair could not be judged.
        """
