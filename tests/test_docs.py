"""Pages of the documentation: their sizes, links, commands and examples."""

import re
import shlex
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding

from conflictscore import Run, Settings
from conflictscore.cli import main
from conflictscore.middleware.service.kept_runs import run_record
from tests.benchmarks.harness.quiz import RIGHT, WRONG, Quiz, told
from tests.fakes.openai_server import OpenAIServer
from tests.middleware.agents import AgentWorld, search
from tests.talking import Shelf
from tests.world import scripted_model

ROOT = Path(__file__).parents[1]
GUIDE = sorted((ROOT / "docs/guide").glob("*.md"))
FINDINGS = sorted((ROOT / "docs/findings").glob("*.md"))
TOP = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")]
PAGES = [*TOP, *GUIDE, *FINDINGS, ROOT / "examples/README.md"]

_FENCE = re.compile(r"^[ ]*```(\w*)\n(.*?)^[ ]*```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def names(pages: list[Path]) -> list[str]:
    return [str(page.relative_to(ROOT)) for page in pages]


def blocks(page: Path, *languages: str) -> list[str]:
    """Fenced code in these languages, without blocks that a comment excludes from the tests."""
    text = re.sub(r"<!-- needs .*?-->\n+```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    return [code for language, code in _FENCE.findall(text) if language in languages]


def test_the_guide_has_at_most_twelve_pages() -> None:
    assert len(GUIDE) <= 12


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_every_link_leads_somewhere(page: Path) -> None:
    dead = []
    for target in _LINK.findall(re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)):
        path, _, anchor = target.partition("#")
        if "://" in target:
            continue
        there = (page.parent / path).resolve() if path else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            dead.append(target)
    assert dead == []


def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, as GitHub and Sphinx make them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


def commands(page: Path) -> Iterator[list[str]]:
    """Command lines of shell blocks, or of a Makefile, with continued lines joined."""
    made = re.findall(r"^\t\$\(BIN\)/(conflictscore .*)$", page.read_text("utf-8"), re.MULTILINE)
    for code in made if page.name == "Makefile" else blocks(page, "sh", "console"):
        for line in code.replace("\\\n", " ").splitlines():
            plain = line.removeprefix('run="')
            yield shlex.split(plain if plain == line else plain.rstrip('"'), comments=True)


SHOWN = [*PAGES, ROOT / "Makefile"]


@pytest.mark.parametrize("page", SHOWN, ids=names(SHOWN))
def test_every_command_has_the_options_that_it_is_shown_with(page: Path) -> None:
    unknown = []
    for words in commands(page):
        if words[:2] == ["python", "-m"] and find_spec(words[2]) is None:
            unknown.append(words[2])
        if words[:1] != ["conflictscore"]:
            continue
        command: click.Command = main
        rest = words[1:]
        while isinstance(command, click.Group) and rest:
            found = command.get_command(click.Context(command), rest[0])
            if found is None:
                break
            command, rest = found, rest[1:]
        known = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
        known |= {"--help", "--help-all"}
        options = [word.partition("=")[0] for word in rest if word.startswith("--")]
        unknown += [f"{command.name} {name}" for name in options if name not in known]
        if command is main:
            unknown.append(" ".join(words[:2]))
    assert unknown == []


def test_the_reference_lists_every_field_of_a_run() -> None:
    text = (ROOT / "docs/reference.md").read_text("utf-8")
    section = text.split("## The fields of a run")[1]
    rows = re.findall(r"^\| (`[^|]+) \|", section, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    context: Any = SimpleNamespace(generator=SimpleNamespace(name="scripted"), model_names={})
    record = run_record(Run(question="?"), created=0, start=0.0, mode="correct", context=context)

    assert named == {*record, "searches"}


ELSEWHERE = {
    *("--model-role", "--temperature"),  # Inspect's
    *("--context-length", "--max-model-len"),  # of LM Studio and vLLM
    *("--help", "--help-all", "--split"),
}


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_every_option_that_is_named_exists(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    measured = set(re.findall(r"measurements\.\w+[^`]*`", text))
    spans = set(re.findall(r"`([^`]+)`", text)) - {one.rstrip("`") for one in measured}
    named = {
        option
        for span in spans
        if not re.search(r"measurements|pytest|docker", span)
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", span)
    }
    assert (
        named - ELSEWHERE - {option for _, options in all_options() for option in options} == set()
    )


def all_options(command: click.Command = main) -> Iterator[tuple[str, set[str]]]:
    """The options of a command and of its subcommands."""
    yield command.name or "", {n for p in command.params for n in (*p.opts, *p.secondary_opts)}
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            if (below := command.get_command(context, name)) is not None:
                yield from all_options(below)


def test_every_file_that_the_architecture_names_exists() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    paths = set(re.findall(r"`([\w/]+(?:\.py|/))`", text))
    assert [path for path in sorted(paths) if not exists(path)] == []


def exists(path: str) -> bool:
    below = ("conflictscore", "conflictscore/benchmarks", "conflictscore/middleware")
    return any((ROOT / folder / path).exists() for folder in (".", *below))


def test_the_settings_page_has_every_setting() -> None:
    page = (ROOT / "docs/guide/settings.md").read_text("utf-8")
    table = page.partition("\n## ")[0]
    assert tuple(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == Settings.names()


RUN = [page for page in [TOP[0], *GUIDE] if page.name != "extending.md" and blocks(page, "python")]


@pytest.mark.parametrize("page", RUN, ids=names(RUN))
def test_the_examples_of_a_page_run_one_after_the_other(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    benchmark = page.name == "benchmarks.md"
    if benchmark:
        ramdocs(tmp_path / "ramdocs.jsonl")
    monkeypatch.chdir(tmp_path)
    with OpenAIServer(Quiz() if benchmark else AgentWorld(tools=())) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        given: dict[str, Any] = {
            "model": scripted_model(server),
            "retriever": Shelf(),
            "search": search,
            "embeddings": DeterministicFakeEmbedding(size=8),
        }
        for code in blocks(page, "python"):
            exec(compile(code, str(page), "exec"), given)


def ramdocs(path: Path) -> None:
    """A question of RAMDocs about lamp 1."""
    import json

    pages = [(told(1, RIGHT), "correct"), (told(1, WRONG), "misinfo")]
    question = {
        "question": "When was lamp 1 lit?",
        "documents": [{"text": text, "type": kind, "answer": text} for text, kind in pages],
        "disambig_entity": ["Lamp 1"],
        "gold_answers": [told(1, RIGHT)],
        "wrong_answers": [told(1, WRONG)],
    }
    path.write_text(json.dumps(question) + "\n")
