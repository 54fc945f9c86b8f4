"""Runs small cases with answers in different formats, using a scripted model on this machine.

The arguments are case folders. Next to these folders is ``oracle.py``, a scripted model that
recognises a prompt by its first words. The model does not know the template ``relation``, so this
script replies to it. The reply calls each statement a rival, unless the case's script contains
``"relation": [[part of the statement, reply], …]``. This script also recognises templates whose
first words have changed, and names prompts that nothing recognises. Each case runs in its own
process. For each case, the command prints the claims, how far the answer was checked, and what was
changed.
"""

import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

# Words of the templates that the cases' model does not know, by the kind of the template.
_OWN = {
    "A claim of an answer seems to be disputed": "relation",
    "Judge claims by a document alone": "label",
    "gives the document's answer to it": "ask",
}
_DOCUMENT = re.compile(r"<document[^>]*>\n(?P<text>.*?)\n</document", re.DOTALL)
_STATEMENT = re.compile(r"^(\d+)\. \"(.*?)\" \(Document ", re.MULTILINE)


def relation_reply(prompt: str, known: list[list[str]]) -> str:
    """Return a line for each statement: the reply that the case specifies, or RIVAL."""
    lines = []
    for number, statement in _STATEMENT.findall(prompt):
        reply = next((reply for part, reply in known if part in statement), "RIVAL")
        lines.append(f"{number}: {reply}")
    return "\n".join(lines)


def compact_verdicts(prompt: str, label: Callable[[str, str], str]) -> str:
    """Return the verdicts on the claims of a labelling prompt, in the compact form.

    ``label`` returns the label of a claim and a document.
    """
    match = _DOCUMENT.search(prompt)
    document = match["text"] if match else ""
    claims: dict[str, str] = json.loads(prompt.rpartition("\n\n")[2])
    labels = {number: label(claim, document).lower() for number, claim in claims.items()}
    words, silent = document.splitlines()[-1][:60], "irrelevant"
    sides = [(number, words, each, "it says so") for number, each in labels.items()]
    return json.dumps(
        {
            "verdicts": [side for side in sides if side[2] != silent],
            silent: [number for number, each in labels.items() if each == silent],
        },
        ensure_ascii=False,
    )


def oracle_with_own_kinds(folder: Path) -> Any:
    """Load the cases' scripted model, and add replies to the template that it does not know."""
    spec = importlib.util.spec_from_file_location("oracle", folder.parent / "oracle.py")
    if spec is None or spec.loader is None:
        raise click.ClickException(f"{folder.parent}: there is no oracle.py in this folder")
    module: Any = importlib.util.module_from_spec(spec)
    sys.modules["oracle"] = module
    spec.loader.exec_module(module)
    own_kind, told = module.kind_of, module.Oracle.reply

    def kind_of(prompt: str) -> str:
        kinds = (kind for words, kind in _OWN.items() if words in prompt)
        kind: str = next(kinds, None) or own_kind(prompt)
        if kind == "other":
            click.echo(f"not recognised: {' '.join(prompt.split()[:12])}")
        return kind

    def reply(self: Any, body: dict[str, Any]) -> tuple[str, Any]:
        kind, text = told(self, body)
        prompt = str(body["messages"][-1]["content"])
        if kind == "relation":
            text = relation_reply(prompt, self.s.get("relation", []))
        elif kind == "label" and "Compact JSON" in prompt:
            text = compact_verdicts(prompt, self.label)
        return kind, text

    module.kind_of, module.Oracle.reply = kind_of, reply
    return module


@click.command(help=__doc__)
@click.argument("folders", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--port", default=8852, show_default=True)
@click.option("--verbose", "-v", is_flag=True)
@click.option("--here", is_flag=True, hidden=True)
def main(folders: tuple[Path, ...], port: int, verbose: bool, here: bool) -> None:
    """See the module."""
    if not here:
        for folder in folders:
            command = [sys.executable, "-m", "measurements.answer_forms", str(folder), "--here"]
            command += ["--port", str(port), *(["-v"] if verbose else [])]
            subprocess.run(command, check=False)  # noqa: S603 - our own module
        return
    [folder] = folders
    oracle_with_own_kinds(folder.resolve())
    form = (folder.resolve().parent / "run_form.py").read_text("utf-8")
    sys.argv = ["run_form.py", str(folder), str(port), *(["-v"] if verbose else [])]
    scope = {"__name__": "__main__", "__file__": str(folder.resolve().parent / "run_form.py")}
    exec(compile(form, "run_form.py", "exec"), scope)  # noqa: S102 - the cases' own runner


if __name__ == "__main__":
    main()
