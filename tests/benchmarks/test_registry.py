"""The registry of benchmarks: what each folder offers leads to what it names."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conflictscore.benchmarks import entry as entries
from conflictscore.benchmarks.registry import BENCHMARKS, Entry
from conflictscore.errors import InputError

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


@EACH
def test_published_figures_are_by_form(entry: Entry) -> None:
    if entry.published is None:
        return
    found = [entry.published(form) for form in entry.forms]
    assert any(found)
    assert entry.published("no form") is None


def test_naming_the_benchmarks_imports_nothing_heavy() -> None:
    program = (
        "import sys\n"
        "from conflictscore.benchmarks.registry import BENCHMARKS\n"
        "heavy = ('langchain_core', 'numpy', 'pydantic', 'rich', 'scipy')\n"
        "print(sorted(name for name in heavy if name in sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split("\n")[-2] == "[]", done.stderr


def test_a_name_that_leads_nowhere_is_an_error_where_it_is_used() -> None:
    with pytest.raises(AttributeError):
        entries.lazily("registry:nothing")()
