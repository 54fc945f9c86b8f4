"""A trained model becomes a folder that the NLI labeler reads."""

import asyncio
import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner

from conflictscore.benchmarks.conflict_detection.detect import Judged
from conflictscore.benchmarks.conflict_detection.measures import detection_figures
from conflictscore.benchmarks.labelled_pairs import read_pairs
from conflictscore.errors import ConfigurationError
from conflictscore.labelers.calibration import UNCALIBRATED, Calibration
from conflictscore.labelers.nli.labeler import NliLabeler
from conflictscore.labelers.nli.model import NliModel, resolve
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, EvidenceLabel, Label
from tests.training.toy import UNUSED_BUCKET, Family, pack_toy, toy_tokenizer, toy_weights
from training import carry
from training.evaluate import validation_groups, write_groups
from training.export import agreement, export, main
from training.model_card import Encoder, encoder_of, model_card
from training.packed import load_packed
from training.pairs import Pair
from training.plan import Pooling
from training.weights import load, pooling_of, save


@pytest.fixture(scope="module", params=["bert", "mpnet"])
def family(request: pytest.FixtureRequest) -> Family:
    chosen: Family = request.param
    return chosen


@pytest.fixture(scope="module")
def folder(family: Family, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("model")
    export(
        toy_weights(head=True, family=family),
        out / "toy",
        tokenizer=toy_tokenizer(out, family),
        pair_tokens=96,
        pooling="mean",
    )
    return out / "toy"


def test_the_labeler_reads_the_folder_at_the_length_it_was_trained_for(folder: Path) -> None:
    labeler = NliLabeler.open(folder)
    assert labeler.identity["pair_tokens"] == 96
    assert NliModel(folder).most_tokens == 512, "all positions that the toy has"
    document = Document(number=1, text="the old lamp was lit")
    label = asyncio.run(labeler.label(Claim(number=1, text="lamp lit"), document, UsageMeter()))
    assert label.label is not Label.UNLABELLED
    assert label.snippet == "the old lamp was lit"


def test_the_int8_model_mostly_gives_the_float_models_labels(
    family: Family, folder: Path, tmp_path: Path
) -> None:
    found = agreement(folder, load_packed(pack_toy(tmp_path, family)), 60)
    assert found.pairs == 60
    assert found.same >= 54
    assert 0 < found.most < 0.3


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_an_exported_model_can_be_trained_further(
    tmp_path: Path, pooling: Pooling, family: Family
) -> None:
    before = toy_weights(head=True, family=family)
    tokenizer = toy_tokenizer(tmp_path, family)
    export(before, tmp_path / "model", tokenizer=tokenizer, pair_tokens=96, pooling=pooling)
    options = ["unpack", "--model", str(tmp_path / "model"), "--out", str(tmp_path / "start")]
    said = CliRunner().invoke(carry.main, options)
    assert said.exit_code == 0, said.output
    assert (tmp_path / "start" / "tokenizer.json").is_file()
    assert pooling_of(tmp_path / "start" / "start.npz") == pooling
    found = load(tmp_path / "start" / "start.npz")
    assert set(found) == set(before)
    if "relative" in before:
        before["relative"][UNUSED_BUCKET] = 0
    for name, value in before.items():
        assert np.allclose(found[name], value, atol=0.02 * max(1, np.abs(value).max())), name


def test_a_model_that_training_did_not_write_cannot_be_unpacked(tmp_path: Path) -> None:
    tokenizer = toy_tokenizer(tmp_path)
    export(
        toy_weights(head=True),
        tmp_path / "model",
        tokenizer=tokenizer,
        pair_tokens=96,
        pooling="mean",
    )
    model = onnx.load(tmp_path / "model" / "model.onnx")
    del model.graph.initializer[:]
    onnx.save(model, tmp_path / "model" / "model.onnx")
    options = ["unpack", "--model", str(tmp_path / "model"), "--out", str(tmp_path)]
    said = CliRunner().invoke(carry.main, options)
    assert said.exit_code == 2
    assert "is no model that training.export or training.adapted wrote" in said.output


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_padding_changes_nothing(family: Family, pooling: Pooling) -> None:
    import onnxruntime

    from training.graph import onnx_graph

    model = onnx_graph(toy_weights(head=True, family=family), pooling=pooling)
    session = onnxruntime.InferenceSession(model.SerializeToString())

    def run(padding: int) -> "np.typing.NDArray[np.float32]":
        ids = np.array([[101, 115, 116, 102, 117, 102] + [0] * padding])
        mask = np.array([[1] * 6 + [0] * padding])
        sides = np.array([[0, 0, 0, 0, 1, 1] + [0] * padding])
        feed = {"input_ids": ids, "attention_mask": mask}
        if family == "bert":
            feed["token_type_ids"] = sides
        found: np.typing.NDArray[np.float32] = session.run(None, feed)[0]
        return found

    assert np.allclose(run(0), run(7), atol=1e-5)


def test_the_graph_reads_what_the_head_was_trained_on(tmp_path: Path) -> None:
    import onnx

    from training.graph import onnx_graph

    best = tmp_path / "best.npz"
    save(toy_weights(head=True), best, pooling="cls")
    pairs = pack_toy(tmp_path, made=0, human=0, measured=4)
    options = ["--weights", best, "--pairs", pairs, "--out", tmp_path / "model"]
    options += ["--tokenizer", tmp_path / "tokenizer.json"]
    found = CliRunner().invoke(main, [str(option) for option in options])
    assert found.exit_code == 0, found.output
    graph = onnx.load(tmp_path / "model" / "float" / "model.onnx")
    assert graph == onnx_graph(load(best), pooling="cls")
    assert graph != onnx_graph(load(best), pooling="mean")


def test_the_card_says_which_encoder_it_is(family: Family, folder: Path) -> None:
    said = encoder_of(json.loads((folder / "config.json").read_bytes()))
    bert = Encoder("A BERT of 1 layers", "first 1 layers of the encoder of all-MiniLM-L6-v2")
    mpnet = Encoder("An MPNet of 1 layers", "first 1 layers of the encoder of all-mpnet-base-v2")
    assert said == (bert if family == "bert" else mpnet)


def test_the_model_that_comes_along_has_all_layers_of_its_start() -> None:
    said = encoder_of(json.loads((resolve(None) / "config.json").read_bytes()))
    assert said == Encoder("A BERT of 6 layers", "encoder of all-MiniLM-L6-v2")


@pytest.mark.parametrize(
    ("config", "trouble"),
    [({"model_type": "deberta"}, "'deberta'"), ({"model_type": "mpnet"}, "num_hidden_layers")],
)
def test_no_card_is_written_of_an_encoder_that_is_not_known(
    config: dict[str, str], trouble: str
) -> None:
    with pytest.raises(ConfigurationError, match=trouble):
        encoder_of(config)


_LAMPS = [
    Pair("A lamp.", "It is lit.", "SUPPORTS", "lamps", "people"),
    Pair("A lamp.", "It is dark.", "CONTRADICTS", "lamps", "people"),
    Pair("A bell.", "It rings.", "IRRELEVANT", "lamps", "people", "Title"),
]


def test_a_model_is_calibrated_on_the_pairs_that_it_was_measured_on(tmp_path: Path) -> None:
    ship = Pair("A ship.", "It sank.", "SUPPORTS", "ships", "people")
    write_groups(validation_groups([*_LAMPS, ship]), tmp_path / "groups")
    assert sorted(path.name for path in (tmp_path / "groups").iterdir()) == [
        "lamps_groups.jsonl",
        "ships_groups.jsonl",
    ]
    read = read_pairs(tmp_path / "groups" / "lamps_groups.jsonl")
    assert [(one.claim, one.document, one.label.value, one.title) for one in read] == [
        (pair.claim, pair.document, pair.label, pair.title) for pair in _LAMPS
    ]


def test_the_card_says_what_was_measured() -> None:
    groups = validation_groups(_LAMPS)
    assert [group.has_conflict for group in groups] == [True, False]
    assert groups[1].documents[0].title == "Title"
    said = {"It is lit.": Label.SUPPORTS, "It is dark.": Label.SUPPORTS}
    judged = [
        Judged(
            group,
            tuple(
                EvidenceLabel(claim=1, document=n, label=said.get(document.text, Label.IRRELEVANT))
                for n, document in enumerate(group.documents, start=1)
            ),
        )
        for group in groups
    ]

    def filled(calibration: Calibration) -> str:
        return model_card(
            detection_figures("nli(toy)", judged, []),
            size=22_800_000,
            sha256="abc",
            encoder=Encoder("An MPNet of 6 layers", "encoder of something"),
            calibration=calibration,
        )

    card = filled(UNCALIBRATED)
    assert "22.8 MB" in card
    row = "| lamps | 3 | 0.667 | 0.556 | 0.667 | 0.000 | 1.000 | 2 | 1 | 0.000 (0.667, 1.000) |"
    assert f"{row} 0.500 (0.500) |" in card
    assert "An MPNet of 6 layers, int8" in card
    assert "The scores are not calibrated." in card
    assert "$" not in card
    fitted = filled(Calibration(temperature=2.5, fitted_on="3 pairs of lamps"))
    assert "in calibration.json, 2.5,\nfitted on 3 pairs of lamps:" in fitted
