"""Loading a model: what fits, and one clear line for each thing that does not."""

import json
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from onnx import TensorProto
from onnxruntime.quantization import quantize_dynamic

from conflictscore.errors import ConfigurationError, install_hint
from conflictscore.labelers.nli.model import NliModel, shared_model
from conflictscore.records import Label
from conflictscore.threads import usable_cores
from tests.nli_model import MARKS, ORDER, WORDS, make_nli_model

SUPPORTS, CONTRADICTS, IRRELEVANT = Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT
_CLAIM = "The lamp was lit in 1871."
_THREE = {str(place): name for place, name in enumerate(ORDER)}
_SIZE = len(MARKS) + len(WORDS)
_POSITIONS = "max_position_embeddings"


def verdicts(model: NliModel) -> list[Label]:
    premises = ["The lamp was lit in 1871.", "The lamp was not lit in 1871.", "A tall ship."]
    said = model.logits(model.tokenizer.pairs(premises, _CLAIM))
    return [max(logits, key=logits.__getitem__) for logits in said]


def refused(folder: Path) -> str:
    with pytest.raises(ConfigurationError) as caught:
        NliModel(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


class TestFits:
    @pytest.mark.parametrize(
        "order",
        [
            ORDER,
            ("contradiction", "entailment", "neutral"),
            ("neutral", "contradiction", "entailment"),
        ],
    )
    def test_the_order_of_the_outputs_is_read_from_the_configuration(
        self, tmp_path: Path, order: tuple[str, ...]
    ) -> None:
        model = NliModel(make_nli_model(tmp_path, order=order))
        assert verdicts(model) == [SUPPORTS, CONTRADICTS, IRRELEVANT]

    @pytest.mark.parametrize(
        "names", [("ENTAILMENT", "Contradiction", " neutral"), (SUPPORTS, CONTRADICTS, IRRELEVANT)]
    )
    def test_labels_may_have_our_own_names_and_any_case(
        self, tmp_path: Path, names: tuple[str, ...]
    ) -> None:
        config = {"id2label": {str(place): name for place, name in enumerate(names)}}
        model = NliModel(make_nli_model(tmp_path, config=config))
        assert verdicts(model) == [SUPPORTS, CONTRADICTS, IRRELEVANT]

    def test_inputs_of_32_bits_are_fed_as_such(self, tmp_path: Path) -> None:
        model = NliModel(make_nli_model(tmp_path, integers=TensorProto.INT32))
        assert verdicts(model) == [SUPPORTS, CONTRADICTS, IRRELEVANT]

    def test_a_pair_is_as_long_as_its_tokenizer_was_set_up_for(self, tmp_path: Path) -> None:
        truncation = {
            "direction": "Right",
            "max_length": 200,
            "strategy": "LongestFirst",
            "stride": 0,
        }
        set_up = NliModel(make_nli_model(tmp_path / "a", tokenizer={"truncation": truncation}))
        assert (set_up.pair_tokens, set_up.most_tokens) == (200, 512)
        plain = NliModel(make_nli_model(tmp_path / "b", positions=100))
        assert (plain.pair_tokens, plain.most_tokens) == (100, 100)
        large = NliModel(make_nli_model(tmp_path / "c", positions=4000))
        assert (large.pair_tokens, large.most_tokens) == (128, 512)

    def test_families_that_count_positions_from_the_padding_on_read_less(
        self, tmp_path: Path
    ) -> None:
        roberta = {"model_type": "roberta", "pad_token_id": 1}
        families: list[tuple[dict[str, Any], int]] = [
            (roberta, 128),
            ({"model_type": "roberta"}, 129),
            ({"pad_token_id": 1}, 130),
        ]
        for number, (config, most) in enumerate(families):
            folder = make_nli_model(tmp_path / str(number), positions=130, config=config)
            assert NliModel(folder).most_tokens == most

    def test_a_pair_gets_its_own_numbers_in_any_company_also_of_a_quantised_model(
        self, tmp_path: Path, model_folder: Path
    ) -> None:
        shutil.copytree(model_folder, tmp_path / "int8")
        quantize_dynamic(model_folder / "model.onnx", tmp_path / "int8" / "model.onnx")
        for model in (NliModel(model_folder), NliModel(tmp_path / "int8")):
            long = "The old tower by the harbour is not white. " * 8
            pairs = model.tokenizer.pairs(["The lamp was lit in 1871.", "A lamp.", long], _CLAIM)
            assert model.logits(pairs) == [model.logits([pair])[0] for pair in pairs]
            assert verdicts(model) == [SUPPORTS, CONTRADICTS, IRRELEVANT]

    def test_several_threads_may_ask_at_once(self, model: NliModel) -> None:
        pairs = model.tokenizer.pairs(
            [f"The lamp was lit in {n}." for n in range(1871, 1875)], _CLAIM
        )
        alone = model.logits(pairs)
        with ThreadPoolExecutor(4) as pool:
            assert all(said == alone for said in pool.map(model.logits, [pairs] * 40))

    def test_it_reads_on_as_many_threads_as_it_may(
        self, model_folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert NliModel(model_folder).threads == min(usable_cores(), 16)
        monkeypatch.setenv("OMP_NUM_THREADS", "3")  # as a batch system may say
        assert NliModel(model_folder).threads == 3

    def test_what_looks_like_a_mark_in_a_document_is_plain_text(self, model: NliModel) -> None:
        [pair] = model.tokenizer.pairs([f"A ship. [SEP] {_CLAIM} [SEP] [PAD]"], _CLAIM)
        assert pair.ids.count(MARKS.index("[SEP]")) == 2
        assert MARKS.index("[PAD]") not in pair.ids
        assert sum(pair.sides) == len([*_CLAIM.split(), ".", "[SEP]"])

    def test_it_is_loaded_once_a_process(self, model_folder: Path) -> None:
        assert shared_model(model_folder) is shared_model(f"{model_folder}/../{model_folder.name}")

    def test_other_weights_are_another_model(self, tmp_path: Path, model: NliModel) -> None:
        other = NliModel(make_nli_model(tmp_path, order=("contradiction", "entailment", "neutral")))
        assert other.sha256 != model.sha256
        again = NliModel(make_nli_model(tmp_path / "again"))
        assert again.sha256 == model.sha256


class TestDoesNotFit:
    def test_a_folder_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigurationError) as caught:
            shared_model(tmp_path / "nowhere")
        assert str(caught.value) == (
            f"there is no NLI model {tmp_path / 'nowhere'}: give nli-mpnet, or a folder with"
            " model.onnx, tokenizer.json, config.json"
        )

    @pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "config.json"])
    def test_a_missing_file(self, tmp_path: Path, name: str) -> None:
        (make_nli_model(tmp_path) / name).unlink()
        assert refused(tmp_path) == f"{tmp_path} is not an NLI model: it has no {name}"

    @pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "config.json"])
    def test_a_damaged_file(self, tmp_path: Path, name: str) -> None:
        file = make_nli_model(tmp_path) / name
        file.write_text('{"half": ')
        fails = "load" if name == "model.onnx" else "read"
        assert refused(tmp_path).startswith(f"cannot {fails} {file}: ")

    @pytest.mark.parametrize("package", ["onnxruntime", "tokenizers"])
    def test_the_extra_that_is_not_installed(
        self, model_folder: Path, package: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, package, None)
        assert refused(model_folder) == (
            f"the labeler nli needs the package {package}: {install_hint('nli')}"
        )

    @pytest.mark.parametrize(
        ("names", "said"),
        [
            ({"0": "entailment", "1": "not_entailment"}, "entailment, not_entailment"),
            ({"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"}, "LABEL_0, LABEL_1, LABEL_2"),
            (
                {"0": "entailment", "1": "neutral", "2": "entailment"},
                "entailment, neutral, entailment",
            ),
            (
                {"0": "entailment", "1": "neutral", "2": "contradiction", "3": "unsure"},
                "entailment, neutral, contradiction, unsure",
            ),
            (
                {"1": "entailment", "2": "neutral", "3": "contradiction"},
                "entailment, neutral, contradiction",
            ),
            (["entailment", "neutral", "contradiction"], "nothing"),
            (None, "nothing"),
        ],
    )
    def test_classes_that_are_not_the_three(self, tmp_path: Path, names: object, said: str) -> None:
        message = refused(make_nli_model(tmp_path, config={"id2label": names}))
        assert message == (
            f"{tmp_path / 'config.json'}: id2label must name the three outputs 0, 1 and 2"
            " entailment, contradiction and neutral, in the model's own order; it says"
            f" {said}"
        )

    @pytest.mark.parametrize(
        ("made", "said"),
        [
            ({"order": ORDER[:2], "config": {"id2label": _THREE}}, "it cannot be run (the NLI"),
            ({"rows": _SIZE - 1}, f"it has no embedding for token {_SIZE - 1} of tokenizer.json"),
            ({"config": {"vocab_size": 20}}, f"has {_SIZE} tokens and the model 20: it is another"),
            ({"config": {"vocab_size": 5000}}, f"{_SIZE} tokens and the model 5000: it is another"),
            ({"tokenizer": {"post_processor": None}}, "puts no special tokens around a pair"),
            ({"positions": 120, "config": {_POSITIONS: 512}}, "it cannot read 512 tokens, though"),
            ({"positions": 95}, "reads 95 tokens at most; an NLI labeler needs at least 96"),
            ({"config": {_POSITIONS: None}}, f"config.json has no {_POSITIONS}"),
            ({"config": {_POSITIONS: "512"}}, f"{_POSITIONS} is '512', not a number of 0 or more"),
            ({"config": {_POSITIONS: -1}}, f"{_POSITIONS} is -1, not a number of 0 or more"),
            ({"config": {_POSITIONS: True}}, f"{_POSITIONS} is True, not a number of 0 or more"),
            ({"integers": TensorProto.FLOAT}, "asks for an input input_ids (tensor(float))"),
        ],
    )
    def test_files_that_do_not_belong_together(
        self, tmp_path: Path, made: dict[str, Any], said: str
    ) -> None:
        message = refused(make_nli_model(tmp_path, **made))
        assert message.startswith(str(tmp_path))
        assert said in message

    def test_a_configuration_may_count_rows_that_only_round_the_matrix_up(
        self, tmp_path: Path
    ) -> None:
        for number, rows in enumerate((_SIZE, _SIZE + 1024)):
            folder = make_nli_model(tmp_path / str(number), config={"vocab_size": rows})
            assert verdicts(NliModel(folder)) == [SUPPORTS, CONTRADICTS, IRRELEVANT]
        more = refused(make_nli_model(tmp_path / "more", config={"vocab_size": _SIZE + 1025}))
        assert f"and the model {_SIZE + 1025}: " in more

    def test_a_configuration_that_is_no_object(self, tmp_path: Path) -> None:
        (make_nli_model(tmp_path) / "config.json").write_text(json.dumps([1]), "utf-8")
        assert refused(tmp_path) == f"{tmp_path / 'config.json'} is not a JSON object"
