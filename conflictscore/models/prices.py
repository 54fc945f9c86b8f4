"""Token prices from the table in the package genai-prices.

The table is never updated over the network. Costs use today's standard prices. If a provider
charges more for prompts beyond about 100,000 tokens, or for writing to its cache, its bill is
higher than the cost computed here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.metadata import version
from math import fsum
from typing import TYPE_CHECKING

from conflictscore.errors import ConfigurationError, install_hint
from conflictscore.models import LOCAL_ENDPOINT
from conflictscore.records import Usage

if TYPE_CHECKING:
    from genai_prices.types import TieredPrices

_LIBRARY = "genai-prices"
_OPENAI, _OPENAI_URL = "openai:", "https://api.openai.com/v1"
_LOCAL = "local:"


@dataclass(frozen=True)
class Price:
    """The price of a model in US dollars per million tokens, with its source."""

    input: float
    output: float
    source: str
    cached_input: float | None = None
    """The price of input found in the provider's prompt cache; None if it equals ``input``."""

    def of(self, usage: Usage) -> float | None:
        """Return the cost in US dollars, or None if answered calls reported no tokens."""
        cached_input = self.input if self.cached_input is None else self.cached_input
        if self.input == self.output == cached_input == 0:
            return 0.0
        if usage.calls and not usage.input_tokens:
            return None
        cached_tokens = min(usage.cache_read_tokens, usage.input_tokens)
        input_cost = (
            usage.input_tokens - cached_tokens
        ) * self.input + cached_tokens * cached_input
        return (input_cost + usage.output_tokens * self.output) / 1e6


class PriceTable:
    """Prices by model: ``own`` prices override published prices. An unknown price is never 0."""

    def __init__(self, own: Mapping[str, Price]) -> None:
        self._own = dict(own)

    @classmethod
    def load(cls) -> "PriceTable":
        """Return the published prices.

        Raises:
            ConfigurationError: The extra ``bench`` is not installed.
        """
        try:
            import genai_prices  # noqa: F401 - fails here, and not at the first call of a run
        except ImportError:
            raise ConfigurationError(
                f"prices need the extra bench: {install_hint('bench')}"
            ) from None
        return cls({})

    def price(self, model: str, endpoint: str | None = None) -> Price | None:
        """Return the price of a model, by its :class:`LanguageModel` name, or None if unknown.

        Without an endpoint, only the names ``openai:…`` and ``local:…`` have a price.
        """
        if model in self._own:
            return self._own[model]
        if endpoint == LOCAL_ENDPOINT or (endpoint is None and model.startswith(_LOCAL)):
            return Price(0.0, 0.0, "computed on this machine")
        if model.startswith(_OPENAI):
            return _published(model.removeprefix(_OPENAI), None)
        return _published(model, endpoint) if endpoint else None

    def cost(
        self, usage: Mapping[str, Usage], *, endpoints: Mapping[str, str] | None = None
    ) -> tuple[float | None, tuple[str, ...]]:
        """Return the cost in US dollars (None if a price is unknown), and the unpriced models."""
        dollars, unknown = list[float](), list[str]()
        for model, model_usage in usage.items():
            price = self.price(model, (endpoints or {}).get(model))
            cost = price.of(model_usage) if price else None
            if cost is not None:
                dollars.append(cost)
            elif model_usage.calls:
                unknown.append(model)
        return (None if unknown else fsum(dollars)), tuple(unknown)


@cache
def _published(model: str, endpoint: str | None) -> Price | None:
    """Return a model's price in genai-prices (default endpoint: OpenAI's), or None if unknown.

    The price is also None for a model that charges per request, since tokens do not determine the
    cost.
    """
    from genai_prices import Usage as Tokens
    from genai_prices import calc_price

    nothing = Tokens(input_tokens=0, output_tokens=0)
    try:
        model_price = calc_price(
            nothing, model, provider_api_url=endpoint or _OPENAI_URL
        ).model_price
    except LookupError:
        return None
    input_price, output_price = _dollars(model_price.input_mtok), _dollars(model_price.output_mtok)
    if input_price is None or output_price is None or model_price.requests_kcount is not None:
        return None
    source = f"{_LIBRARY} {version(_LIBRARY)}"
    return Price(input_price, output_price, source, _dollars(model_price.cache_read_mtok))


def _dollars(price: "Decimal | TieredPrices | None") -> float | None:
    if isinstance(price, Decimal | None):
        return None if price is None else float(price)
    return float(price.base)
