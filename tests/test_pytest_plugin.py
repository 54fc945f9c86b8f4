"""The pytest plugin, as installed, in test runs of their own."""

import re
from collections.abc import Iterator

import numpy as np  # noqa: F401 - a process loads it once, and runs below would load it again
import pytest

import conflictscore.reporting.failing_claims
import conflictscore.scoring_files.scores  # noqa: F401 - once, and not in every run below
from tests.fakes.openai_server import Fault, OpenAIServer
from tests.world import World

pytest_plugins = ["pytester"]

INI = "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n"
CASES = """
    LIT = "The lamp was lit in 1871."
    DOCUMENTS = [
        {"text": "The lamp was lit in 1871.", "title": "Gazette"},
        {"text": "The log says the lamp was lit in 1874.", "title": "Log"},
    ]
    AGREEING = [DOCUMENTS[0], "Oil was paid for when Vennick lamp was first lit, in 1871."]

    def test_split(conflict_score):
        conflict_score(LIT, DOCUMENTS)

    def test_split_and_let_pass(conflict_score):
        assert conflict_score(LIT, DOCUMENTS, threshold=0.5).report.cs_r == 0.5

    async def test_agreed(conflict_score):
        assert conflict_score(LIT, AGREEING).checked == "fully"
"""


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def tests(pytester: pytest.Pytester, world: World) -> Iterator[pytest.Pytester]:
    """A folder of tests whose answers a scripted model judges."""
    with OpenAIServer(world) as server:
        pytester.makeconftest(f"""
            import pytest

            @pytest.fixture(scope="session")
            def conflict_settings():
                return {{"judge": "scripted", "base_url": "{server.base_url}", "cache": False}}
        """)
        pytester.makeini(
            "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n"
        )
        pytester.makepyfile(CASES)
        yield pytester


def test_a_contradicted_answer_fails_with_a_line_for_each_failing_claim(
    tests: pytest.Pytester,
) -> None:
    result = tests.runpytest("-p", "no:cacheprovider", "--junit-xml=junit.xml")

    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "the answer is above the threshold of 0: CS-R 0.50, CS-C 1.00, coverage 100%",
            "claim 1 “The lamp was lit in 1871.” contradicted by: document 2 (Log) “The log says"
            " the lamp was lit in 1874.”; supported by: document 1 (Gazette) “The lamp was lit in"
            " 1871.”",
        ]
    )
    assert "Traceback" not in result.stdout.str()
    junit = (tests.path / "junit.xml").read_text()
    assert re.findall(r'name="cs_r" value="([\d.]+)"', junit) == ["0.5", "0.5", "0.0"]


@pytest.mark.parametrize("way", ["option", "ini"])
def test_the_threshold_comes_from_the_command_line_or_the_ini_file(
    tests: pytest.Pytester, way: str
) -> None:
    if way == "ini":
        tests.makeini(f"{INI}conflict_threshold = 0.5\n")
    given = ["--conflict-threshold", "0.5"] if way == "option" else []

    tests.runpytest(*given).assert_outcomes(passed=3)


def test_an_answer_held_against_one_document_passes_without_a_warning(
    tests: pytest.Pytester,
) -> None:
    tests.makepyfile("""
        def test_alone(conflict_score):
            lit = "The lamp was lit in 1871."
            run = conflict_score(lit, [lit])
            assert (run.checked, run.report.cs_r, run.report.coverage) == ("partly", 0, 1)
    """)

    tests.runpytest("-W", "error::pytest.PytestWarning").assert_outcomes(passed=1)


def test_an_answer_that_cannot_be_scored_fails_too(tests: pytest.Pytester, world: World) -> None:
    world.broken["batch"] = Fault(400, message="no such thing")

    result = tests.runpytest("--conflict-threshold", "1", "-k", "agreed")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["the answer has no score: *no such thing*"])


def test_a_threshold_that_is_none_is_refused(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--conflict-threshold", "2")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--conflict-threshold: '2' is not a number from 0 to 1*"])


def test_a_run_that_does_not_use_it_imports_nothing_of_the_package(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile("""
        import sys

        def test_bare(pytestconfig):
            assert pytestconfig.pluginmanager.has_plugin("conflictscore")
            assert "pytest_conflictscore" in sys.modules
            assert not [name for name in sys.modules if name.partition(".")[0] == "conflictscore"]
    """)

    pytester.runpytest_subprocess("-p", "conflictscore").assert_outcomes(passed=1)
