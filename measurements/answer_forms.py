"""Runs small cases with answers in different formats, using a scripted model on this machine.

The arguments are case folders. Next to these folders is ``oracle.py``, a scripted model that
recognises a prompt by its first words. This model does not know the template ``relation``, so this
script replies to it. The reply calls each statement a rival, unless the case's script contains
``"relation": [[part of the statement, reply], …]``. Each case runs in its own process. For each
case, the claims are printed, how far the answer was checked, and what was changed.
"""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click

_OWN = (("relation", "A claim of an answer seems to be disputed"),)
_STATEMENT = re.compile(r"^(\d+)\. \"(.*?)\" \(Document ", re.MULTILINE)


def relation_reply(prompt: str, known: list[list[str]]) -> str:
    """Return a line for each statement: the reply that the case specifies, or RIVAL."""
    lines = []
    for number, statement in _STATEMENT.findall(prompt):
        reply = next((reply for part, reply in known if part in statement), "RIVAL")
        lines.append(f"{number}: {reply}")
    return "\n".join(lines)


def oracle_with_own_kinds(folder: Path) -> Any:
    """Load the cases' scripted model, and add replies to the template that it does not know."""
    spec = importlib.util.spec_from_file_location("oracle", folder.parent / "oracle.py")
    if spec is None or spec.loader is None:
        raise click.ClickException(f"{folder.parent}: there is no oracle.py beside the case")
    module: Any = importlib.util.module_from_spec(spec)
    sys.modules["oracle"] = module
    spec.loader.exec_module(module)
    module.KINDS += list(_OWN)
    told = module.Oracle.reply

    def reply(self: Any, body: dict[str, Any]) -> tuple[str, Any]:
        kind, text = told(self, body)
        if kind == "relation":
            text = relation_reply(str(body["messages"][-1]["content"]), self.s.get("relation", []))
        return kind, text

    module.Oracle.reply = reply
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
