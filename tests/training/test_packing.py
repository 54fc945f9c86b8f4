"""Pairs as token numbers: stored once each, cut like the labeler, and drawn in balance."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tokenizers import Tokenizer

from conflictscore.labelers.nli.labeler import deciding_window, verdict_on
from conflictscore.records import Label
from tests.training.toy import Family, as_taught, pack_toy, toy_tokenizer, toy_weights
from training import carry, weights
from training.batches import assemble, balanced, batched, measured
from training.figures import figures, mean_macro_f1, verdicts
from training.packed import Packed, load_packed
from training.packing import marks_of, pack
from training.pairs import LABELS, Pair, Row
from training.plan import Plan, Settings
from training.taught_pairs import closest_windows


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Packed:
    return load_packed(pack_toy(tmp_path_factory.mktemp("toy")))


def packed_with(folder: Path, rows: list[Row], pair_tokens: int = 96) -> Packed:
    path = folder / "pairs.npz"
    size = pack(rows, path, tokenizer=toy_tokenizer(folder), pair_tokens=pair_tokens)
    assert size == path.stat().st_size
    return load_packed(path)


def test_a_document_and_a_claim_are_kept_once_however_many_pairs_have_them(tmp_path: Path) -> None:
    rows = [
        Row("human", Pair(claim, "the old lamp", "SUPPORTS", "one", "people"))
        for claim in ("lamp lit", "bell lit", "lamp lit")
    ]
    found = packed_with(tmp_path, rows)
    assert len(found.windows.ends) == 1
    assert len(found.claims.ends) == 2
    assert found.claim.tolist() == [0, 1, 0]
    assert found.sources == ("one",)


@pytest.mark.parametrize(
    ("claim_tokens", "pair_tokens", "longest"), [(9, 128, 85), (50, 128, 75), (300, 128, 48)]
)
def test_a_long_claim_leaves_its_documents_windows_the_room_that_the_labeler_leaves(
    claim_tokens: int, pair_tokens: int, longest: int, tmp_path: Path
) -> None:
    document = "the fog of the sea " * 100
    rows = [
        Row("human", Pair(claim, document, "SUPPORTS", "one", "people"))
        for claim in ("lamp lit", " ".join(["lamp"] * claim_tokens))
    ]
    found = packed_with(tmp_path, rows, pair_tokens)
    lengths = found.windows.lengths()
    first, count = int(found.first_window[1]), int(found.window_count[1])
    assert lengths[first : first + count].max() == longest
    assert lengths[: found.window_count[0]].max() == 85, "of a short claim"
    assert (len(lengths) == count) is (longest == 85), "short claims share windows"


def test_the_longest_pair_fits_the_positions_of_a_model(tmp_path: Path) -> None:
    rows = [
        Row("human", Pair("lamp " * tokens, "the fog " * 900, "SUPPORTS", "one", "people"))
        for tokens in (3, 100, 600)
    ]
    assert assemble(packed_with(tmp_path, rows, 512), [0, 1, 2]).ids.shape[1] <= 512


@pytest.mark.parametrize("family", ["bert", "mpnet"])
def test_a_batch_is_what_the_labelers_tokenizer_makes_of_the_pairs(
    family: Family, tmp_path: Path
) -> None:
    source = toy_tokenizer(tmp_path, family)
    pairs = [
        Pair("bell was lit", "the old lamp of the tower", "CONTRADICTS", "one", "people"),
        Pair("fog", "sea", "IRRELEVANT", "one", "people"),
    ]
    path = tmp_path / "pairs.npz"
    pack([Row("human", pair) for pair in pairs], path, tokenizer=source, pair_tokens=96)
    batch = assemble(load_packed(path), [0, 1])
    tokenizer = Tokenizer.from_file(str(source))
    tokenizer.enable_padding(pad_id=0)
    expected = tokenizer.encode_batch([(pair.document, pair.claim) for pair in pairs])
    assert batch.ids.tolist() == [one.ids for one in expected]
    assert batch.mask.astype(int).tolist() == [one.attention_mask for one in expected]
    if family == "bert":
        assert (batch.sides * batch.mask).tolist() == [one.type_ids for one in expected]
    assert batch.labels.tolist() == [1, 2]


def test_every_pair_is_in_one_batch_and_no_batch_is_too_large(packed: Packed) -> None:
    order = np.random.default_rng(0).permutation(len(packed.label))
    batches = batched(packed, order, 2000, np.random.default_rng(1))
    assert sorted(np.concatenate(batches).tolist()) == sorted(order.tolist())
    sizes = [assemble(packed, one).ids.size for one in batches]
    assert max(sizes) <= 2000
    assert np.mean(sizes) > 1200, "batches are filled"


def test_pairs_are_drawn_in_balance_and_again_only_when_all_were(packed: Packed) -> None:
    made = packed.of_part("synthetic")
    drawn = balanced(packed, made, 300, np.random.default_rng(0))
    assert np.bincount(packed.label[drawn]).tolist() == [100, 100, 100]
    assert len(set(drawn.tolist())) == 300
    twice = balanced(packed, made, 3 * len(made), np.random.default_rng(0))
    assert np.bincount(np.bincount(twice)[made])[:2].tolist() == [0, 0], "each at least twice"


def test_only_the_windows_that_share_rare_tokens_with_the_claim_are_learned_from(
    tmp_path: Path,
) -> None:
    filler = ["the fog of the sea " * 30] * 3
    long = " . ".join([filler[0], "the old lamp was lit " * 25, *filler[1:]])
    pair = Pair("lamp was lit", long, "SUPPORTS", "one", "people")
    whole = packed_with(tmp_path, [Row(part, pair) for part in ("human", "validation")])
    near = closest_windows(whole, 2)
    learned, validated = near.of_part("human")[0], near.of_part("validation")[0]
    assert near.window_count[validated] == whole.window_count[validated] > 3
    assert near.window_count[learned] == 2
    [lamp] = np.unique(whole.claims.text(0)[:1])
    kept = [near.windows.text(int(near.first_window[learned]) + turn) for turn in range(2)]
    assert all(lamp in window for window in kept)
    assert assemble(near, [int(learned)]).ids.shape[0] == 2


def test_padding_of_a_tokenizer_is_not_a_mark(tmp_path: Path) -> None:
    path = toy_tokenizer(tmp_path, "mpnet")
    expected = marks_of(path)
    padding = Tokenizer.from_file(str(path))
    padding.enable_padding(length=128, pad_id=1, pad_token="<pad>")
    padding.save(str(path))
    assert marks_of(path) == expected == ((0,), (2, 2), (2,))


def test_as_many_pairs_of_each_set_are_measured_on(packed: Packed) -> None:
    few = measured(packed, 2, 0)
    validation = packed.of_part("validation")
    assert set(few) < set(validation)
    assert set(np.bincount(packed.source[few])) <= {0, 2}
    assert few.tolist() == measured(packed, 2, 0).tolist()
    assert measured(packed, 0, 0).tolist() == validation.tolist()


def test_a_plan_is_the_same_every_time_and_its_rate_rises_and_falls(packed: Packed) -> None:
    settings = Settings(epochs=2, batch_tokens=2000)
    packed = as_taught(packed)
    one, other = Plan(packed, settings), Plan(packed, settings)
    for number in (1, 0):
        first, second = one.epoch(number), other.epoch(number)
        assert all((a == b).all() for a, b in zip(first.batches, second.batches, strict=True))
    rates = [*one.epoch(0).rates, *one.epoch(1).rates]
    assert max(rates) == pytest.approx(settings.rate, rel=0.1)
    top = rates.index(max(rates))
    assert rates[:top] == sorted(rates[:top])
    assert rates[top:] == sorted(rates[top:], reverse=True)
    assert 0 < rates[-1] < settings.rate / 10


def test_verdicts_on_documents_are_those_of_the_nli_labeler() -> None:
    rng = np.random.default_rng(0)
    owner = np.sort(rng.integers(0, 200, 500))
    p = rng.dirichlet([1, 1, 1], 500)
    given = verdicts(p, owner, 200)
    for pair in set(owner.tolist()):
        windows = [dict(zip(map(Label, LABELS), row, strict=True)) for row in p[owner == pair]]
        assert LABELS[given[pair]] == verdict_on(windows[deciding_window(windows)])


def test_figures_count_what_people_and_the_model_say() -> None:
    found = figures(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 2]))
    assert found.confusion == [[1, 1, 0], [0, 1, 1], [0, 0, 0]]
    assert found.accuracy == 0.5
    assert found.macro_f1 == pytest.approx((2 / 3 + 1 / 2) / 2), "nobody said IRRELEVANT"
    assert mean_macro_f1({"a": found, "b": found}) == found.macro_f1


def test_the_mean_of_runs_is_taken_weight_by_weight(tmp_path: Path) -> None:
    paths = [tmp_path / f"{seed}.npz" for seed in range(2)]
    for seed, path in enumerate(paths):
        weights.save(toy_weights(seed), path)
    said = CliRunner().invoke(carry.main, ["mean", *map(str, paths), str(tmp_path / "mean.npz")])
    assert said.exit_code == 0, said.output
    found = weights.load(tmp_path / "mean.npz")
    expected = (toy_weights(0)["words"] + toy_weights(1)["words"]) / 2
    assert np.allclose(found["words"], expected, atol=2e-3)
    weights.save(toy_weights(family="mpnet"), paths[1])
    refused = CliRunner().invoke(carry.main, ["mean", *map(str, paths), str(tmp_path / "no.npz")])
    assert refused.exit_code == 2
    assert "weights of different encoders" in refused.output


def test_a_share_of_the_change_lies_between_two_models(tmp_path: Path) -> None:
    paths = [tmp_path / f"{seed}.npz" for seed in range(2)]
    for seed, path in enumerate(paths):
        weights.save(toy_weights(seed), path)
    options = ["part", *map(str, paths), str(tmp_path / "part.npz"), "--share", "0.25"]
    part = CliRunner().invoke(carry.main, options)
    assert part.exit_code == 0, part.output
    expected = 0.75 * toy_weights(0)["words"] + 0.25 * toy_weights(1)["words"]
    assert np.allclose(weights.load(tmp_path / "part.npz")["words"], expected, atol=2e-3)
    weights.save(toy_weights(family="mpnet"), paths[1])
    refused = CliRunner().invoke(carry.main, options)
    assert refused.exit_code == 2
    assert "weights of different encoders" in refused.output


def test_a_trained_model_is_made_to_take_sides_more_readily(tmp_path: Path) -> None:
    trained, more = tmp_path / "trained.npz", tmp_path / "more.npz"
    head = {"head.weight": np.ones((3, 8)), "head.bias": np.zeros(3)}
    weights.save(toy_weights(head=False) | head, trained)
    options = ["bias", str(trained), str(more), "--supports", "0.5", "--contradicts", "0.25"]
    said = CliRunner().invoke(carry.main, options)
    assert said.exit_code == 0, said.output
    assert weights.load(more)["head.bias"].tolist() == [0.5, 0.25, 0]
    weights.save(toy_weights(head=False), trained)
    assert "were not trained" in CliRunner().invoke(carry.main, options).output


def test_distances_are_told_apart_one_by_one_up_to_8_and_then_ever_more_coarsely() -> None:
    # From 8 on the bucket is 8 + floor(8 * log(distance / 8) / log(16)), at most 15.
    by_hand = {0: 0, 1: 1, 7: 7, 8: 8, 11: 8, 12: 9, 15: 9, 16: 10, 22: 10, 23: 11, 31: 11}
    by_hand |= {32: 12, 45: 12, 46: 13, 63: 13, 64: 14, 90: 14, 91: 15, 128: 15, 511: 15}
    distances = np.array(list(by_hand))
    assert weights.buckets(-distances).tolist() == list(by_hand.values())
    after = [16 + one for one in list(by_hand.values())[1:]]
    assert weights.buckets(distances[1:]).tolist() == after
