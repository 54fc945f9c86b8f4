"""The figures of the house, on toy packages."""

import subprocess
from pathlib import Path

import pytest
from click import ClickException
from click.testing import CliRunner

from measurements.house import count, main, modules_at, modules_in

TREE = {
    "toy/__init__.py": "",
    "toy/run.py": "from toy.parts import helper\nfrom toy import records\n",
    "toy/records.py": "class Run:\n    answer: str\n    report: str\n    notes: str\n"
    "    usage: str\n    question: str\n",
    "toy/parts/__init__.py": "",
    "toy/parts/helper.py": "def _once() -> None: ...\ndef _twice() -> None: ...\n"
    "_once()\n_twice()\n_twice()\n",
    "toy/parts/run.py": "from toy.records import Run as Other\nclass Run: ...\n"
    "def loop(model, judge, labeler, prompts, cache, *, max_rounds): ...\n"
    "NAME = 'typed-rag'\n",
}


def test_each_figure_counts_what_its_name_says() -> None:
    found = count(TREE)

    assert len(found["lines"]) == sum(len(source.splitlines()) for source in TREE.values()) == 17
    assert len(found["modules"]) == 6
    assert found["modules with one importer"] == ["toy/parts/helper.py"]
    assert found["modules over 400 lines"] == []
    assert len(found["private functions"]) == 2
    assert found["private functions called once"] == ["toy/parts/helper.py:1 _once"]
    assert found["shared module names"] == ["run: toy/run.py, toy/parts/run.py"]
    assert found["shared class names"] == ["Run: toy/records.py, toy/parts/run.py"]
    assert found["signatures that repeat settings"] == ["toy/parts/run.py: loop"]
    assert found["modules that name typed-rag"] == ["toy/parts/run.py"]
    assert found["modules that list a run's fields"] == ["toy/records.py"]


def test_what_a_package_exports_has_an_importer_more() -> None:
    found = count({**TREE, "toy/parts/__init__.pyi": "from .helper import _once as _once\n"})

    assert found["modules with one importer"] == []
    assert (len(found["modules"]), len(found["lines"])) == (6, 17)


def test_commands_and_registries_may_share_a_name() -> None:
    found = count(
        {
            "toy/cli/score.py": "def score(): ...\n",
            "toy/cli/text.py": "def shorten(): ...\n",
            "toy/parts/registry.py": "",
            "toy/parts/score.py": "",
            "toy/parts/text.py": "",
            "toy/registry.py": "",
        }
    )
    assert found["shared module names"] == ["text: toy/cli/text.py, toy/parts/text.py"]


def test_a_long_module_is_named() -> None:
    found = count({"toy/long.py": "x = 1\n" * 401, "toy/short.py": "x = 1\n" * 400})
    assert found["modules over 400 lines"] == ["toy/long.py"]


def test_a_commit_is_read_as_it_was(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    module = tmp_path / "toy" / "a.py"
    module.parent.mkdir()
    module.write_text("before = 1\n")
    git("init")
    git("add", ".")
    git("commit", "--message", "first")
    module.write_text("after = 1\n")

    assert modules_at("HEAD", tmp_path, "toy") == {"toy/a.py": "before = 1\n"}
    assert modules_in(tmp_path, "toy") == {"toy/a.py": "after = 1\n"}
    with pytest.raises(ClickException, match="nowhere"):
        modules_at("nowhere", tmp_path, "toy")


def test_every_file_and_class_of_this_package_has_a_name_of_its_own() -> None:
    found = count(modules_in(Path(__file__).parents[2]))

    assert found["shared module names"] == []
    assert found["shared class names"] == []


def test_the_table_is_of_this_package() -> None:
    shown = CliRunner().invoke(main, ["--show", "over 400"])

    assert shown.exit_code == 0, shown.output
    assert "modules with one importer" in shown.stdout


def test_wordings_are_found_where_they_stand() -> None:
    found = count(
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
