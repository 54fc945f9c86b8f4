"""The table of what peers offer: what is tried, and what the server replies."""

import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from measurements import peers_offer
from measurements.peers_offer import main, schema_instance

GIVEN = tomllib.loads(Path(peers_offer.__file__).with_suffix(".toml").read_text("utf-8"))


@pytest.mark.parametrize("name", GIVEN["peers"])
def test_every_row_is_tried_with_every_peer_or_says_where_it_was_read(name: str) -> None:
    peer = GIVEN["peers"][name]

    assert peer["tries"].keys() == GIVEN["rows"].keys()
    for row, given in peer["tries"].items():
        if isinstance(given, dict):
            assert given.keys() == {"says", "read"}
        else:
            compile(GIVEN["prelude"] + peer["start"] + given, f"{name}.{row}", "exec")


def test_a_schema_gets_the_smallest_value_that_fits() -> None:
    verdict = {
        "type": "object",
        "properties": {"word": {"enum": ["no"]}, "sure": {"type": "number"}},
    }
    schema = {
        "type": "object",
        "properties": {
            "verdicts": {"type": "array", "items": {"$ref": "#/$defs/Verdict"}},
            "why": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
    }

    made = schema_instance(schema, {"Verdict": verdict})

    assert made == {"verdicts": [{"word": "no", "sure": 1}], "why": "yes"}


def test_a_peer_that_is_not_known_is_refused_before_anything_is_installed(tmp_path: Path) -> None:
    refused = CliRunner().invoke(main, ["--work", str(tmp_path), "--peer", "nobody"])

    assert refused.exit_code == 2
    assert "'nobody' is none of conflictscore, ragas" in refused.stderr
    assert list(tmp_path.iterdir()) == []
