"""What was learned of MPNet becomes a graph beside MPNet's own file, which is fetched."""

import asyncio
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from conflictscore.cli import main
from conflictscore.errors import ConfigurationError
from conflictscore.labelers.cascade import Thresholds, open_cascade
from conflictscore.labelers.nli import adapted as module
from conflictscore.labelers.nli.adapted import (
    BLOCK,
    DATA_FILE,
    NLI_MPNET,
    AdaptedModel,
    aligned,
    in_blocks,
)
from conflictscore.labelers.nli.labeler import NliLabeler
from conflictscore.labelers.nli.model import NliModel, resolve
from conflictscore.labelers.registry import make_labeler
from conflictscore.models import LOCAL_ENDPOINT, local
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, Label
from conflictscore.storage.fetching import weights_dir
from tests.fakes.openai_server import OpenAIServer
from tests.labelers.judging import PROMPTS
from tests.models.calling import calling
from tests.training.toy import UNUSED_BUCKET, toy_archive, toy_tokenizer, toy_weights
from tests.world import World
from training import carry
from training.adapted import narrowed, write_adapted
from training.export import export
from training.weights import Weights, load

RANK = 3
CLAIM = Claim(number=1, text="lamp lit")
DOCUMENT = Document(number=1, text="the old lamp was lit yes no red ship in the fog")


@pytest.fixture(scope="module")
def trained() -> Weights:
    """The toy with a head, and changed by products of narrow matrices, biases and norms too."""
    found, rng = toy_weights(head=True, family="mpnet"), np.random.default_rng(5)
    for name, value in found.items():
        if not name.startswith("layer."):
            continue
        if value.ndim == 1:
            found[name] = value + rng.normal(0, 0.1, value.shape).astype("f4")
        else:
            outputs, inputs = value.shape
            change = rng.normal(size=(outputs, RANK)) @ rng.normal(size=(RANK, inputs))
            found[name] = value + (0.05 * change).astype("f4")
    return found


@pytest.fixture
def adapted(trained: Weights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AdaptedModel:
    """The toy as a model of which the checkpoint is in the cache, as if it had been fetched."""
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path / "cache"))
    weights_dir().mkdir(parents=True)
    archive = toy_archive(weights_dir(), toy_weights(family="mpnet"))
    content = archive.read_bytes()
    write_adapted(trained, archive, tmp_path / "shipped", rank=RANK)
    packed = _end_of_data(tmp_path / "shipped")
    with_data = replace(
        NLI_MPNET,
        archive=replace(
            NLI_MPNET.archive,
            file_name=archive.name,
            size=len(content),
            sha256=sha256(content).hexdigest(),
        ),
        data_bytes=_data_bytes(archive),
        packed_bytes=packed,
        pair_tokens=96,
        shipped=tmp_path / "shipped",
    )
    monkeypatch.setattr(module, "NLI_MPNET", with_data)
    return with_data


def _data_bytes(archive: Path) -> int:
    return ZipFile(archive).getinfo(NLI_MPNET.data).file_size


def _end_of_data(shipped: Path) -> int:
    """Where the last tensor that the graph reads of the data ends, with what fills it up."""
    return max(aligned(offset + length) for _, offset, length in _outside(shipped))


def _outside(shipped: Path) -> list[tuple[str, int, int]]:
    graph = onnx.load(shipped / "model.onnx", load_external_data=False).graph
    entries = [
        {entry.key: entry.value for entry in tensor.external_data}
        for tensor in graph.initializer
        if tensor.data_location == onnx.TensorProto.EXTERNAL
    ]
    assert {entry["location"] for entry in entries} == {DATA_FILE}
    return [(entry["location"], int(entry["offset"]), int(entry["length"])) for entry in entries]


def test_before_it_is_fetched_the_error_says_how(adapted: AdaptedModel) -> None:
    with pytest.raises(ConfigurationError, match="conflictscore model fetch nli-mpnet"):
        resolve("nli-mpnet")


