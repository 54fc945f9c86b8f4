"""The cost of models, by published prices and by a user's own prices."""

import re
import sys

import pytest

from conflictscore.errors import ConfigurationError, install_hint
from conflictscore.models.prices import Price, PriceTable
from conflictscore.records import Usage

MILLION = Usage(calls=1, input_tokens=1_000_000, output_tokens=1_000_000)
MOSTLY_CACHED = MILLION.model_copy(update={"cache_read_tokens": 750_000})
OPENAI = "https://api.openai.com/v1"


class TestPublished:
    def test_a_model_of_openai_is_known_by_its_name_or_by_where_it_answers(self) -> None:
        prices = PriceTable.load()
        by_name = prices.price("openai:gpt-4.1-mini")
        assert by_name is not None
        assert (by_name.input, by_name.cached_input, by_name.output) == (0.4, 0.1, 1.6)
        assert by_name.source.startswith("genai-prices ")
        assert prices.price("gpt-4.1-mini", OPENAI) == by_name

    def test_a_known_provider_behind_base_url_is_known_too(self) -> None:
        found = PriceTable.load().price("llama-3.3-70b-versatile", "https://api.groq.com/openai/v1")
        assert found is not None
        assert found.output > 0

    @pytest.mark.parametrize(
        ("model", "endpoint"),
        [
            ("gpt-4.1-mini", None),  # behind some --base-url or other
            ("gpt-4.1-mini", "http://127.0.0.1:8000/v1"),
            ("openai:no-such-model", OPENAI),
            ("openai:text-embedding-3-small", OPENAI),  # has a price, but not for output
            ("sonar", "https://api.perplexity.ai"),  # also has a price per request
            ("any", "fake-list-chat-model"),
        ],
    )
    def test_an_unknown_model_has_no_price(self, model: str, endpoint: str | None) -> None:
        assert PriceTable.load().price(model, endpoint) is None

    def test_the_embedded_model_costs_nothing(self) -> None:
        prices = PriceTable.load()
        assert prices.cost({"local:qwen2.5-1.5b": MILLION}) == (0.0, ())
        assert prices.cost({"q": MILLION}, endpoints={"q": "local"}) == (0.0, ())

    def test_without_the_extra_it_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "genai_prices", None)
        with pytest.raises(ConfigurationError, match=re.escape(install_hint("bench"))):
            PriceTable.load()


class TestCost:
    def test_costs_add_up_over_models(self) -> None:
        cost, unknown = PriceTable.load().cost(
            {
                "openai:gpt-4.1-mini": Usage(calls=2, input_tokens=500_000, output_tokens=250_000),
                "local:qwen": MILLION,
            }
        )
        assert cost == pytest.approx(0.5 * 0.4 + 0.25 * 1.6)
        assert unknown == ()

    def test_input_from_the_providers_prompt_cache_has_its_own_price(self) -> None:
        prices = PriceTable.load()
        assert prices.cost({"openai:gpt-4.1-mini": MOSTLY_CACHED})[0] == pytest.approx(
            0.25 * 0.4 + 0.75 * 0.1 + 1.6
        )
        assert prices.cost({"openai:gpt-4": MOSTLY_CACHED}) == prices.cost(
            {"openai:gpt-4": MILLION}
        )

    def test_one_unknown_price_makes_the_whole_cost_unknown(self) -> None:
        usage = {"openai:gpt-4.1-mini": MILLION, "qwen3-30b": MILLION}
        assert PriceTable.load().cost(usage) == (None, ("qwen3-30b",))

    def test_a_model_that_was_never_called_cost_nothing(self) -> None:
        assert PriceTable.load().cost({"qwen3-30b": Usage(cached_calls=9)}) == (0.0, ())

    def test_calls_that_no_tokens_were_reported_of_have_no_known_cost(self) -> None:
        usage = {"openai:gpt-4.1-mini": Usage(calls=3)}
        assert PriceTable.load().cost(usage) == (None, ("openai:gpt-4.1-mini",))


class TestOwnPrices:
    def test_they_go_before_the_published_ones(self) -> None:
        own = {
            "openai:gpt-4.1-mini": Price(1, 2.5, "contract"),
            "qwen3-30b": Price(0.1, 0.3, "contract"),
        }
        prices = PriceTable(own)
        usage = {"openai:gpt-4.1-mini": MILLION, "qwen3-30b": MILLION}
        assert prices.cost(usage)[0] == pytest.approx(3.9)
        assert prices.price("openai:gpt-4o") is not None
