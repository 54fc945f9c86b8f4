"""Peers on the simulated endpoint: what it replies to them, and what is said without one."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from measurements.peer_replies import ragas_reply, ragchecker_reply
from measurements.peers import main

TINY = ["--peer", "ragas", "--questions", "2", "--rounds", "1", "--delay", "0", "--claims", "2"]


def supported(claim: str, document: str) -> str:
    return "SUPPORTS" if claim in document else "CONTRADICTS"


def test_an_answer_is_taken_apart_and_its_statements_are_judged() -> None:
    apart = 'Some rules.\ninput: {"question": "When?", "answer": "One.\\nTwo."}\nOutput: '
    assert json.loads(ragas_reply(apart, supported) or "") == {"statements": ["One.", "Two."]}

    given = json.dumps({"context": "One. Three.", "statements": ["One.", "Two."]}, indent=4)
    judged = json.loads(ragas_reply(f"input: old\ninput: {given}\nOutput: ", supported) or "")
    assert [said["verdict"] for said in judged["statements"]] == [1, 0]

    again = json.dumps({"output_string": "{", "prompt_value": apart})
    mended = json.loads(ragas_reply(f"input: {again}\nOutput: ", supported) or "")
    assert json.loads(mended["text"]) == {"statements": ["One.", "Two."]}


def test_ragchecker_is_told_claims_as_triplets_and_a_label_for_each() -> None:
    apart = "### Candidate Answer:\nAn example.\n\n### KG:\n(...)\n### Candidate Answer:\n"
    triplets = ragchecker_reply(f"{apart}One.\nTwo.\n\n### KG:\n", supported)
    assert triplets == '("One.", "is", "said")\n("Two.", "is", "said")'

    asked = f"Rules.\n### Reference:\nOne. Three.\n### Claims:\n{triplets}\nYour answer should"
    assert ragchecker_reply(asked, supported) == "Entailment\nContradiction"


@pytest.mark.parametrize("prompt", ["Judge a claim.", 'input: {"question": "When?"}', "input: [1]"])
def test_other_prompts_are_not_taken_for_a_peers(prompt: str) -> None:
    assert ragas_reply(prompt, supported) is None
    assert ragchecker_reply(prompt, supported) is None


@pytest.mark.parametrize("peer", ["ragas", "ragchecker"])
def test_a_peer_that_is_not_installed_is_named_with_how_to_install_it(peer: str) -> None:
    if importlib.util.find_spec(peer) is not None:
        pytest.skip(f"{peer} is installed")
    refused = CliRunner().invoke(main, [*TINY, "--peer", peer])
    assert refused.exit_code == 1
    assert f"{peer} cannot be imported in {sys.executable}" in refused.stderr
    assert f"pip install {peer}" in refused.stderr


def test_a_python_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    refused = CliRunner().invoke(main, [*TINY, "--python", str(tmp_path / "python")])
    assert refused.exit_code == 1
    assert refused.stderr == f"Error: --python {tmp_path / 'python'}: No such file or directory\n"
