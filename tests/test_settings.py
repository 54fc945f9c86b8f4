"""The settings of a run: one record, validated once, and the same in every entry point."""

import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import Runnable

import conflictscore
from conflictscore import (
    PRESETS,
    Settings,
    create_conflict_scorer,
    create_self_correcting_rag,
    run_context,
    score,
)
from conflictscore.benchmarks.harness.setup import paper_loop
from conflictscore.errors import ConfigurationError, InputError
from conflictscore.graph.keywords import CorrectionOptions, ModelOptions
from conflictscore.labelers import LABELERS
from conflictscore.middleware import ConflictScoreMiddleware, SelfCorrectingChatModel, self_correct
from conflictscore.setting_keywords import CorrectionSettings, ScoringSettings
from tests.generated import GUIDE, STUB, stub, with_table

CORRECTING: list[Callable[..., Any]] = [
    create_self_correcting_rag,
    run_context,
    ConflictScoreMiddleware,
    self_correct,
]
SCORING: list[Callable[..., Any]] = [create_conflict_scorer, score]
CHAT = FakeListChatModel(responses=["So."])


def test_the_keywords_of_entry_points_are_the_fields_of_the_record() -> None:
    assert set(CorrectionSettings.__annotations__) == set(Settings.names())
    assert len(Settings.names()) <= 14
    assert set(ScoringSettings.__annotations__) < set(Settings.names())
    models = {*ModelOptions.__annotations__, "judge"}
    assert set(CorrectionOptions.__annotations__) == {*Settings.names(), *models}


@pytest.mark.parametrize("entry", [*CORRECTING, *SCORING])
def test_help_shows_every_setting_with_its_default_and_what_it_does(
    entry: Callable[..., Any],
) -> None:
    names = Settings.names() if entry in CORRECTING else tuple(ScoringSettings.__annotations__)
    parameters = inspect.signature(entry).parameters
    made = entry.__init__ if inspect.isclass(entry) else entry
    shown = " ".join((inspect.getdoc(made) or "").split())

    for name in names:
        assert parameters[name].default == Settings.default(name)
        assert Settings.help(name) in shown


