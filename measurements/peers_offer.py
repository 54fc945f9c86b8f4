"""What peers offer around their metric, each row of the table tried by a command.

Each library is installed into an environment of its own under ``--work`` (and stays there for the
next time), without pip's cache, and its size, time and import time are taken before anything else
is installed beside it. The tries are the snippets of ``peers_offer.toml``: each runs in that
environment, in an empty folder, against an OpenAI-compatible server on loopback whose replies
are made up, with a dummy key. What the last line of its output says is
the cell; where it fails, the cell is "no" with the last line of the error. A few rows cannot be
tried by a program and are read in the peer's documentation: they say so, with the page.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from measurements.simulated_upstream import reply_to
from tests.fakes.openai_server import ChatRequest, OpenAIServer

__all__ = ["main", "schema_instance"]

_ROOT = Path(__file__).parents[1]
_SECONDS = 300
_FINDING = re.compile(r"\x1b\[[0-9;]*m|\s+")
_ERROR = re.compile(r"[\w.]*(Error|Exception)\b")
_QUIET = {
    "OPENAI_API_KEY": "none",
    "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
    "RAGAS_DO_NOT_TRACK": "true",
    "PYTHONWARNINGS": "ignore",
    "TRULENS_OTEL_TRACING": "1",
    "TERM": "dumb",
}


@click.command(help=__doc__)
@click.option("--work", type=click.Path(path_type=Path), required=True, help="For environments.")
@click.option("--peer", "peers", multiple=True, help="Only this one; may be given again.")
@click.option("--row", "rows", multiple=True, help="Only this one; may be given again.")
def main(work: Path, peers: tuple[str, ...], rows: tuple[str, ...]) -> None:
    """See the module."""
    given = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    known: Mapping[str, Any] = given["peers"]
    for names, of in ((peers, known), (rows, given["rows"])):
        if unknown := [name for name in names if name not in of]:
            raise click.UsageError(f"{unknown[0]!r} is none of {', '.join(of)}")
    table: dict[str, dict[str, str]] = {}
    with OpenAIServer(_reply) as server:
        for name in peers or known:
            click.echo(f"{name} ...", err=True)
            cells = table[name] = _installed(work.absolute() / name, known[name])
            for row in rows or given["rows"]:
                if row in known[name]["tries"]:
                    start = given["prelude"] + known[name].get("start", "")
                    cells[row] = _tried(
                        work.absolute() / name, start, known[name]["tries"][row], server
                    )
                    click.echo(f"  {row}: {cells[row]}", err=True)
    titles = {"install": "installed", "import": "imported in", **given["rows"]}
    click.echo("| |" + "|".join(f" {known[name]['title']} " for name in table) + "|")
    click.echo("|---" * (len(table) + 1) + "|")
    for row, title in titles.items():
        if rows and row not in rows:
            continue
        cells_of = (found.get(row, "").replace("|", "\\|") for found in table.values())
        click.echo(f"| {title} |" + "|".join(f" {cell} " for cell in cells_of) + "|")


def _installed(folder: Path, peer: Mapping[str, Any]) -> dict[str, str]:
    """Version, time, size and import time; measured once, and kept beside the environment."""
    kept = folder.with_suffix(".json")
    if not kept.exists():
        venv.create(folder, with_pip=True, clear=True)
        before, begun = _size(folder), time.perf_counter()
        _pip(folder, peer["pip"])
        seconds, size = time.perf_counter() - begun, _size(folder) - before
        packages = json.loads(_python(folder, "-m", "pip", "list", "--format=json").stdout)
        version = next(p["version"] for p in packages if p["name"] == peer["name"])
        said = f"{version}: {seconds:.0f} s, {size / 1e6:.0f} MB, {len(packages)} packages"
        taken = _import_seconds(folder, peer["import"])
        kept.write_text(json.dumps({"install": said, "import": taken}))
        if peer.get("beside"):
            _pip(folder, peer["beside"])
    found: dict[str, str] = json.loads(kept.read_text())
    return found


def _pip(folder: Path, wanted: list[str]) -> None:
    at = [str(_ROOT) + one[1:] if one.startswith(".") else one for one in wanted]
    quiet = ("-m", "pip", "install", "--quiet", "--no-cache-dir", "--disable-pip-version-check")
    ended = _python(folder, *quiet, *at)
    if ended.returncode:
        raise click.ClickException(f"pip install {' '.join(wanted)}: {_last(ended.stderr)}")


def _import_seconds(folder: Path, module: str) -> str:
    """The median of three, the first of which is left out, for it may compile."""
    seconds = []
    for _ in range(4):
        begun = time.perf_counter()
        ended = _python(folder, "-c", f"import {module}")
        seconds.append(time.perf_counter() - begun)
        if ended.returncode:
            return f"no: {_last(ended.stderr)}"
    return f"{sorted(seconds[1:])[1]:.1f} s"


def _tried(folder: Path, start: str, given: str | Mapping[str, str], server: OpenAIServer) -> str:
    if not isinstance(given, str) and "run" not in given:
        return f"{given['says']} (read: {given['read']})"
    code = given if isinstance(given, str) else given["run"]
    with tempfile.TemporaryDirectory() as place:
        env = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_BASE": server.base_url}
        ended = _python(folder, "-c", f"{start}\n{code}", cwd=place, **env)
    if ended.returncode:
        return f"no: {_last(ended.stderr)}"
    return _last(ended.stdout)


def _python(
    folder: Path, *arguments: str, cwd: str = "/", **env: str
) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name in {"LANG", "PIP_INDEX_URL"}}
    kept |= {"PATH": f"{folder / 'bin'}:/usr/bin:/bin", "HOME": cwd if cwd != "/" else str(folder)}
    try:
        return subprocess.run(  # noqa: S603 - the environment that was made for it
            [str(folder / "bin" / "python"), *arguments],
            capture_output=True,
            text=True,
            cwd=cwd,
            env=kept | _QUIET | env,
            timeout=_SECONDS if "pip" not in arguments else None,
        )
    except subprocess.TimeoutExpired:
        said = f"nothing after {_SECONDS} s"
        return subprocess.CompletedProcess(arguments, 124, "", said)


def _last(said: str) -> str:
    """The last line, or the last one that names an error."""
    lines = [line for line in said.strip().splitlines() if line.strip()]
    lines = [line for line in lines if _ERROR.match(line)] or lines
    return _FINDING.sub(" ", lines[-1]).strip()[:160] if lines else "it says nothing"


def _size(folder: Path) -> int:
    return sum(file.lstat().st_size for file in folder.rglob("*") if not file.is_dir())


def _reply(request: ChatRequest) -> str:
    wanted = request.body.get("response_format") or {}
    known = '"document_snippet"' in request.prompt  # our own, whose labels tell the two texts apart
    if not known and (schema := wanted.get("json_schema", {}).get("schema")):
        return json.dumps(schema_instance(schema, schema.get("$defs", {})))
    if "WAY: one of" in str(request.messages):
        reason = "REASON: The log says so (Docs 2, 3)"
        return f"WAY: REPLACE\n{reason}\nPASSAGE:\nThe lamp was first lit in 1874."
    if "JSON" in request.prompt and isinstance(request.messages[-1]["content"], list):
        return json.dumps({"steps": ["Compare them."], "score": 10, "reason": "They agree."})
    if "GRADE:" in request.prompt:
        return "GRADE: C"
    if "yes or no" in str(request.messages):
        return "no"
    return reply_to(request.body)


def schema_instance(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Any:
    """The smallest value that fits a JSON schema: "yes", 1, and lists of one."""
    if "$ref" in schema:
        return schema_instance(definitions[schema["$ref"].rsplit("/", 1)[1]], definitions)
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            return schema_instance(schema[choice][0], definitions)
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            of = schema.get("properties", {})
            return {name: schema_instance(one, definitions) for name, one in of.items()}
        case "array":
            return [schema_instance(schema.get("items", {}), definitions)]
        case "integer" | "number":
            return 1
        case "boolean":
            return True
    return "yes"


if __name__ == "__main__":
    sys.exit(main())
