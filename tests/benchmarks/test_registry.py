import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conflictscore.benchmarks.entry import Entry
from conflictscore.benchmarks.harness.store import RunStore
from conflictscore.benchmarks.registry import BENCHMARKS
from conflictscore.errors import InputError
from tests.benchmarks.harness.quiz import Quiz
from tests.fakes.openai_server import OpenAIServer

EACH = pytest.mark.parametrize("entry", BENCHMARKS.values(), ids=list(BENCHMARKS))


@EACH
def test_a_folder_offers_the_entry_of_its_name_with_a_page_that_exists(entry: Entry) -> None:
    assert BENCHMARKS[entry.name] is entry
    assert (Path(__file__).parents[2] / entry.docs).is_file()


@EACH
def test_what_an_entry_opens_is_there(entry: Entry, tmp_path: Path) -> None:
    missing = tmp_path / "missing.jsonl"
    given: Any = [str(missing)] if entry.several else missing
    with pytest.raises(InputError, match=r"missing\.jsonl"):
        entry.open(given, entry.forms[0], 0)


def test_naming_the_benchmarks_imports_nothing_heavy() -> None:
    program = (
        "import sys\n"
        "from conflictscore.benchmarks.registry import BENCHMARKS\n"
        "heavy = ('langchain_core', 'numpy', 'pydantic', 'rich', 'scipy')\n"
        "print(sorted(name for name in heavy if name in sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split("\n")[-2] == "[]", done.stderr


PLUGIN = """
from conflictscore.benchmarks.entry import Entry

def opened(data, form, seed):
    from conflictscore.benchmarks import Benchmark, Question
    texts = ["Lamp 0 was lit in 1871.", "Lamp 0 was lit in 1874.", "In 1874 lamp 0 was lit."]
    one = Question(
        id="one", question="When was lamp 0 lit?", options=tuple(texts[:2]), gold=1,
        documents=tuple({"text": text} for text in texts),
    )
    return Benchmark(name="lamps", form=form, questions=(one,))

ENTRY = Entry(
    name="lamps", summary="when lamps were lit", data="any file", forms=("multiple-choice",),
    searches=False, open=opened,
)

PLACE = "no entry"
TAKEN = ENTRY._replace(name="ramdocs")

def __getattr__(name):
    from conflictscore.benchmarks import BenchmarkMethod
    async def ask(asker, asked):
        return await asker.answer_from(asked.question, asked.documents[-1:])
    return BenchmarkMethod(name="last-document", ask=ask)
"""
POINTS = """[conflictscore.benchmarks]
lamps = lamp_plugin:ENTRY
broken = no_such_module:ENTRY
odd = lamp_plugin:PLACE
taken = lamp_plugin:TAKEN

[conflictscore.methods]
last-document = lamp_plugin:LAST
"""


def test_a_benchmark_and_a_method_of_ones_own_are_reported_and_exported_as_others_are(
    tmp_path: Path,
) -> None:
    site, run = tmp_path / "site", tmp_path / "run"
    info = site / "lamp_plugin-1.dist-info"
    info.mkdir(parents=True)
    (site / "lamp_plugin.py").write_text(PLUGIN)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lamp-plugin\nVersion: 1\n")
    (info / "entry_points.txt").write_text(POINTS)

    with OpenAIServer(Quiz()) as server:
        model = ["--model", "scripted", "--base-url", server.base_url, "--labeler", "choice"]
        asked = ["--data", __file__, "--methods", "rag,last-document", "--out", str(run)]
        table = tmp_path / "answers.csv"
        commands = [
            ["bench", "lamps", *asked, *model, "--quiet"],
            ["export", str(run), "--to", str(table)],
        ]
        program = (
            "from click.testing import CliRunner\n"
            "from conflictscore.cli import main\n"
            f"for command in {commands!r}:\n"
            "    done = CliRunner().invoke(main, command)\n"
            "    print(done.exit_code, done.output)\n"
        )
        here = {"PYTHONPATH": os.pathsep.join([str(site), *sys.path]), "OPENAI_API_KEY": "key"}
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            env={**os.environ, **here, "CONFLICTSCORE_CACHE_DIR": str(tmp_path / "cache")},
            cwd=tmp_path,
        )
    assert done.stdout.count("last-document") > 1, done.stderr
    assert "broken cannot be imported" in done.stderr
    assert "skipped the benchmark odd: lamp_plugin:PLACE is not an Entry" in done.stderr
    assert "'ramdocs' is the name of a built-in benchmark" in done.stderr
    assert "last-document" in table.read_text()

    with pytest.raises(InputError, match="'last-document', which is not installed here; nothing"):
        RunStore.read(run)
