"""The settings of a run: named once, checked once, spelled out at every door."""

import inspect
from dataclasses import fields
from typing import Any, get_type_hints

import pytest

from conflictscore import create_conflict_scorer, create_self_correcting_rag
from conflictscore.errors import InputError
from conflictscore.graph.settings import LoopOptions, LoopSettings
from conflictscore.middleware import ConflictScoreMiddleware, SelfCorrectingChatModel, self_correct

OPENED_BY_US = {"max_calls", "ledger"}
"""Settings that no public door takes."""


def test_the_doors_take_the_settings_with_the_types_that_they_have() -> None:
    settings = get_type_hints(LoopSettings)
    options = get_type_hints(LoopOptions)
    assert options == {name: settings[name] for name in settings if name not in OPENED_BY_US}


@pytest.mark.parametrize(
    ("door", "missing"),
    [
        (create_self_correcting_rag, set()),
        (
            create_conflict_scorer,
            {
                *("judge", "method", "max_rounds", "regeneration"),
                *("disputed", "unsettled", "look_further", "guard"),
            },
        ),
        (ConflictScoreMiddleware, {"method"}),
        (self_correct, {"method"}),
        (SelfCorrectingChatModel, None),
    ],
)
def test_help_shows_every_setting_of_a_door_with_its_default(
    door: Any, missing: set[str] | None
) -> None:
    if missing is None:  # LangChain's chat models are records, and `cache` is LangChain's own
        shown = {name: field.default for name, field in door.model_fields.items()}
        shown["cache"] = shown.pop("content_cache")
        missing = set()
    else:
        parameters = inspect.signature(door).parameters
        shown = {name: parameter.default for name, parameter in parameters.items()}
    expected = {
        field.name: field.default
        for field in fields(LoopSettings)
        if field.name not in OPENED_BY_US | missing
    }
    if door is create_conflict_scorer:
        expected["judge"] = None  # what scores, in the place of what answers
    assert expected.items() <= shown.items()
    assert not any(name in shown for name in missing - {"judge"})


def test_a_door_refuses_a_setting_that_it_does_not_take() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'method'"):
        self_correct(method="rag")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"max_rounds": -1}, "max_rounds is -1; give 0 to 20"),
        ({"max_rounds": 21}, "max_rounds is 21; give 0 to 20"),
        ({"method": "none"}, "unknown method 'none'; one of rag, control-rag, regenerated-rag"),
        ({"regeneration": "new"}, "unknown regeneration 'new'; one of paper, revise"),
        ({"duplicates": "twice"}, "unknown duplicates 'twice'; one of vote, once, domain"),
        ({"budget_seconds": 0}, "budget_seconds is 0; give a number of seconds above 0"),
        ({"budget_seconds": float("inf")}, "budget_seconds is inf"),
        ({"budget_seconds": float("nan")}, "budget_seconds is nan"),
        ({"max_calls": 0}, "max_calls is 0; give at least 1"),
        (
            {"disputed": "conflict"},
            "disputed is 'conflict'; give a list of any of",
        ),
        ({"disputed": ["all"]}, "disputed is 'all'; give a list of any of conflict, refuted"),
        ({"unsettled": "drop"}, "unknown unsettled 'drop'; one of hedge, keep"),
        ({"look_further": "on"}, "unknown look_further 'on'; one of off, disputed, unsupported"),
        ({"min_coverage": 1.5}, "min_coverage is 1.5; give 0 to 1"),
        ({"max_claims": 0}, "max_claims is 0; give at least 1"),
    ],
)
def test_a_setting_out_of_range_is_refused_by_name(wrong: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        LoopSettings(**wrong)
