"""Everything that the deployment files name exists: extras, options, services, key format."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

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
    assert (context.params["host"], context.params["port"]) == ("0.0.0.0", 8400)


def test_what_the_image_is_made_of_is_not_left_out_of_its_context() -> None:
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text().split() if line[0] == "!"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())

    packaged = project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    assert {*packaged, project["project"]["readme"], "pyproject.toml"} <= set(kept)
    assert all((ROOT / name).exists() for name in kept)


def loaded(name: str) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / name).read_text())
    return read


def test_what_stands_in_front_waits_longer_than_the_service_and_finds_it() -> None:
    ours, several, webui, litellm = (
        loaded(f"compose{name}.yaml")["services"]
        for name in ("", ".replicas", ".open-webui", ".litellm")
    )
    nginx = (ROOT / "deploy" / "nginx.conf").read_text()
    service = several["conflictscore"]

    assert int(ours["conflictscore"]["stop_grace_period"].rstrip("s")) > 30  # Server's seconds
    front = webui["open-webui"]["environment"]
    assert front["OPENAI_API_BASE_URL"] == "http://conflictscore:8400/v1"
    assert {
        name
        for one in (webui, litellm)
        for each in one.values()
        for name in each.get("depends_on", ())
    } <= {*ours, *litellm}
    store = urlsplit(service["environment"][STORE])
    assert (store.scheme, store.path, store.hostname in several) == (
        *("postgresql", "/conflictscore"),
        True,
    )
    [listens] = re.findall(r"listen (\d+);", nginx)
    assert several["proxy"]["ports"] == [f"127.0.0.1:8400:{listens}"]
    assert re.findall(r"set \$services (.+);", nginx) == ["conflictscore:8400"]
    assert ("client_max_body_size 1m;" in nginx, ServiceSettings().max_body) == (True, 1 << 20)
    [waits] = re.findall(r"proxy_read_timeout (\d+)s;", nginx)
    assert int(waits) > ServiceSettings().timeout


def test_litellm_asks_the_service_by_its_name_and_waits_for_it() -> None:
    config, front = loaded("litellm.yaml"), loaded("compose.litellm.yaml")["services"]["litellm"]
    models = {model["model_name"]: model for model in config["model_list"]}
    service = models["checked"]["litellm_params"]
    named = re.findall(r"os\.environ/(\w+)", (ROOT / "deploy" / "litellm.yaml").read_text())

    assert service["api_base"] == "http://conflictscore:8400/v1"
    assert service["model"].removeprefix("openai/") == OWN_NAME
    assert service["timeout"] > ServiceSettings().timeout
    assert set(named) <= set(front["environment"])


def test_nothing_answers_for_the_checked_model_but_the_service() -> None:
    config = loaded("litellm.yaml")
    settings = {**config["litellm_settings"], **config.get("router_settings", {})}
    served = [m["litellm_params"] for m in config["model_list"] if m["model_name"] == "checked"]

    assert [model["api_base"] for model in served] == ["http://conflictscore:8400/v1"]
    for way in ("fallbacks", "default_fallbacks", "context_window_fallbacks"):
        assert not settings.get(way)


def test_the_key_that_the_comments_show_is_one_that_the_service_takes() -> None:
    told = "".join(path.read_text() for path in (ROOT / "deploy").glob("*.yaml"))
    shown = re.findall(r"CONFLICTSCORE_SERVE_KEYS=(\S+)", told)
    assert shown
    assert all(len(key) >= 16 for key in shown)
