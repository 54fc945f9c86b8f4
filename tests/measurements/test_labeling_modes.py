"""Labelers side by side: one sample, one table, one chart; and nothing is asked for twice."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from measurements.accuracy_chart import Point, accuracy_chart
from measurements.labeling_modes import main
from tests.fakes.openai_server import OpenAIServer
from tests.nli_model import make_nli_model
from tests.world import World


@pytest.fixture
def data(tmp_path: Path) -> Path:
    labels = {"1871": "SUPPORTS", "1874": "CONTRADICTS"}

    def group(name: str, *years: str) -> dict[str, Any]:
        docs = [{"text": f"The lamp of {name}. Lit in {y}.", "label": labels[y]} for y in years]
        claim = f"The lamp of {name} was lit in 1871."
        both = len(set(years)) == 2
        return {"id": name, "claim": claim, "docs": docs, "has_conflict": both}

    rows = [group("Ayr", "1871", "1874"), group("Bute", "1871", "1871")]
    rows += [group("Coll", "1874", "1871"), group("Danna", "1874")]
    file = tmp_path / "lamps_groups.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-user")
    return tmp_path / "modes.json"


def compare(data: Path, out: Path, *more: str | Path) -> Result:
    command = ["--data", data, "--out", out, "--groups", "4", *more]
    return CliRunner().invoke(main, [*map(str, command)])


def test_each_labeler_is_held_against_people_and_the_constant_answers(
    data: Path, out: Path, tmp_path: Path
) -> None:
    world, folder = World(), make_nli_model(tmp_path / "small-nli")
    with OpenAIServer(world) as server:
        model = ["--model", "scripted", "--base-url", server.base_url, "--nli-model", str(folder)]
        names = [part for name in ("cascade", "per-claim", "json") for part in ("--labeler", name)]
        first = compare(data, out, *model, *names)
        calls = len(server.requests)
        again = compare(data, out, *model, *names)
        assert len(server.requests) == calls

    assert first.exit_code == 0, first.output
    assert again.stdout == first.stdout
    table, _, legend = first.stdout.partition("\n\n")
    header, *rows = (line.split() for line in table.splitlines())
    assert "(always)" in legend
    assert [row[0] for row in rows] == ["json", "cascade", "per-claim"]
    assert dict(zip(header[1:4], rows[0][1:4], strict=True)) == {
        "claims": "4",
        "open": "0",
        "label": "100.0",
    }
    found = json.loads(out.read_text())["labelers"]
    assert found["json"]["constant_answer"] == 0.5
    assert found["json"]["constant_label"] == pytest.approx(4 / 7)
    made = {name: found[name]["overall"]["usage"]["calls"] for name in found}
    assert made == {"json": 6, "cascade": world.asked["label"] - 6, "per-claim": 4}
    chart = ElementTree.fromstring(out.with_suffix(".svg").read_text())
    said = {element.text for element in chart.iter()}
    assert {"json", "cascade", "per-claim", "always the same"} <= said


def test_a_labeler_without_its_model_is_one_clear_line(data: Path, out: Path) -> None:
    refused = compare(data, out, "--labeler", "json")
    assert refused.exit_code == 1
    assert refused.stderr.strip() == "Error: --labeler json needs --model SPEC"
    assert not out.exists()


def test_a_chart_keeps_names_as_text_and_puts_more_accuracy_higher() -> None:
    points = [Point("<b>", 0, 0.5), Point("high", 10, 0.9, 0.8, 1.0)]
    chart = accuracy_chart(points, title="A & B", costs="tokens", constant=0.6)
    heights = [float(part.split('"')[0]) for part in chart.split('cy="')[1:]]
    assert heights[1] < heights[0]
    assert "<b>" not in chart
    assert "A &amp; B" in chart
    with pytest.raises(ValueError, match="finite"):
        accuracy_chart([], title="", costs="")


def test_names_of_points_that_are_in_one_place_stand_below_each_other() -> None:
    points = [Point("matrix", 5, 0.5), Point("per-claim", 5, 0.5), Point("json", 90, 0.5)]
    chart = accuracy_chart(points, title="", costs="")
    heights = {
        element.text: float(element.attrib["y"])
        for element in ElementTree.fromstring(chart).iter()
        if element.text in {"matrix", "per-claim", "json"}
    }
    assert heights["per-claim"] - heights["matrix"] >= 15
    assert heights["json"] == heights["matrix"]