def test_it_says_what_the_whole_model_says(
    adapted: AdaptedModel, trained: Weights, tmp_path: Path
) -> None:
    archive = weights_dir() / adapted.archive.file_name
    content = archive.read_bytes()
    single = ["single", "--out", str(tmp_path / "single")]
    assert "model fetch nli-mpnet" in CliRunner().invoke(carry.main, single).output
    assert adapted.fetch() == resolve("nli-mpnet") == adapted.folder
    archive.write_bytes(content)
    assert CliRunner().invoke(carry.main, single).exit_code == 0
    tokenizer = toy_tokenizer(tmp_path, "mpnet")
    export(trained, tmp_path / "whole", tokenizer=tokenizer, pair_tokens=96)
    (tmp_path / "whole" / "float" / "model.onnx").replace(tmp_path / "whole" / "model.onnx")
    whole = NliModel(tmp_path / "whole")
    pairs = whole.tokenizer.pairs([DOCUMENT.text, "yes", "no fog " * 30], CLAIM.text)
    for folder, near in ((adapted.folder, 0.1), (tmp_path / "single", 0.03)):
        beside = NliModel(folder)
        assert beside.pair_tokens == whole.pair_tokens == 96
        for one, other in zip(beside.logits(pairs), whole.logits(pairs), strict=True):
            assert one == pytest.approx(other, abs=near)


def test_it_can_be_trained_further(adapted: AdaptedModel, trained: Weights, tmp_path: Path) -> None:
    options = ["unpack", "--model", "nli-mpnet", "--out", str(tmp_path / "start")]
    early = CliRunner().invoke(carry.main, options)
    assert early.exit_code == 2
    assert "model fetch nli-mpnet" in early.output
    adapted.fetch()
    said = CliRunner().invoke(carry.main, options)
    assert said.exit_code == 0, said.output
    assert (tmp_path / "start" / "tokenizer.json").is_file()
    found = load(tmp_path / "start" / "start.npz")
    assert set(found) == set(trained)
    expected = trained | {"relative": trained["relative"].copy()}
    expected["relative"][UNUSED_BUCKET] = 0
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, atol=0.02, err_msg=name)


def test_the_labeler_uses_it_by_its_name_and_the_archive_is_not_kept(adapted: AdaptedModel) -> None:
    adapted.fetch()
    assert not (weights_dir() / adapted.archive.file_name).exists()
    said = asyncio.run(NliLabeler.open("nli-mpnet").label(CLAIM, DOCUMENT, UsageMeter()))
    assert said.label is not Label.UNLABELLED
    assert adapted.fetch() == adapted.folder, "nothing is left to fetch"


def test_a_cascade_of_it_lets_its_verdicts_stand_from_scores_of_its_own(
    adapted: AdaptedModel,
) -> None:
    adapted.fetch()
    own = open_cascade("nli-mpnet").with_judge(NliLabeler.open())
    assert own.identity is not None
    assert own.identity["certain"] == Thresholds(0.6, 0.75, 0.85)._asdict()
    given = open_cascade("nli-mpnet", certain=0.9).with_judge(NliLabeler.open())
    assert given.identity is not None
    assert given.identity["certain"] == Thresholds.from_score(0.9)._asdict()


def test_a_new_version_lays_its_own_graph_beside_the_same_file(adapted: AdaptedModel) -> None:
    folder = adapted.fetch()
    before = (folder / DATA_FILE).stat().st_mtime_ns
    (adapted.shipped / "config.json").write_text('{"new": 1}', "utf-8")
    assert adapted.fetched() == folder
    assert (folder / "config.json").read_text("utf-8") == '{"new": 1}'
    assert (folder / DATA_FILE).stat().st_mtime_ns == before


def test_a_file_that_was_cut_off_counts_as_not_fetched(adapted: AdaptedModel) -> None:
    data = adapted.fetch() / DATA_FILE
    data.write_bytes(data.read_bytes()[:-1])
    assert adapted.fetched() is None


def test_the_command_fetches_it_and_the_list_says_where_it_is(adapted: AdaptedModel) -> None:
    listed = CliRunner().invoke(main, ["model", "list"]).stdout
    assert "not fetched; conflictscore model fetch nli-mpnet" in listed
    fetched = CliRunner().invoke(main, ["model", "fetch", "nli-mpnet"])
    assert fetched.exit_code == 0, fetched.output
    assert fetched.stdout.strip() == str(adapted.folder)
    assert fetched.stdout in CliRunner().invoke(main, ["model", "list"]).stdout


