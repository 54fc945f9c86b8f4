"""The rules of the house, on toy packages and on this one."""

from pathlib import Path

from click.testing import CliRunner

from measurements.house import NOT_YET, counts_in, exceeded_in, found_in, main, modules_in


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


_SENTENCES = "sentences that code compares"
_BRANCHES = "".join(f"    if n == {number}:\n        return {number}\n" for number in range(15))


def test_names_kinds_and_functions_are_counted() -> None:
    counts = counts_in(
        {
            "toy/__init__.py": "",
            "toy/errors.py": 'STOPPED = "the run was stopped"\n',
            "toy/nodes/label.py": "from toy.nodes.score import score\n",
            "toy/nodes/score.py": "import toy.nodes.label\n\n\ndef score(): ...\n",
            "toy/run.py": (
                "from toy.errors import STOPPED\n\n\n"
                "def run(error, found, flag, values):\n"
                "    if error == STOPPED or error.startswith('no answer came'):\n"
                "        return [*('a', 'b')]\n"
                "    return (found, values)[not flag]\n"
            ),
            "toy/branches.py": f"class Run:\n    pass\n\n\ndef many(n):\n{_BRANCHES}    return n\n",
        }
    )
    places = {rule: count.places for rule, count in counts.items()}

    assert places["sentences that code compares"] == [
        "toy/run.py:5 error == STOPPED",
        "toy/run.py:5 error.startswith('no answer came')",
    ]
    assert len(places["circles of imports"]) == 1
    assert len(places["imports between nodes"]) == 2
    assert places["names that are bare participles"] == ["toy/run.py:4 found"]
    assert places["names that are empty nouns"] == ["toy/run.py:4 values"]
    assert places["complexity of 15 or more"] == ["toy/branches.py:5 many 16"]
    assert places["undocumented classes and long functions"] == [
        "toy/branches.py:1 Run",
        "toy/branches.py:5 many",
    ]
    assert places["splatted literals"] == ["toy/run.py:6 *('a', 'b')"]
    assert places["choices by tricks"] == ["toy/run.py:7 (found, values)[not flag]"]


def test_a_sentence_of_a_former_format_may_be_compared_where_its_name_says_so() -> None:
    source = (
        '{name} = "the run was stopped during this step"\n\n\n'
        "def kind(error):\n    return error == {name}\n"
    )
    places = {
        name: counts_in({"toy/run.py": source.format(name=name)})[_SENTENCES].places
        for name in ("_STOPPED_IN_FORMAT_1", "_STOPPED", "_STOPPED_IN_FORMAT_2")
    }

    assert places["_STOPPED_IN_FORMAT_1"] == []
    assert len(places["_STOPPED"]) == len(places["_STOPPED_IN_FORMAT_2"]) == 1


def test_a_count_over_its_most_is_named_unless_it_is_not_yet_judged() -> None:
    circle = {"toy/a.py": "import toy.b\n", "toy/b.py": "import toy.a\n"}

    assert [*exceeded_in(circle)] == ["circles of imports"]
    assert [*exceeded_in({"toy/a.py": "def run(values): ...\n" * 338})] == []
    assert [*exceeded_in({"toy/a.py": "def run(values): ...\n" * 339})] == [
        "names that are empty nouns"
    ]


def test_no_count_of_this_package_exceeds_its_most() -> None:
    modules = modules_in(Path(__file__).parents[2] / "conflictscore")

    assert counts_in({}).keys() >= NOT_YET
    assert exceeded_in(modules) == {}


def test_this_package_breaks_no_rule() -> None:
    found = found_in(modules_in(Path(__file__).parents[2] / "conflictscore"))

    assert {rule: places for rule, places in found.items() if places} == {}


def test_the_table_shows_rooms_and_rules() -> None:
    shown = CliRunner().invoke(main, ["--show"])

    assert shown.exit_code == 0, shown.output
    assert {"conflictscore", "benchmarks/", "tests", "measurements"} <= set(shown.stdout.split())
