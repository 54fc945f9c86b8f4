"""What models cost, by the published prices and by a file of the user's."""

import re
import sys
from pathlib import Path

import pytest

from conflictscore.errors import ConfigurationError, InputError, install_hint
from conflictscore.models.prices import Price, PriceTable
from conflictscore.records import Usage

MILLION = Usage(calls=1, input_tokens=1_000_000, output_tokens=1_000_000)
MOSTLY_CACHED = MILLION.model_copy(update={"cache_read_tokens": 750_000})
OPENAI = "https://api.openai.com/v1"


def price_file(folder: Path, text: str) -> Path:
    path = folder / "prices.toml"
    path.write_text(text, "utf-8")
    return path


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
            ("openai:text-embedding-3-small", OPENAI),  # priced, but not for what it writes
            ("sonar", "https://api.perplexity.ai"),  # costs something a request too
            ("any", "fake-list-chat-model"),
        ],
    )
    def test_what_is_not_known_has_no_price(self, model: str, endpoint: str | None) -> None:
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

    def test_input_from_the_providers_prompt_cache_costs_less_where_it_does(self) -> None:
        prices = PriceTable.load()
        assert prices.cost({"openai:gpt-4.1-mini": MOSTLY_CACHED})[0] == pytest.approx(
            0.25 * 0.4 + 0.75 * 0.1 + 1.6
        )
        assert prices.cost({"openai:gpt-4": MOSTLY_CACHED}) == prices.cost(
            {"openai:gpt-4": MILLION}
        )

    def test_no_more_input_is_cached_than_there_is(self) -> None:
        odd = Usage(calls=1, input_tokens=10, cache_read_tokens=1_000_000)
        price = Price(1.0, 2.0, "test", cached_input=0.5)
        assert price.of(odd) == pytest.approx(10 * 0.5 / 1e6)

    def test_one_unknown_price_makes_the_whole_cost_unknown(self) -> None:
        usage = {"openai:gpt-4.1-mini": MILLION, "qwen3-30b": MILLION}
        assert PriceTable.load().cost(usage) == (None, ("qwen3-30b",))

    def test_a_model_that_was_never_called_cost_nothing(self) -> None:
        assert PriceTable.load().cost({"qwen3-30b": Usage(cached_calls=9)}) == (0.0, ())

    def test_calls_that_no_tokens_were_reported_of_have_no_known_cost(self) -> None:
        usage = {"openai:gpt-4.1-mini": Usage(calls=3)}
        assert PriceTable.load().cost(usage) == (None, ("openai:gpt-4.1-mini",))


class TestOwnFile:
    def test_a_file_adds_prices_and_goes_before_the_published_ones(self, tmp_path: Path) -> None:
        path = price_file(
            tmp_path,
            '[models."openai:gpt-4.1-mini"]\ninput = 1\noutput = 2.5\n'
            '[models."qwen3-30b"]\ninput = 0.1\noutput = 0.3\n',
        )
        prices = PriceTable.load(path)
        usage = {"openai:gpt-4.1-mini": MILLION, "qwen3-30b": MILLION}
        assert prices.cost(usage)[0] == pytest.approx(3.9)
        own = prices.price("qwen3-30b")
        assert own is not None
        assert own.source == "prices.toml"
        assert prices.price("openai:gpt-4o") is not None

    def test_a_price_of_cached_input_may_stand_beside_the_others(self, tmp_path: Path) -> None:
        path = price_file(
            tmp_path,
            "[models.told]\ninput = 1\noutput = 2\ncached_input = 0.2\n"
            "[models.untold]\ninput = 1\noutput = 2\n"
            "[models.free]\ninput = 0\noutput = 0\ncached_input = 0.2\n",
        )
        prices = PriceTable.load(path)
        assert prices.cost({"told": MOSTLY_CACHED})[0] == pytest.approx(0.25 + 0.75 * 0.2 + 2)
        assert prices.cost({"untold": MOSTLY_CACHED})[0] == pytest.approx(3)
        assert prices.cost({"free": MOSTLY_CACHED})[0] == pytest.approx(0.75 * 0.2)

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("[models.m]\ninput = 1\n", "field models.m.output: Field required"),
            ("[models.m]\ninput = -1\noutput = 1\n", "field models.m.input:"),
            ("[models.m]\ninput = nan\noutput = 1\n", "field models.m.input:"),
            ("[models.m]\ninput = inf\noutput = 1\n", "field models.m.input:"),
            ('[models.m]\ninput = "1"\noutput = 1\n', "field models.m.input:"),
            ("[models.m]\ninput = true\noutput = 1\n", "field models.m.input:"),
            ("[models.m]\ninput = 1\noutput = 1\nouput = 2\n", "field models.m.ouput:"),
            (
                "[models.m]\ninput = 1\noutput = 1\ncached_input = -1\n",
                "field models.m.cached_input:",
            ),
            ("[m]\ninput = 1\noutput = 1\n", "field models: Field required"),
            ("[models.m\n", "it is not a TOML file"),
        ],
    )
    def test_a_fault_is_named_with_file_and_field(
        self, tmp_path: Path, text: str, line: str
    ) -> None:
        path = price_file(tmp_path, text)
        with pytest.raises(InputError) as caught:
            PriceTable.load(path)
        assert str(path) in str(caught.value)
        assert line in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_a_file_that_cannot_be_read_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"no-such\.toml: No such file"):
            PriceTable.load(tmp_path / "no-such.toml")
        damaged = tmp_path / "damaged.toml"
        damaged.write_bytes(b"\xff\xfe\x00")
        with pytest.raises(InputError, match=r"damaged\.toml: it is not a TOML file"):
            PriceTable.load(damaged)
