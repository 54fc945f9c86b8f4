"""The trained part of MPNet becomes a graph beside MPNet's own file, which is fetched."""

import asyncio
import json
import os
import time
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from conflictscore.cli import main
from conflictscore.labelers.cascade import Thresholds, open_cascade
from conflictscore.labelers.nli import adapted as module
from conflictscore.labelers.nli.adapted import (
    BLOCK,
    DATA_FILE,
    FOLDER,
    LEARNED,
    NLI_MPNET,
    AdaptedModel,
    aligned,
    in_blocks,
    summed,
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
from tests.training.toy import toy_tokenizer
from tests.world import World
from training import carry
from training.weights import load

Floats = NDArray[Any]
SIZE = 24
EMBEDDINGS = "embeddings.word_embeddings", "embeddings.position_embeddings"
CLAIM = Claim(number=1, text="lamp lit")
DOCUMENT = Document(number=1, text="the old lamp was lit yes no red ship in the fog")


def checkpoint() -> dict[str, Floats]:
    """The matrices of a toy MPNet, by the names of a checkpoint."""
    rng, q, dense = np.random.default_rng(5), "attention.attn.q", "intermediate.dense"
    shapes = dict(zip(EMBEDDINGS, ((160, SIZE), (9, SIZE)), strict=True))
    shapes |= {f"encoder.layer.0.{name}": (SIZE, SIZE) for name in (q, q[:-1] + "k", dense)}
    return {f"{n}.weight": rng.normal(0, 0.5, s).astype("f4") for n, s in shapes.items()}


ORDER = {
    "words": ["embeddings.word_embeddings.weight"],
    "positions": ["embeddings.position_embeddings.weight"],
    "layer.0.attention": [f"encoder.layer.0.attention.attn.{part}.weight" for part in "qk"],
    "layer.0.inner": ["encoder.layer.0.intermediate.dense.weight"],
}
HEAD = np.random.default_rng(6).normal(0, 1, (SIZE, 3)).astype("f4")


def learned() -> dict[str, Floats]:
    """Two narrow matrices for the layer's matrix, and the scale between them."""
    rng = np.random.default_rng(7)
    found: dict[str, Floats] = {}
    for name, rows in (("layer.0.attention", 2 * SIZE), ("layer.0.inner", SIZE)):
        found[f"{name}.up"] = rng.integers(-127, 128, (rows, 3)).astype(np.int8)
        found[f"{name}.down"] = rng.integers(-127, 128, (3, SIZE)).astype(np.int8)
        found[f"{name}.scale"] = rng.uniform(0, 1e-5, 3).astype("f4")
    return found


def sums() -> dict[str, Floats]:
    """The sums of the checkpoint's matrices and their trained changes."""
    tensors, said = checkpoint(), learned()
    return {name: summed(name, [tensors[p] for p in parts], said) for name, parts in ORDER.items()}


def write_shipped(folder: Path) -> None:
    """Write the package's files: the trained matrices, and a graph with one matrix of a layer."""
    folder.mkdir()
    arrays: dict[str, Any] = {"order": np.array(json.dumps(ORDER)), **learned()}
    np.savez_compressed(folder / LEARNED, **arrays)
    indices: dict[str, Any] = {"axis/1": [1], "last": [-1], "shape/0": [0], "shape/end": [SIZE]}
    numbers: dict[str, Any] = {"zero": 128.0, "head.weight": HEAD, "norm.bias": HEAD[:, 0]}
    tensors = [
        onnx.numpy_helper.from_array(np.array(value, kind), name)
        for kind, said in (
            ("i8", indices | {"shape/flat": [0, 0, -1]}),
            ("f4", numbers | {"relative": np.zeros((7, 12))}),
        )
        for name, value in said.items()
    ]
    offset = 0
    for name, matrix in sums().items():
        for kind, array in zip(("blocks", "scales"), in_blocks(matrix), strict=True):
            data_type = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
            tensor = onnx.TensorProto(name=f"{name}.{kind}", data_type=data_type, dims=array.shape)
            tensor.data_location = onnx.TensorProto.EXTERNAL
            place = {"location": DATA_FILE, "offset": offset, "length": array.nbytes}
            for key, value in place.items():
                tensor.external_data.add(key=key, value=str(value))
            tensors.append(tensor)
            offset += aligned(array.nbytes)
    nodes = [
        node("Gather", ["words.blocks", "input_ids"], "small"),
        node("Cast", ["small"], "signed", to=onnx.TensorProto.FLOAT),
        node("Sub", ["signed", "zero"], "centred"),
        node("Gather", ["words.scales", "input_ids"], "scale"),
        node("Unsqueeze", ["scale", "last"], "wide"),
        node("Mul", ["centred", "wide"], "scaled"),
        node("Reshape", ["scaled", "shape/flat"], "rows"),
        node("Slice", ["rows", "shape/0", "shape/end", "last"], "x"),
        node("Cast", ["attention_mask"], "mask", to=onnx.TensorProto.FLOAT),
        node("Unsqueeze", ["mask", "last"], "seen"),
        node("Mul", ["x", "seen"], "kept"),
        node("ReduceSum", ["kept", "axis/1"], "pooled", keepdims=0),
        node(
            *("MatMulNBits", ["pooled", "layer.0.inner.blocks", "layer.0.inner.scales"], "inner"),
            domain="com.microsoft", K=SIZE, N=SIZE, bits=8, block_size=BLOCK, accuracy_level=1,
        ),
        node("MatMul", ["inner", "head.weight"], "logits"),
    ]  # fmt: skip
    texts, said = onnx.TensorProto.INT64, onnx.TensorProto.FLOAT
    value = onnx.helper.make_tensor_value_info
    inputs = [value(name, texts, ["batch", "n"]) for name in ("input_ids", "attention_mask")]
    outputs = [value("logits", said, ["batch", 3])]
    graph = onnx.helper.make_graph(nodes, "toy", inputs, outputs, tensors)
    versions = [onnx.helper.make_opsetid("", 20), onnx.helper.make_opsetid("com.microsoft", 1)]
    model = onnx.helper.make_model(graph, opset_imports=versions, ir_version=10)
    onnx.save(model, folder / "model.onnx")
    labels = {"0": "entailment", "1": "contradiction", "2": "neutral"}
    config = {"model_type": "mpnet", "id2label": labels, "max_position_embeddings": 514}
    (folder / "config.json").write_text(json.dumps(config | {"pad_token_id": 1}), "utf-8")


def node(kind: str, inputs: list[str], name: str, **settings: Any) -> onnx.NodeProto:
    return onnx.helper.make_node(kind, inputs, [name], name=name, **settings)


def write_archive(folder: Path) -> Path:
    """A zip as in the packages of MPNet: the checkpoint and its tokenizer; always equal bytes."""
    header: dict[str, Any] = {}
    data = b""
    for name, value in checkpoint().items():
        places = [len(data), len(data) + value.nbytes]
        header[name] = {"dtype": "F32", "shape": value.shape, "data_offsets": places}
        data += value.tobytes()
    said = json.dumps(header).encode()
    with ZipFile(folder / "toy.zip", "w", ZIP_DEFLATED) as archive:
        content = len(said).to_bytes(8, "little") + said + data
        archive.writestr(ZipInfo(f"{FOLDER}/model.safetensors"), content)
        tokenizer = toy_tokenizer(folder, "mpnet").read_text("utf-8")
        archive.writestr(ZipInfo(f"{FOLDER}/tokenizer.json"), tokenizer)
    return folder / "toy.zip"


@pytest.fixture
def adapted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AdaptedModel:
    """The toy as a model whose checkpoint is in the cache, as if it had been fetched."""
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path / "cache"))
    weights_dir().mkdir(parents=True)
    archive = write_archive(weights_dir())
    content = archive.read_bytes()
    write_shipped(tmp_path / "shipped")
    packed = _end_of_data(tmp_path / "shipped")
    with_data = replace(
        NLI_MPNET,
        archive=replace(
            NLI_MPNET.archive,
            file_name=archive.name,
            size=len(content),
            sha256=sha256(content).hexdigest(),
        ),
        packed_bytes=packed,
        pair_tokens=96,
        shipped=tmp_path / "shipped",
    )
    monkeypatch.setattr(module, "NLI_MPNET", with_data)
    return with_data


