"""Counting what calls cost."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.outputs import LLMResult

from conflictscore.models.usage import UsageMeter
from conflictscore.records import Usage


@pytest.fixture
def _restless_threads() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("_restless_threads")
def test_calls_that_end_in_several_threads_at_once_are_all_counted() -> None:
    meter = UsageMeter()

    def count(_: int) -> None:
        for _ in range(500):
            meter.add(input_tokens=2, output_tokens=1)
            meter.cached()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(count, range(4)))
    assert meter.usage == Usage(
        calls=2000, cached_calls=2000, input_tokens=4000, output_tokens=2000
    )


def test_a_call_whose_provider_reports_no_tokens_counts_as_a_call() -> None:
    meter = UsageMeter()
    FakeListChatModel(responses=["hello"]).invoke("hi", {"callbacks": [meter]})
    assert meter.usage == Usage(calls=1)


def test_an_answer_with_nothing_in_it_counts_as_a_call() -> None:
    meter = UsageMeter()
    meter.on_llm_end(LLMResult(generations=[[]]))
    assert meter.usage == Usage(calls=1)
