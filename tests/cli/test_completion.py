"""What a shell is told when a user presses Tab."""

import pytest
from click.testing import CliRunner

from conflictscore.cli import main


def completed(*words: str) -> list[str]:
    """What bash gets for the last word, each with its kind."""
    env = {
        "_CONFLICTSCORE_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["conflictscore", *words]),
        "COMP_CWORD": str(len(words)),
    }
    result = CliRunner().invoke(main, prog_name="conflictscore", env=env)
    assert result.exit_code == 0
    return result.stdout.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["sco"], ["plain,score", "plain,score-file"]),
        (["bench", "wiki"], ["plain,wikicontradict"]),
        (["ask", "When", "--conf"], ["plain,--config"]),
        (["ask", "When", "--effort", "th"], ["plain,thorough"]),
        (["ask", "When", "--docs", "a"], ["file,a"]),
        (["ask", "When", "--docs", "a", "b", "c"], ["file,c"]),
        (["ask", "When", "--docs", "a", "--json", "c"], []),
    ],
)
def test_commands_options_values_and_files_are_completed(
    words: list[str], expected: list[str]
) -> None:
    assert completed(*words) == expected
