"""Near-identical documents in a run: each is labelled, and counted once if set so."""

from typing import Any

import pytest
from langchain_openai import ChatOpenAI

from conflictscore import create_conflict_scorer
from tests.world import paper_loop

RELEASE = (
    "The harbour board is pleased to announce that the lamp of the new tower at the eastern end of"
    " the sound was lit for the first time in 1871, in the presence of the mayor, the council and a"
    " great many townspeople, and that it has been kept burning every night since."
)
REPRINTS = [RELEASE, f"From our reporter. {RELEASE}", RELEASE.upper()]
LOG = "The keeper's log says that the lamp was lit in 1874."
TEXTS = [*REPRINTS, LOG]


def answered(model: ChatOpenAI, texts: list[str] = TEXTS, **settings: Any) -> dict[str, Any]:
    graph = paper_loop(model, **settings)
    return graph.invoke({"question": "When?", "documents": [{"text": text} for text in texts]})


def test_reprints_vote_unless_they_are_to_count_once(model: ChatOpenAI) -> None:
    vote, once = (answered(model)["report"], answered(model, duplicates="once")["report"])

    assert (vote["cs_r"], vote["duplicates_vote"]) == (1 / 4, True)
    assert (once["cs_r"], once["duplicates_vote"]) == (1 / 2, False)
    for report in (vote, once):
        [claim] = report["claims"]
        assert (claim["supports"], claim["independent_supports"]) == ([1, 2, 3], 1)
        assert (claim["contradicts"], claim["independent_contradicts"]) == ([4], 1)
        assert (report["independent_documents"], report["coverage"]) == (2, 1.0)


def at(*addresses: str) -> Any:
    texts = [f"{LOG} Page {n}." for n in range(len(addresses) - 1)]
    documents = zip([RELEASE, *texts], addresses, strict=True)
    return [{"text": text, "url": f"https://{address}"} for text, address in documents]


@pytest.mark.parametrize(
    ("flood", "voices"),
    [
        (("a.flood.com/1", "b.flood.com/2", "flood.com"), 1),
        (("a.github.io", "b.github.io", "c.github.io"), 1),
        (("flood.co.uk", "rain.co.uk", "b.rain.co.uk"), 2),
    ],
)
def test_a_domain_has_one_voice_on_each_side(
    model: ChatOpenAI, flood: tuple[str, ...], voices: int
) -> None:
    start: Any = {"answer": "It was lit in 1871.", "documents": at("press.com", *flood)}
    graph = create_conflict_scorer(model, cache=False, duplicates="domain")

    report = graph.invoke(start)["report"]

    assert report["cs_r"] == voices / (voices + 1)
    [claim] = report["claims"]
    assert (claim["contradicts"], claim["independent_contradicts"]) == ([2, 3, 4], voices)


def test_a_domain_that_says_both_is_heard_on_both_sides(model: ChatOpenAI) -> None:
    start: Any = {"answer": "It was lit in 1871.", "documents": at("a.com/1", "b.a.com/2", "a.com")}
    graph = create_conflict_scorer(model, cache=False, duplicates="domain")

    report = graph.invoke(start)["report"]

    assert (report["cs_c"], report["cs_r"], report["independent_documents"]) == (1.0, 1 / 2, 1)
