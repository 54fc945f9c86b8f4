"""The protocol of answerers: the language model, or a caller's agent or function."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from conflictscore.models.usage import UsageMeter
from conflictscore.records import Answer, Change, ClaimEvidence

if TYPE_CHECKING:
    from conflictscore.nodes.state import RagState  # which imports this module

T = TypeVar("T")


class GeneratedAnswer(NamedTuple):
    """An answer, as the answerer gave it."""

    answer: Answer
    notes: tuple[str, ...] = ()
    """Notes on how it was obtained, for the reader of the run."""
    seconds: float = 0.0
    """Time that it had taken before the loop asked for it."""


@dataclass(frozen=True)
class RevisionRequest:
    """An answer to write anew, and the claim that is put back with its evidence."""

    before: Answer
    claim: ClaimEvidence
    """A disputed claim of the answer, with its labels."""
    weights: Mapping[int, float] = field(default_factory=dict)
    """Weights of documents by number; empty where all count alike."""


class Written(NamedTuple):
    """An answer that was written again."""

    changes: tuple[Change, ...]
    """Every passage that was looked at, in the order of the answer; at least one."""
    answer: Answer | None = None
    """None where no look succeeded; then the changes say why."""
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    """Time that the answerer took before it was asked."""


class Answerer(Protocol):
    """An answerer: the language model, or a caller's agent or function in its place."""

    async def first(self, state: "RagState", meter: UsageMeter) -> GeneratedAnswer:
        """Answer the question from the documents; the calls that ``meter`` counts are the run's.

        An answer without text is not scored. An error ends the run.
        """
        ...

    async def again(
        self, state: "RagState", request: RevisionRequest, meter: UsageMeter
    ) -> GeneratedAnswer:
        """Write the answer anew, with both sides of a claim in view.

        A ProviderError, a ContextWindowError and an answer without text leave the earlier answer,
        with a note. Any other error ends the run.
        """
        ...

    async def reply(
        self,
        state: "RagState",
        prompt: str,
        read: Callable[[str], T],
        meter: UsageMeter,
        *,
        max_tokens: int,
    ) -> T:
        """Reply to a request about an answer; the prompt holds all that is needed for it.

        Raises:
            ProviderError: There is no reply, or none that can be read. The passage in question
                stays as it is, and so it does after a ContextWindowError. Any other error ends the
                run.
        """
        ...
