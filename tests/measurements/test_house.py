"""The rules of the house, on toy packages and on this one."""

from pathlib import Path

from click.testing import CliRunner

from measurements.house import found_in, main, modules_in


def test_long_modules_and_shared_names_are_found() -> None:
    found = found_in(
        {
            "toy/run.py": "class Run: ...\n" * 400,
            "toy/parts/run.py": "class Run: ...\nText = str\nT = TypeVar('T')\n",
            "toy/parts/long.py": "T = TypeVar('T')\n" * 401,
            "toy/parts/registry.py": "",
            "toy/registry.py": "",
            "toy/cli/score.py": "def score(): ...\n",
            "toy/parts/score.py": "",
            "toy/cli/text.py": "def shorten(): ...\n",
            "toy/parts/text.py": "",
        }
    )
    assert found["modules over 400 lines"] == ["toy/parts/long.py"]
    assert found["shared class names"] == ["Run: toy/run.py, toy/parts/run.py"]
    assert found["shared module names"] == [
        "run: toy/run.py, toy/parts/run.py",
        "text: toy/cli/text.py, toy/parts/text.py",
    ]


def test_wordings_are_found_where_they_stand() -> None:
    found = found_in(
        {
            "toy/doors.py": '"""What shapes a run."""\n',
            "toy/run.py": 'class Given:\n    """Settings of a run."""\n\n    once: int\n',
            "toy/text.py": 'MESSAGE = "the one who answers gave no answer within 3 s"\n',
        }
    )
    assert found["wording: docstrings headed by What or Who"] == ["toy/doors.py:1 What"]
    assert found["wording: metaphors"] == ["toy/doors.py"]
    assert found["wording: participles as nouns"] == ["toy/run.py:1 Given"]
    assert found["wording: names with several meanings"] == ["toy/run.py:4 once"]
    assert found["wording: archaic passives"] == ["toy/text.py:1 the one who answers"]
    assert found["wording: help that teaches nothing"] == []


def test_this_package_breaks_no_rule() -> None:
    found = found_in(modules_in(Path(__file__).parents[2] / "conflictscore"))

    assert {rule: places for rule, places in found.items() if places} == {}


def test_the_table_shows_rooms_and_rules() -> None:
    shown = CliRunner().invoke(main, ["--show"])

    assert shown.exit_code == 0, shown.output
    assert {"conflictscore", "benchmarks/", "tests", "measurements"} <= set(shown.stdout.split())
