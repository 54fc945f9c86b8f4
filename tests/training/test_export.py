"""A trained model becomes a folder that the NLI labeler reads."""

import asyncio
from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner

from conflictscore.labelers.nli.labeler import NliLabeler
from conflictscore.labelers.nli.model import NliModel
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, Label
from tests.training.toy import toy_tokenizer, toy_weights
from training import carry
from training.build_natural import is_kept_out
from training.cases import read_cases
from training.export import export
from training.groups import (
    LEARNED_HANDS,
    natural_kept_out,
    natural_not_learned,
    validation_groups,
    write_groups,
)
from training.human import read_labelled
from training.pairs import Pair
from training.weights import load


def exported(folder: Path) -> Path:
    tokenizer = toy_tokenizer(folder)
    export(toy_weights(), folder / "model", tokenizer=tokenizer, pair_tokens=96)
    return folder / "model"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return exported(tmp_path_factory.mktemp("model"))


def test_the_labeler_reads_the_folder_at_the_length_it_was_trained_for(folder: Path) -> None:
    labeler = NliLabeler.open(folder)
    assert labeler.identity["pair_tokens"] == 96
    assert NliModel(folder).most_tokens == 512, "all positions that the toy has"
    document = Document(number=1, text="the old lamp was lit")
    label = asyncio.run(labeler.label(Claim(number=1, text="lamp lit"), document, UsageMeter()))
    assert label.label is not Label.UNLABELLED
    assert label.snippet == "the old lamp was lit"


def test_an_exported_model_can_be_trained_further(tmp_path: Path) -> None:
    before = toy_weights()
    options = ["unpack", "--model", str(exported(tmp_path)), "--out", str(tmp_path / "start")]
    said = CliRunner().invoke(carry.main, options)
    assert said.exit_code == 0, said.output
    assert (tmp_path / "start" / "tokenizer.json").is_file()
    found = load(tmp_path / "start" / "start.npz")
    assert set(found) == set(before)
    for name, value in before.items():
        assert np.allclose(found[name], value, atol=0.02 * max(1, np.abs(value).max())), name


def test_a_model_that_training_did_not_write_cannot_be_unpacked(tmp_path: Path) -> None:
    file = exported(tmp_path) / "model.onnx"
    model = onnx.load(file)
    del model.graph.initializer[:]
    onnx.save(model, file)
    options = ["unpack", "--model", str(file.parent), "--out", str(tmp_path)]
    said = CliRunner().invoke(carry.main, options)
    assert said.exit_code == 2
    assert "is neither a model that training.export wrote" in said.output


def test_padding_changes_nothing() -> None:
    import onnxruntime

    from training.export import onnx_graph

    model = onnx_graph(toy_weights())
    session = onnxruntime.InferenceSession(model.SerializeToString())

    def run(padding: int) -> "np.typing.NDArray[np.float32]":
        ids = np.array([[101, 115, 116, 102, 117, 102] + [0] * padding])
        mask = np.array([[1] * 6 + [0] * padding])
        sides = np.array([[0, 0, 0, 0, 1, 1] + [0] * padding])
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": sides}
        found: np.typing.NDArray[np.float32] = session.run(None, feed)[0]
        return found

    assert np.allclose(run(0), run(7), atol=1e-5)


_LAMPS = [
    Pair("A lamp.", "It is lit.", "SUPPORTS", "lamps", "people"),
    Pair("A lamp.", "It is dark.", "CONTRADICTS", "lamps", "people"),
    Pair("A bell.", "It rings.", "IRRELEVANT", "lamps", "people", "Title"),
]


def test_what_is_measured_on_is_written_as_groups_a_file_a_set(tmp_path: Path) -> None:
    assert [group.has_conflict for group in validation_groups(_LAMPS)] == [True, False]
    ship = Pair("A ship.", "It sank.", "SUPPORTS", "ships", "people")
    write_groups(validation_groups([*_LAMPS, ship]), tmp_path / "groups")
    assert sorted(path.name for path in (tmp_path / "groups").iterdir()) == [
        "lamps_groups.jsonl",
        "ships_groups.jsonl",
    ]
    read = read_labelled(tmp_path / "groups" / "lamps_groups.jsonl")
    assert [
        (one.pair.claim, one.pair.document, one.pair.label, one.pair.title) for one in read
    ] == [(pair.claim, pair.document, pair.label, pair.title) for pair in _LAMPS]


def test_natural_cases_are_measured_on_only_if_no_model_learns_from_them() -> None:
    learned_from = {case.claim for case in read_cases() if not is_kept_out(case)}
    kept_out = natural_kept_out()
    assert kept_out
    assert not learned_from & {pair.claim for pair in kept_out}
    assert not learned_from & {group.claim for group in validation_groups(kept_out)}


def test_a_natural_document_is_measured_with_its_date() -> None:
    dated = {doc.date for case in read_cases() if is_kept_out(case) for doc in case.documents}
    starts = {pair.document.split(". ")[0] for pair in natural_kept_out()}
    assert dated - {None} <= starts


def test_cases_by_hands_that_no_shipped_model_has_learned_from_are_measured_whole() -> None:
    cases = [case for case in read_cases() if case.id[0] not in LEARNED_HANDS]
    pairs = natural_not_learned()
    assert {pair.source for pair in pairs} == {f"natural_{case.id[0]}" for case in cases}
    assert {case.claim for case in cases} <= {pair.claim for pair in pairs}
