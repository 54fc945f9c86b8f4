"""From a spec string to a chat model: OpenAI, a compatible endpoint, or the embedded local one.

``open_model`` opens one by its spec, ``from_chat_model`` takes any LangChain chat model; both give
a ``LanguageModel``, which is what nodes and labelers ask.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conflictscore.models.fitting import Fitted, fit_documents
    from conflictscore.models.language_model import LanguageModel
    from conflictscore.models.ledger import Ledger, attach
    from conflictscore.models.limits import ConcurrencyLimit
    from conflictscore.models.prices import Price, PriceTable
    from conflictscore.models.spec import default_spec, from_chat_model, open_model
    from conflictscore.models.usage import UsageMeter

__all__ = [
    "LOCAL_ENDPOINT",
    "ConcurrencyLimit",
    "Fitted",
    "LanguageModel",
    "Ledger",
    "Price",
    "PriceTable",
    "UsageMeter",
    "attach",
    "default_spec",
    "fit_documents",
    "from_chat_model",
    "open_model",
]

LOCAL_ENDPOINT = "local"
"""The endpoint of every model on this machine: the address of its server changes each time."""

_HOMES = {
    "ConcurrencyLimit": "limits",
    "Fitted": "fitting",
    "LanguageModel": "language_model",
    "Ledger": "ledger",
    "Price": "prices",
    "PriceTable": "prices",
    "UsageMeter": "usage",
    "attach": "ledger",
    "default_spec": "spec",
    "fit_documents": "fitting",
    "from_chat_model": "spec",
    "open_model": "spec",
}

if not TYPE_CHECKING:  # a checker that sees this finds any name in the package

    def __getattr__(name: str) -> Any:
        """Import on first use: prices need no client, and a client takes a second to import."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
