"""The command as a process: fast help, no heavy imports, clean exits."""

import os
import signal
import subprocess
import sys
import time
from contextlib import redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from conflictscore.cli import main
from conflictscore.cli.config_file import commands_of
from tests.fakes.openai_server import Fault, OpenAIServer

HEAVY = (
    *("langgraph", "langchain_core", "openai", "googleapiclient", "xllamacpp", "rich"),
    *("pydantic", "httpx2", "asyncio"),
)


@pytest.mark.parametrize(("command", "examples"), [("ask", 3), ("record", 2)])
def test_help_loads_nothing_heavy_and_shows_examples_on_their_own_lines(
    command: str, examples: int
) -> None:
    script = (
        "import sys\n"
        "from conflictscore.cli import main\n"
        f"try: main(['{command}', '--help'])\n"
        f"except SystemExit: print(sorted(m for m in {HEAVY} if m in sys.modules))\n"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)

    *lines, heavy = done.stdout.splitlines()
    assert (heavy, done.stderr) == ("[]", "")
    assert "--docs PATH ..." in done.stdout
    assert "\\b" not in done.stdout
    assert sum(line.startswith(f"    conflictscore {command} ") for line in lines) == examples


@pytest.mark.parametrize("command", [main, *commands_of(main)], ids=lambda one: one.name)
def test_every_command_explains_itself(command: click.Command) -> None:
    done = CliRunner().invoke(command, ["--help"])
    assert done.exit_code == 0
    assert done.stdout.startswith("Usage: ")
    helps = [str(param.help) for param in command.params if isinstance(param, click.Option)]
    assert [text for text in helps if not text.endswith((".", "]"))] == []


def test_ctrl_c_ends_with_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("The lamp was lit in 1871.")
    with OpenAIServer(lambda request: Fault.hang(60)) as server:
        command = [sys.executable, "-m", "conflictscore", "ask", "When?", "--docs", "a.md"]
        process = subprocess.Popen(
            [*command, "--model", "m", "--base-url", server.base_url],
            cwd=tmp_path,
            env=os.environ | {"CONFLICTSCORE_CACHE_DIR": str(tmp_path / "cache")},
            stderr=subprocess.PIPE,
            text=True,
        )
        while not server.requests:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)

    assert process.returncode == 130
    [line] = errors.strip().splitlines()
    assert "cached replies" in line


def test_no_command_shows_the_help() -> None:
    done = CliRunner().invoke(main, [])

    assert done.exit_code == 2
    assert done.stderr.startswith("Usage: ")
    assert len(done.stderr.splitlines()) > 10


def test_an_output_that_is_not_utf8_still_gets_the_answer(
    tmp_path: Path, endpoint: list[str]
) -> None:
    (tmp_path / "a.md").write_text("# 中文标题\n\nThe lamp was lit in 1871.")
    printed = BytesIO()
    command = ["ask", "When?", "--docs", str(tmp_path / "a.md"), *endpoint, "--json"]
    with redirect_stdout(TextIOWrapper(printed, "latin-1")), pytest.raises(SystemExit) as ended:
        main(command)

    assert ended.value.code == 0
    assert b"It was lit in 1871." in printed.getvalue()
    assert b"\\u4e2d" in printed.getvalue()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["ask", "--docs", "notes", "When?"], "put QUESTION before --docs. (see"),
        (
            ["ask", "When?", "--search", "corpus"],
            "--search corpus and --docs PATH must be used together",
        ),
        (
            ["ask", "When?", "--docs", "README.md", "--model", "openai:m"],
            'or use the model "local"',
        ),
        (["score", "--answer", "A.", "--docs", "README.md", "--base-url", "x"], "needs --model"),
        (
            ["score", "--answer", "A.", "--docs", "README.md", "--base-url", "x", "--judge", "m"],
            "base_url (or OPENAI_BASE_URL) is not an http",
        ),
    ],
)
def test_an_error_names_the_option_and_what_to_do(
    args: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    result = CliRunner().invoke(main, args)
    assert result.exit_code == 2
    assert said in result.stderr


@pytest.mark.parametrize("group", [(), ("bench",), ("model",)], ids=" ".join)
def test_every_commands_summary_fits_into_its_line(group: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(main, [*group, "--help"], terminal_width=80).stdout
    commands = shown.partition("Commands:")[2].partition("\n\n")[0]
    assert commands
    assert "..." not in commands


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["ask", "When?"], "stopped; cached replies will not be paid for again"),
        (["ask", "When?", "--no-cache"], "stopped"),
        (["bench", "truthfulqa"], "stopped; run the same command again to resume"),
        (["serve"], "stopped"),
    ],
)
def test_what_a_stop_keeps_is_told_as_it_is(
    args: list[str], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(click.Group, "invoke", stop)
    result = CliRunner().invoke(main, args)
    assert (result.exit_code, result.stderr) == (130, f"\nconflictscore: {told}\n")
