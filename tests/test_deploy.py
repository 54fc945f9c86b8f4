"""What the deployment files name exists: extras, options, services and the key's form."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import click
import yaml

from conflictscore.cli import main
from conflictscore.middleware import ServiceSettings

ROOT = Path(__file__).parents[1]


def test_the_image_installs_extras_that_there_are_and_starts_a_command_that_parses() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    [extras] = re.findall(r"'\.\[([\w,-]+)\]'", dockerfile)
    [command] = re.findall(r"^CMD (\[.*\])$", dockerfile, re.MULTILINE)
    name, *options = json.loads(command)

    context = main.commands[name].make_context(name, options)

    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    assert isinstance(context, click.Context)
    assert (context.params["host"], context.params["port"]) == ("0.0.0.0", 8400)


def test_what_the_image_is_made_of_is_not_left_out_of_its_context() -> None:
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text().split() if line[0] == "!"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())

    packaged = project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    assert {*packaged, project["project"]["readme"], "pyproject.toml"} <= set(kept)
    assert all((ROOT / name).exists() for name in kept)


def test_the_compose_files_fit_the_service_and_each_other() -> None:
    ours, webui = (
        yaml.safe_load((ROOT / "deploy" / name).read_text())["services"]
        for name in ("compose.yaml", "compose.open-webui.yaml")
    )
    service: dict[str, Any] = ours["conflictscore"]
    front = webui["open-webui"]

    assert set(front["depends_on"]) <= set(ours)
    assert front["environment"]["OPENAI_API_BASE_URL"] == "http://conflictscore:8400/v1"
    assert set(service["environment"]) == {"CONFLICTSCORE_SERVE_KEYS"}
    assert int(service["stop_grace_period"].rstrip("s")) > ServiceSettings().grace


def test_the_key_that_the_comments_show_is_one_that_the_service_takes() -> None:
    shown = {
        key
        for path in (ROOT / "deploy").glob("*.yaml")
        for key in re.findall(r"CONFLICTSCORE_SERVE_KEYS=(\S+)", path.read_text())
    }

    assert all(len(key) >= 16 for key in shown)
    assert shown
