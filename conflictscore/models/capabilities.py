"""What is known of a model at an endpoint: found out once, and shared by the whole process."""

from typing import ClassVar

__all__ = ["Capabilities"]


class Capabilities:
    """What calls of one model at one endpoint have shown so far.

    Attributes:
        answered: Whether any call was answered, so that its key and its name are right.
    """

    _known: ClassVar[dict[tuple[str, str], "Capabilities"]] = {}

    def __init__(self) -> None:
        self.answered = False

    @classmethod
    def of(cls, endpoint: str, model: str) -> "Capabilities":
        """The process-wide record of a model at an endpoint."""
        return cls._known.setdefault((endpoint, model), cls())