def _end_of_data(shipped: Path) -> int:
    """The end of the last tensor that the graph reads from the data, including padding."""
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


def test_it_says_what_the_sums_of_both_say(adapted: AdaptedModel) -> None:
    assert adapted.fetch() == resolve("nli-mpnet") == adapted.folder
    model = NliModel(adapted.folder)
    assert model.pair_tokens == 96
    pairs = model.tokenizer.pairs([DOCUMENT.text, "yes", "no fog " * 30], CLAIM.text)
    whole = sums()
    for pair, said in zip(pairs, model.logits(pairs), strict=True):
        rows = whole["words"][list(pair.ids)].sum(axis=0)
        expected = rows @ whole["layer.0.inner"].T @ HEAD
        near = 0.02 * float(np.abs(expected).max())
        assert [*said.values()] == pytest.approx(expected, abs=near)


def test_it_can_be_trained_further(adapted: AdaptedModel, tmp_path: Path) -> None:
    options = ["unpack", "--model", "nli-mpnet", "--out", str(tmp_path / "start")]
    early = CliRunner().invoke(carry.main, options)
    assert early.exit_code == 2
    assert "model fetch nli-mpnet" in early.output
    adapted.fetch()
    said = CliRunner().invoke(carry.main, options)
    assert said.exit_code == 0, said.output
    assert (tmp_path / "start" / "tokenizer.json").is_file()
    found = load(tmp_path / "start" / "start.npz")
    expected = {f"{n}.weight" if n.startswith("layer.") else n: m for n, m in sums().items()}
    expected["positions"] = expected["positions"][2:]  # no text uses the first two positions
    for name, value in (expected | {"head.weight": HEAD.T}).items():
        np.testing.assert_allclose(found[name], value, atol=0.02, err_msg=name)


