import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto
from onnxruntime.quantization import quantize_dynamic

from conflictscore.errors import ConfigurationError, ProviderError, install_hint
from conflictscore.labelers.nli.labeler import NliLabeler
from conflictscore.labelers.nli.model import NliModel, resolve, shared_model
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, Label
from conflictscore.threads import usable_cores
from tests.nli_model import MARKS, ORDER, make_nli_model

SUPPORTS, CONTRADICTS, IRRELEVANT = Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT
_CLAIM = "The lamp was lit in 1871."


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
        "made",
        [
            {"order": ORDER},
            {"order": ("contradiction", "entailment", "neutral")},
            {"order": ("neutral", "contradiction", "entailment")},
            {"config": {"id2label": {"0": "ENTAILMENT", "1": "Contradiction", "2": " neutral"}}},
            {"config": {"id2label": {"0": SUPPORTS, "1": CONTRADICTS, "2": IRRELEVANT}}},
            {"integers": TensorProto.INT32},
        ],
    )
    def test_outputs_in_any_order_by_any_of_their_names_and_inputs_of_32_bits_are_read(
        self, tmp_path: Path, made: dict[str, Any]
    ) -> None:
        model = NliModel(make_nli_model(tmp_path, **made))
        assert verdicts(model) == [SUPPORTS, CONTRADICTS, IRRELEVANT]

    def test_a_pair_is_as_long_as_its_tokenizer_was_set_up_for(self, tmp_path: Path) -> None:
        truncation = {"direction": "Right", "strategy": "LongestFirst", "stride": 0}
        truncation["max_length"] = 200
        set_up = NliModel(make_nli_model(tmp_path / "a", tokenizer={"truncation": truncation}))
        assert (set_up.pair_tokens, set_up.most_tokens) == (200, 512)
        plain = NliModel(make_nli_model(tmp_path / "b", positions=100))
        assert (plain.pair_tokens, plain.most_tokens) == (100, 100)
        large = NliModel(make_nli_model(tmp_path / "c", positions=4000))
        assert (large.pair_tokens, large.most_tokens) == (128, 512)

    def test_a_graph_with_another_output_is_named_without_its_numbers(self, tmp_path: Path) -> None:
        class OtherGraph:
            def run(self, names: object, feed: object) -> list[Any]:
                return [np.zeros((1, 4, 1000))]

        model = NliModel(make_nli_model(tmp_path))
        model._session = OtherGraph()
        with pytest.raises(ProviderError, match="gave 4,000 numbers for a pair, not 3 numbers"):
            verdicts(model)

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
        monkeypatch.setenv("OMP_NUM_THREADS", "3")  # as a batch system may set it
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

    def test_recorded_digests_are_no_part_of_a_model(self, tmp_path: Path, model: NliModel) -> None:
        """A calibration for the model must stay valid when its files have been checked."""
        folder = make_nli_model(tmp_path)
        for name in ("model.onnx.data.sha256", "model.onnx.data.checked.json"):
            (folder / name).write_text("{}")

        assert NliModel(folder).sha256 == model.sha256


class TestDoesNotFit:
    def test_a_folder_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigurationError) as caught:
            shared_model(tmp_path / "nowhere")
        assert str(caught.value) == (
            f"there is no NLI model {tmp_path / 'nowhere'}: give nli-mpnet, or a folder with"
            " model.onnx, tokenizer.json, config.json"
        )

    @pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "config.json"])
    def test_a_damaged_or_missing_file(self, tmp_path: Path, name: str) -> None:
        file = make_nli_model(tmp_path) / name
        file.write_text('{"half": ')
        fails = "load" if name == "model.onnx" else "read"
        assert refused(tmp_path).startswith(f"cannot {fails} {file}: ")
        file.unlink()
        assert refused(tmp_path) == f"{tmp_path} is not an NLI model: {name} is missing"

    @pytest.mark.parametrize("package", ["onnxruntime", "tokenizers"])
    def test_the_extra_that_is_not_installed(
        self, model_folder: Path, package: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, package, None)
        assert refused(model_folder) == (
            f"the labeler nli needs the package {package}: {install_hint('nli')}"
        )

    @pytest.mark.parametrize(
        "names",
        [
            {"0": "entailment", "1": "not_entailment"},
            {"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"},
            {"0": "entailment", "1": "neutral", "2": "entailment"},
            {"1": "entailment", "2": "neutral", "3": "contradiction"},
            ["entailment", "neutral", "contradiction"],
            None,
        ],
    )
    def test_classes_that_are_not_the_three(self, tmp_path: Path, names: object) -> None:
        message = refused(make_nli_model(tmp_path, config={"id2label": names}))
        assert "the three outputs" in message
        assert str(tmp_path / "config.json") in message

    @pytest.mark.parametrize("positions", [None, "many"])
    def test_a_length_that_is_not_a_number(self, tmp_path: Path, positions: object) -> None:
        config = {"max_position_embeddings": positions}
        message = refused(make_nli_model(tmp_path, config=config))
        assert message.startswith(f"cannot read {tmp_path / 'config.json'}")


PASSAGE = (
    "The lighthouse at Vennick Point was built between 1868 and 1871 by the harbour trust. Its lamp"
    " was first lit on 3 May 1871, and the keeper's log of that night is kept in the town hall."
)


@pytest.mark.parametrize(
    ("claim", "label"),
    [
        ("The lamp was first lit on 3 May 1871.", Label.SUPPORTS),
        ("The keeper's log is kept in the town hall.", Label.SUPPORTS),
        ("The lamp was first lit on 3 May 1874.", Label.CONTRADICTS),
        ("The lamp was not lit in 1871.", Label.CONTRADICTS),
        ("Norwegian painters liked to use blue.", Label.IRRELEVANT),
        ('The answer to the question "When was the lamp first lit?" is 1871.', Label.SUPPORTS),
        ('The answer to the question "When was the lamp first lit?" is 1874.', Label.CONTRADICTS),
        ('The answer to the question "Who designed the lens?" is Anna Holt.', Label.IRRELEVANT),
    ],
)
async def test_what_a_passage_says_denies_or_leaves_open(claim: str, label: Label) -> None:
    labeler = NliLabeler.open()
    said = await labeler.label(
        Claim(number=1, text=claim), Document(number=1, text=PASSAGE), UsageMeter()
    )
    assert said.label is label


def test_its_scores_are_calibrated_for_it_and_no_other_model() -> None:
    assert NliLabeler.open().calibration.fitted_on != "nothing"


def test_its_card_says_what_it_is() -> None:
    card = (resolve(None) / "MODEL_CARD.md").read_text("utf-8")
    assert shared_model(None).sha256 in card
    for heading in ("Start", "Data", "Figures", "Limits"):
        assert re.search(f"^## {heading}$", card, re.MULTILINE)
