"""What the deployment files name exists: extras, options, services and the key's form."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
import yaml

from conflictscore.cli import main
from conflictscore.middleware import ServiceSettings
from conflictscore.middleware.service.upstream import OWN_NAME
from conflictscore.storage import STORE

ROOT = Path(__file__).parents[1]


def test_the_image_installs_extras_that_there_are_and_starts_a_command_that_parses() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    [extras] = re.findall(r"'\.\[([\w,-]+)\]'", dockerfile)
    [command] = re.findall(r"^CMD (\[.*\])$", dockerfile, re.MULTILINE)
    name, *options = json.loads(command)

    context = main.commands[name].make_context(name, options)

    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    assert {"mcp", "postgres", "serve"} <= set(extras.split(",")), "whatever serves is there"
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
    assert int(service["stop_grace_period"].rstrip("s")) > 30  # seconds, the default of Server


def test_the_replicas_are_the_same_service_behind_the_proxy_with_its_store() -> None:
    one, several = (
        yaml.safe_load((ROOT / "deploy" / name).read_text())["services"]
        for name in ("compose.yaml", "compose.replicas.yaml")
    )
    service, same = several["conflictscore"], one["conflictscore"]
    added = {"deploy", "depends_on", "environment"}

    assert {name: value for name, value in service.items() if name not in added} == {
        name: value for name, value in same.items() if name not in {"ports", "environment"}
    }
    assert service["deploy"]["replicas"] == 2
    store = urlsplit(service["environment"].pop(STORE))
    assert (store.scheme, store.path) == ("postgresql", "/conflictscore")
    assert store.hostname in several
    assert service["environment"] == same["environment"]
    proxy, config = several["proxy"], (ROOT / "deploy" / "nginx.conf").read_text()
    assert "./nginx.conf:" in proxy["volumes"][0]
    [listens] = re.findall(r"listen (\d+);", config)
    assert proxy["ports"] == [f"127.0.0.1:8400:{listens}"]
    assert re.findall(r"set \$services (.+);", config) == ["conflictscore:8400"]
    assert "client_max_body_size 1m;" in config
    assert ServiceSettings().max_body == 1 << 20
    [waits] = re.findall(r"proxy_read_timeout (\d+)s;", config)
    assert int(waits) > ServiceSettings().timeout


def test_litellm_is_in_front_of_the_service_with_its_key_and_its_time() -> None:
    ours, front = (
        yaml.safe_load((ROOT / "deploy" / name).read_text())["services"]
        for name in ("compose.yaml", "compose.litellm.yaml")
    )
    config = yaml.safe_load((ROOT / "deploy" / "litellm.yaml").read_text())
    litellm, models = front["litellm"], {m["model_name"]: m for m in config["model_list"]}
    service = models["checked"]["litellm_params"]
    named = re.findall(r"os\.environ/(\w+)", (ROOT / "deploy" / "litellm.yaml").read_text())

    assert set(litellm["depends_on"]) <= {*ours, *front}
    assert service["api_base"] == "http://conflictscore:8400/v1"
    assert service["model"].removeprefix("openai/") == OWN_NAME
    assert service["timeout"] > ServiceSettings().timeout
    assert set(named) <= set(litellm["environment"])
    [fallback] = config["litellm_settings"]["fallbacks"]
    assert {*fallback, *fallback["checked"]} <= set(models)
    assert "./litellm.yaml:" in litellm["volumes"][0]
    assert (
        front["litellm-store"]["environment"]["POSTGRES_USER"]
        in urlsplit(litellm["environment"]["DATABASE_URL"]).netloc
    )


def test_the_key_that_the_comments_show_is_one_that_the_service_takes() -> None:
    shown = {
        key
        for path in (ROOT / "deploy").glob("*.yaml")
        for key in re.findall(r"CONFLICTSCORE_SERVE_KEYS=(\S+)", path.read_text())
    }

    assert all(len(key) >= 16 for key in shown)
    assert shown
