"""Settings from a file, for a command that searches a folder and calls no model."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from conflictscore.cli import main


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    notes = tmp_path / "notes"
    notes.mkdir()
    for number in range(6):
        (notes / f"{number}.md").write_text(f"The lamp was lit in 187{number}.")


def search(*args: str) -> Result:
    return CliRunner().invoke(main, ["search", "When was the lamp lit?", "--json", *args])


def found(*args: str) -> int:
    """How many documents were found."""
    result = search(*args)
    assert result.exit_code == 0, result.stderr
    return len(json.loads(result.stdout)["documents"])


def test_an_option_wins_over_the_environment_and_the_environment_over_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert found("--docs", "notes") == 6
    Path("conflictscore.toml").write_text('docs = "notes"\ntop-k = 4\n')
    assert found() == 4
    monkeypatch.setenv("CONFLICTSCORE_SEARCH_TOP_K", "3")
    assert found() == 3
    assert found("--top-k", "2") == 2


def test_a_commands_table_wins_over_what_is_set_for_all() -> None:
    Path("conflictscore.toml").write_text(
        'docs = ["notes/1.md", "notes/2.md"]\ntop-k = 9\nguard = false\n'
        "[search]\ntop-k = 1\n[bench.truthfulqa]\nseed = 3\n"
    )
    Path("other.toml").write_text('docs = "notes"\n')

    assert found() == 1
    assert "Settings from conflictscore.toml: docs, top-k\n" in search().stderr
    assert found("--config", "other.toml") == 6


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("topk = 3", "topk is not an option or a command; did you mean top-k?"),
        ("[serch]\ntop-k = 3", "serch is not an option or a command; did you mean search?"),
        ("[search]\nguard = true", "search.guard is not an option or a command"),
        (
            "[ask]\nmax_rounds = 2",
            "ask.max_rounds is not an option or a command; did you mean",
        ),
        ("top-k = true", "top-k: 'true' is not a valid integer"),
        ("top-k = 2.5", "top-k: '2.5' is not a valid integer"),
        ("top-k = [3]", "top-k takes one value, not a list"),
        ("top-k = 0", "top-k: 0 is not in the range"),
        ('read-pages = "perhaps"', "read-pages: 'perhaps' is not a valid boolean"),
        ("top-k = ", "it is not a TOML file: Invalid value (at"),
        ("a = " + "[" * 100_000, "it is not a TOML file: it "),
        ("# " + "x" * 1_000_001, "it is not a TOML file: it "),
        ('openai_api_key = "x"', "openai_api_key is not an option or a command"),
        ('key = "sk-abcdefghijkl"', "key is a secret; set it in the environment"),
        ('[ask]\nmodel = "sk-abcdefghijkl"', "ask.model is a secret"),
        ('base-url = "http://me:pass@host/v1"', "base-url is a secret"),
    ],
)
def test_what_does_not_fit_is_named_with_its_file(text: str, said: str) -> None:
    Path("conflictscore.toml").write_text(text)

    result = search("--docs", "notes")

    assert result.exit_code == 2
    [line] = result.stderr.splitlines()
    assert line.startswith(f"conflictscore: conflictscore.toml: {said}")
    assert "pass@" not in line


def test_settings_of_the_file_and_of_the_environment_are_joined(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CONFLICTSCORE_ASK_SET", "guard=false")
    Path("conflictscore.toml").write_text('unsettled = "sometimes"\n')

    assert "unsettled is 'sometimes'" in ask().stderr


@pytest.mark.parametrize("lines", [(0, 1), (1, 0)])
def test_settings_by_name_and_by_set_are_joined(lines: tuple[int, int]) -> None:
    settings = ('unsettled = "sometimes"', 'set = ["guard=false"]')
    Path("conflictscore.toml").write_text("\n".join(settings[line] for line in lines))

    assert "unsettled is 'sometimes'" in ask().stderr


def test_an_option_of_two_files_takes_a_list() -> None:
    Path("conflictscore.toml").write_text('natconfqa = ["questions.jsonl", "judged.jsonl"]\n')

    refused = CliRunner().invoke(main, ["bench", "validity"])

    assert "questions.jsonl" in refused.stderr.splitlines()[-1]


def test_a_named_file_that_is_not_there_is_refused() -> None:
    assert "no.toml: No such file" in search("--config", "no.toml").stderr


def test_a_file_that_an_editor_on_windows_wrote_is_read() -> None:
    Path("conflictscore.toml").write_bytes(b"\xef\xbb\xbf[search]\r\ntop-k = 0\r\n")

    assert "top-k: 0 is not in the range" in search("--docs", "notes").stderr


def test_an_option_may_have_the_name_of_a_command() -> None:
    Path("conflictscore.toml").write_text('docs = "notes"\nsearch = "corpus"\n')

    refused = search()

    assert refused.exit_code in (0, 2)
    assert refused.exception is None or isinstance(refused.exception, SystemExit)


def ask(*args: str) -> Result:
    return CliRunner().invoke(main, ["ask", "When was the lamp lit?", "--docs", "notes", *args])


@pytest.mark.parametrize(
    "text",
    [
        'base-url = "http://127.0.0.1:9/v1"',
        '[ask]\nbase-url = "http://127.0.0.1:9/v1"',
        'search = ["searxng:http://127.0.0.1:9"]',
        'prompts = "theirs"',
        'log = "../stolen.jsonl"',
        'model = "local:theirs.gguf"',
        'labeler = "nli:model=./theirs"',
        'labeler = "choice"',
        "guard = false",
        "min-coverage = 0.1",
        "max-claims = 1",
        "budget-seconds = 0.1",
        'look-further = "off"',
        "context-window = 900",
        'reasoning-effort = "low"',
        'docs = "../theirs"',
        'docs = ["notes", "/etc"]',
        'docs = "notes"',
        "top-k = 1",
        "max-calls = 1",
        'model = "gpt-3.5-turbo"',
        'option = ["A", "B"]',
    ],
)
def test_a_file_that_was_found_redirects_nothing_while_a_key_is_set(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-user")
    Path("conflictscore.toml").write_text("json = true\nno-cache = true\n")
    assert found("--docs", "notes") == 6
    assert "Settings from conflictscore.toml: json\n" in search("--docs", "notes").stderr
    Path("conflictscore.toml").write_text(text)
    refused = ask()
    assert refused.exit_code == 2
    [line] = refused.stderr.splitlines()
    assert line.startswith("conflictscore: conflictscore.toml: sets ")
    assert "--config conflictscore.toml" in line
    # the model cannot be reached; a second attempt would only wait
    trusted = ask("--config", "conflictscore.toml", "--max-calls", "1")
    assert "cannot set this" not in trusted.stderr, "named, so trusted"


@pytest.mark.parametrize(
    "text",
    [
        'cors-origin = "https://theirs.test"',
        "any-model = true",
        "timeout = 0.5",
        'store = "postgresql:theirs"',
    ],
)
@pytest.mark.parametrize("variable", ["OPENAI_API_KEY", "CONFLICTSCORE_SERVE_KEYS"])
def test_a_file_that_was_found_does_not_change_the_service_while_keys_are_set(
    text: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "key-of-this-service-0123456789")
    Path("conflictscore.toml").write_text(text)
    refused = CliRunner().invoke(main, ["serve", "--docs", "notes", "--port", "0"])
    assert refused.exit_code == 2
    assert "sets " + text.split()[0] in refused.stderr


def test_a_file_that_was_found_loosens_no_gate_while_a_key_is_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-user")
    Path("conflictscore.toml").write_text("fail-over = 1.0")
    Path("answers.jsonl").write_text("")
    refused = CliRunner().invoke(main, ["score-file", "answers.jsonl", "--out", "out.jsonl"])
    assert refused.exit_code == 2
    assert "sets fail-over" in refused.stderr


def test_a_file_that_was_found_names_no_output_while_a_key_is_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-secret-of-the-user")
    Path("q.txt").write_text("When was the lamp lit?")
    Path("conflictscore.toml").write_text('out = "theirs"')
    refused = CliRunner().invoke(main, ["record", "--questions", "q.txt", "--docs", "notes"])
    assert refused.exit_code == 2
    assert "sets out" in refused.stderr
    assert not Path("theirs").exists()