def test_the_labeler_uses_it_by_its_name_and_the_archive_is_not_kept(adapted: AdaptedModel) -> None:
    adapted.fetch()
    assert not (weights_dir() / adapted.archive.file_name).exists()
    said = asyncio.run(NliLabeler.open("nli-mpnet").label(CLAIM, DOCUMENT, UsageMeter()))
    assert said.label is not Label.UNLABELLED
    assert adapted.fetch() == adapted.folder, "nothing is left to fetch"


def test_a_cascade_uses_its_own_thresholds_for_it(
    adapted: AdaptedModel,
) -> None:
    adapted.fetch()
    own = open_cascade("nli-mpnet").with_judge(NliLabeler.open())
    assert own.identity is not None
    assert own.identity["certain"] == Thresholds(0.6, 0.75, 0.85)._asdict()
    given = open_cascade("nli-mpnet", certain=0.9).with_judge(NliLabeler.open())
    assert given.identity is not None
    assert given.identity["certain"] == Thresholds.from_score(0.9)._asdict()


def test_a_new_version_puts_its_own_graph_next_to_the_same_file(adapted: AdaptedModel) -> None:
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


def test_a_changed_file_of_the_same_size_and_time_counts_as_not_fetched(
    adapted: AdaptedModel,
) -> None:
    data = adapted.fetch() / DATA_FILE
    content, stat = data.read_bytes(), data.stat()
    time.sleep(0.05)  # the clock of a file system may be coarse
    data.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    os.utime(data, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert adapted.fetched() is None
    data.write_bytes(content)
    assert adapted.fetched() == adapted.folder


def test_a_file_without_a_recorded_digest_is_used_and_checked_from_then_on(
    adapted: AdaptedModel,
) -> None:
    data = adapted.fetch() / DATA_FILE
    data.with_name(f"{DATA_FILE}.sha256").unlink()
    assert adapted.fetched() == adapted.folder
    data.write_bytes(bytes(data.stat().st_size))
    assert adapted.fetched() is None


def test_the_command_fetches_it_and_the_list_says_where_it_is(adapted: AdaptedModel) -> None:
    listed = CliRunner().invoke(main, ["model", "list"]).stdout
    assert "not downloaded yet; run: conflictscore model fetch nli-mpnet" in listed
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
        model = replace(calling(server), endpoint=LOCAL_ENDPOINT)
        adapted.fetch()
        after = make_labeler(None, model, PROMPTS)
    assert after.name == "cascade(nli(nli-mpnet+minilm), choice(test-model))"
    assert after.identity is not None
    assert after.identity["certain"] == Thresholds.from_score(0)._asdict()


def test_what_is_shipped_reads_matrices_of_the_data_that_is_written() -> None:
    outside = _outside(NLI_MPNET.shipped)
    assert len(outside) == 2 * (2 + 12 * 4), (
        "words, positions and four matrices a layer, and scales"
    )
    assert _end_of_data(NLI_MPNET.shipped) == NLI_MPNET.packed_bytes
    for folder, most in ((NLI_MPNET.shipped, 8e6), (resolve(None), 25e6)):
        assert sum(path.stat().st_size for path in folder.iterdir()) <= most


@pytest.mark.parametrize("name", ["8bit", "8bit-1"])
def test_matrices_of_an_earlier_stage_are_not_taken_for_this_one(
    adapted: AdaptedModel, name: str
) -> None:
    assert adapted.stage > 1
    folder = adapted.fetch()
    earlier = folder.parent.rename(weights_dir() / name)
    assert adapted.fetched() is None
    write_archive(weights_dir())
    assert adapted.fetch() == folder
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