def test_without_a_name_the_command_fetches_all_that_local_models_need(
    adapted: AdaptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = b"GGUF"
    model = replace(local.DEFAULT, file_name="toy.gguf", size=4, sha256=sha256(content).hexdigest())
    (weights_dir() / model.file_name).write_bytes(content)
    monkeypatch.setattr(local, "DEFAULT", model)
    fetched = CliRunner().invoke(main, ["model", "fetch"])
    assert fetched.exit_code == 0, fetched.output
    paths = [weights_dir() / "toy.gguf", adapted.folder]
    assert fetched.stdout.splitlines() == [str(path) for path in paths]
    assert adapted.fetched()


def test_once_fetched_it_is_what_local_models_ask_first(adapted: AdaptedModel) -> None:
    with OpenAIServer(World()) as server:
        remote = calling(server)
        model = replace(remote, endpoint=LOCAL_ENDPOINT)
        before = make_labeler(None, model, PROMPTS).name
        adapted.fetch()
        after = make_labeler(None, model, PROMPTS)
        assert make_labeler(None, remote, PROMPTS).name == "json(test-model)"
    assert before == "cascade(nli(minilm), choice(test-model))"
    assert after.name == "cascade(nli(nli-mpnet+minilm), choice(test-model))"
    assert after.identity is not None
    assert after.identity["certain"] == Thresholds.from_score(0)._asdict()


def test_narrow_matrices_give_the_change_back_as_far_as_their_rank_goes() -> None:
    rng = np.random.default_rng(0)
    change = rng.normal(size=(30, 2)) @ rng.normal(size=(2, 20))
    found = narrowed(change, 2)
    assert (found.up.shape, found.down.shape) == ((30, 2), (2, 20))
    assert np.linalg.norm(found.product() - change) < 0.01 * np.linalg.norm(change)
    narrower = narrowed(change, 1)
    assert np.linalg.norm(narrower.product() - change) > 0.1 * np.linalg.norm(change)


def test_what_is_shipped_reads_matrices_of_the_data_that_is_written() -> None:
    outside = _outside(NLI_MPNET.shipped)
    assert len(outside) == 2 * (2 + 12 * 4), (
        "words, positions and four matrices a layer, and scales"
    )
    assert _end_of_data(NLI_MPNET.shipped) == NLI_MPNET.packed_bytes
    bundled = [NLI_MPNET.shipped, resolve(None)]
    assert sum(path.stat().st_size for one in bundled for path in one.iterdir()) < 30e6


def test_what_an_earlier_version_fetched_is_brought_into_eight_bits(
    adapted: AdaptedModel, tmp_path: Path
) -> None:
    archive = weights_dir() / adapted.archive.file_name
    earlier = weights_dir() / "nli-mpnet"
    earlier.mkdir()
    with ZipFile(archive) as packed:
        (earlier / DATA_FILE).write_bytes(packed.read(adapted.data))
        (earlier / "tokenizer.json").write_bytes(packed.read(adapted.tokenizer))
    content = archive.read_bytes()
    archive.unlink()
    assert adapted.fetched() == adapted.folder
    brought = (adapted.folder / DATA_FILE).read_bytes()
    (adapted.folder / DATA_FILE).unlink()
    (earlier / DATA_FILE).unlink()
    archive.write_bytes(content)
    adapted.fetch()
    assert (adapted.folder / DATA_FILE).read_bytes() == brought
    assert not earlier.exists()


@given(rows=st.integers(1, 5), columns=st.integers(1, 200), seed=st.integers(0, 9))
def test_a_number_in_a_block_is_off_by_half_a_step_at_most(
    rows: int, columns: int, seed: int
) -> None:
    matrix = np.random.default_rng(seed).normal(size=(rows, columns)).astype("f4")
    matrix[0] = 0
    small, scale = in_blocks(matrix)
    back = ((small.astype("f4") - 128) * scale[..., None]).reshape(rows, -1)
    assert small.shape == (rows, -(-columns // BLOCK), BLOCK)
    steps = np.repeat(scale, BLOCK, axis=1)[:, :columns]
    assert (np.abs(back[:, :columns] - matrix) <= 0.501 * steps).all()
    assert not back[:, columns:].any()