def test_a_chat_model_has_a_field_for_each_setting() -> None:
    fields = SelfCorrectingChatModel.model_fields

    for name in Settings.names():
        assert fields[name].default == Settings.default(name)
        assert fields[name].description == Settings.help(name)


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"max_rounds": -1}, "max_rounds is -1; give 0 to 20"),
        ({"max_rounds": 21}, "max_rounds is 21; give 0 to 20"),
        ({"max_rounds": "two"}, "max_rounds is 'two'; give 0 to 20"),
        ({"max_rounds": True}, "max_rounds is True; give 0 to 20"),
        ({"max_claims": 0}, "max_claims is 0; give at least 1, or None"),
        ({"min_coverage": 1.5}, "min_coverage is 1.5; give 0 to 1, or None"),
        ({"budget_seconds": 0}, "budget_seconds is 0; give a number above 0"),
        ({"budget_seconds": float("inf")}, "budget_seconds is inf"),
        ({"budget_seconds": float("nan")}, "budget_seconds is nan"),
        ({"effort": "slow"}, "effort is 'slow'; give one of fast, standard, thorough, paper"),
        ({"effort": []}, "effort is .*give one of fast"),
        ({"regeneration": "typed"}, "regeneration is 'typed'; give one of paper, revise"),
        ({"duplicates": "twice"}, "duplicates is 'twice'; give one of vote, once, domain"),
        ({"disputed": "conflict"}, "disputed is 'conflict'; give a list of any of conflict"),
        ({"disputed": ["all"]}, "disputed is .'all'.; give a list of any of conflict"),
        ({"guard": "no"}, "guard is 'no'; give True or False"),
        ({"labeler": "nope"}, "labeler is 'nope'; give one of json, choice, nli, cascade"),
        ({"labeler": 3}, "labeler is 3; give a name of LABELERS"),
        ({"labeler": "cascade:sure=1"}, "the options of cascade are model=…, certain=…"),
        ({"labeler": "cascade:certain=0.9,certain=0.8"}, "certain occurs twice"),
        ({"labeler": "nli:model="}, "model has no value"),
        ({"labeler": "cascade:certain=2"}, "certain is '2'; give 0 to 1"),
        ({"prompts": "nope"}, "prompt folder nope is not a folder"),
        ({"prompts": "x" * 5000}, "is not a folder"),
        ({"prompts": 3}, "prompts is 3; give default, paper, a folder of templates"),
        ({"trust": "nope.toml"}, "trust is 'nope.toml'; there is no such file"),
        ({"trust": "x" * 5000}, "File name too long"),
        ({"labler": "json"}, "there is no setting 'labler'; did you mean labeler?"),
    ],
)
def test_a_wrong_setting_is_refused_by_its_name_with_what_is_allowed(
    wrong: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        Settings(**wrong)


@pytest.mark.parametrize(
    "make",
    [
        *(lambda entry=entry, **wrong: entry(**wrong) for entry in CORRECTING[2:]),
        lambda **wrong: create_self_correcting_rag(CHAT, **wrong),
        lambda **wrong: run_context(CHAT, **wrong),
        lambda **wrong: create_conflict_scorer(CHAT, **wrong),
        lambda **wrong: score([], [], CHAT, **wrong),
        lambda **wrong: SelfCorrectingChatModel(CHAT, **wrong),
    ],
)
def test_every_entry_point_refuses_when_it_is_made(make: Callable[..., Any]) -> None:
    with pytest.raises(InputError, match=r"labeler is 'nope'; give one of " + ", ".join(LABELERS)):
        make(labeler="nope")
    with pytest.raises(
        (InputError, TypeError), match=r"no setting 'labler'; did you mean labeler\?"
    ):
        make(labler="json")
    with pytest.raises(InputError, match="effort is 'slow'; give one of fast"):
        make(effort="slow")


RETRYING: Runnable[Any, Any] = CHAT.with_retry()


@pytest.mark.parametrize(
    "make",
    [
        lambda: create_self_correcting_rag(RETRYING),  # type: ignore[arg-type]
        lambda: create_conflict_scorer(RETRYING),  # type: ignore[arg-type]
        lambda: SelfCorrectingChatModel(RETRYING),  # type: ignore[arg-type]
        lambda: SelfCorrectingChatModel(CHAT, judge=RETRYING),
        lambda: self_correct(judge=RETRYING),  # type: ignore[call-overload]
        lambda: ConflictScoreMiddleware(judge=RETRYING),  # type: ignore[arg-type]
    ],
)
def test_a_model_that_is_no_chat_model_is_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(ConfigurationError, match="is a RunnableRetry; give a spec"):
        make()


def test_an_effort_acts_in_python_and_explicit_settings_override_it() -> None:
    context = run_context(CHAT, effort="paper", max_rounds=2, cache=False)

    settings = context.settings
    assert (settings.effort, settings.regeneration, settings.guard) == ("paper", "paper", False)
    assert (settings.disputed, settings.min_coverage) == (("conflict",), None)
    assert settings.max_rounds == 2
    assert context.prompts.name == "paper"
    assert context.labeler.name.startswith("json(")
    assert SelfCorrectingChatModel(CHAT, effort="thorough").max_rounds == 3


def test_the_papers_loop_is_the_same_in_benchmarks() -> None:
    named, run = Settings(effort="paper"), paper_loop()

    assert run.labeler is None, "the one that suits the judge, unless it is named"
    assert run.replace(labeler=named.labeler).to_json() == named.to_json()


@pytest.mark.parametrize("effort", PRESETS)
def test_a_preset_sets_what_it_names_and_leaves_the_defaults(effort: Any) -> None:
    made, preset = Settings(effort=effort), dict(PRESETS[effort])

    for name in {*Settings.names()} - {"effort", "prompts", *preset}:
        assert getattr(made, name) == Settings.default(name)
    for name in preset.keys() - {"prompts"}:
        assert getattr(made, name) == preset[name]


def test_a_copy_keeps_all_else_and_is_validated() -> None:
    made = Settings(effort="paper", max_rounds=4)

    again = Settings(effort="paper", max_rounds=4, guard=True)
    assert made.replace(guard=True).to_json() == again.to_json()
    with pytest.raises(InputError, match="max_rounds is 99"):
        made.replace(max_rounds=99)


def test_the_log_has_every_setting_as_plain_json(tmp_path: Path) -> None:
    table = tmp_path / "trust.toml"
    table.write_text('[hosts]\n"a.test" = 2\n', "utf-8")
    told = Settings(effort="fast", labeler="nli", max_claims=8, trust=table).to_json()

    assert told.keys() == {*Settings.names()}
    assert (told["effort"], told["labeler"], told["max_claims"]) == ("fast", "nli", 8)
    assert told["prompts"]["set"] == "default"
    assert told["trust"] == {"hosts": {"a.test": 2.0}}


def test_the_stub_and_the_guide_say_what_is_declared() -> None:
    guide = GUIDE.read_text("utf-8")
    if os.environ.get("UPDATE_GOLDEN"):
        STUB.write_text(stub(), "utf-8")
        GUIDE.write_text(with_table(guide), "utf-8")
        return

    assert STUB.read_text("utf-8") == stub()
    assert guide == with_table(guide)


_PATIENCE = """\
    patience: Annotated[int, Ge(0), Le(9)] = _setting(
        4, "Wait this long.", brief="how long to wait", presets={"thorough": 7}
    )
    effort: Effort"""
_FIND_IT = """\
import inspect, json, os, sys
from click.testing import CliRunner
from conflictscore import Settings, create_self_correcting_rag
from conflictscore.cli import main
from conflictscore.cli.config_file import commands_of
from conflictscore.errors import InputError
from conflictscore.middleware import SelfCorrectingChatModel
from tests.generated import guide_table, stub

[ask] = [command for command in commands_of(main) if command.name == "ask"]
[option] = [parameter for parameter in ask.params if parameter.name == "patience"]


def given(**more):
    seen = []
    option.callback = lambda context, parameter, value: seen.append(value)
    CliRunner().invoke(main, ["ask", "When?", *more.pop("args", [])], **more)
    return seen[-1]


try:
    Settings(patience=10)
    refusal = ""
except InputError as error:
    refusal = str(error)
print(json.dumps({
    "help": option.help,
    "option": given(args=["--patience", "3"]),
    "variable": given(env={"CONFLICTSCORE_ASK_PATIENCE": "5"}, auto_envvar_prefix="CONFLICTSCORE"),
    "file": given(args=["--config", "patience.toml"]),
    "keyword": inspect.signature(create_self_correcting_rag).parameters["patience"].default,
    "field": SelfCorrectingChatModel.model_fields["patience"].default,
    "preset": Settings(effort="thorough").patience,
    "log": Settings().to_json()["patience"],
    "refusal": refusal,
    "table": "| `patience` | 4 | how long to wait |" in guide_table(),
    "stub": stub().count("patience: int"),
}))
"""


def test_a_setting_is_added_at_one_place_and_found_at_every_other(tmp_path: Path) -> None:
    package, source = tmp_path / "conflictscore", Path(conflictscore.__file__).parent
    package.mkdir()
    for part in source.iterdir():
        if part.name not in ("setting_declarations.py", "__pycache__"):
            (package / part.name).symlink_to(part)
    declared = (source / "setting_declarations.py").read_text("utf-8")
    assert declared.count("    effort: Effort") == 1
    changed = declared.replace("    effort: Effort", _PATIENCE)
    (package / "setting_declarations.py").write_text(changed, "utf-8")
    (tmp_path / "tests").symlink_to(Path(__file__).parent)
    (tmp_path / "patience.toml").write_text("[ask]\npatience = 6\n", "utf-8")

    ended = subprocess.run(
        [sys.executable, "-c", _FIND_IT],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )

    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout) == {
        "help": "Wait this long.  [default: 4]",
        "option": 3,
        "variable": 5,
        "file": 6,
        "keyword": 4,
        "field": 4,
        "preset": 7,
        "log": 4,
        "refusal": "patience is 10; give 0 to 9",
        "table": True,
        "stub": 2,
    }
