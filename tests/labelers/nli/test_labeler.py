import asyncio
import json
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conflictscore.errors import ConfigurationError
from conflictscore.labelers.calibration import UNCALIBRATED, Calibration, FittedCalibration
from conflictscore.labelers.denials import denial_of
from conflictscore.labelers.nli.labeler import CALIBRATION_FILE, NliLabeler
from conflictscore.labelers.nli.model import NliModel, TokenPair
from conflictscore.labelers.nli.windows import MOST_WINDOWS, premises
from conflictscore.labelers.protocol import Pair
from conflictscore.labelers.table import label_table
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, EvidenceLabel, Label
from conflictscore.storage.cache import ContentCache
from tests.labelers.judging import claim, document
from tests.nli_model import MARKS, WORDS, make_nli_model

SUPPORTS, CONTRADICTS, IRRELEVANT = Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT
_CLAIM = claim("The lamp was lit in 1871.")
_FILLER = "The old stone tower by the harbour is white and tall and great. "
_DENIAL = "The lamp was not lit in 1871."

_PAIRS = [
    ("The lamp was lit in 1871.", SUPPORTS),
    (_DENIAL, CONTRADICTS),
    ("The tower is white.", IRRELEVANT),
    ("", IRRELEVANT),
]


async def judged(judge: NliLabeler, text: str, of: Claim = _CLAIM) -> EvidenceLabel:
    return await judge.label(of, document(text, number=7), UsageMeter())


async def together(judge: NliLabeler, pairs: list[Pair]) -> list[EvidenceLabel]:
    told: dict[tuple[int, int], EvidenceLabel] = {}

    def tell(verdict: EvidenceLabel) -> None:
        assert (verdict.claim, verdict.document) not in told
        told[verdict.claim, verdict.document] = verdict

    await judge.label_all(pairs, UsageMeter(), tell)
    return [told[of.number, text.number] for of, text in pairs]


class TestOnePair:
    @pytest.mark.parametrize(("text", "label"), _PAIRS)
    @pytest.mark.parametrize("form", ["It is not true that “{}”.", 'The statement "{}" is false.'])
    async def test_a_denial_is_read_as_what_it_denies(
        self, model: NliModel, text: str, label: Label, form: str
    ) -> None:
        exchanged = {SUPPORTS: CONTRADICTS, CONTRADICTS: SUPPORTS}
        judge, denial = NliLabeler(model), claim(form.format(_CLAIM.text))

        plain, denied = await judged(judge, text), await judged(judge, text, denial)

        assert denied.label is exchanged.get(label, label)
        assert denied.score == plain.score
        assert denial_of(denial.text) == _CLAIM.text

    @pytest.mark.parametrize(("text", "label"), _PAIRS)
    async def test_a_document_that_is_one_window(
        self, model: NliModel, text: str, label: Label
    ) -> None:
        found = await judged(NliLabeler(model), text)
        assert (found.claim, found.document, found.label) == (1, 7, label)
        assert found.snippet == (text or None)
        assert found.snippet_found is (True if text else None)
        assert not found.document_cut

    @pytest.mark.parametrize("before", [0, 5, 40])
    async def test_the_deciding_window_may_be_anywhere_and_is_the_snippet(
        self, model: NliModel, before: int
    ) -> None:
        text = _FILLER * before + _DENIAL + " " + _FILLER * 20
        found = await judged(NliLabeler(model), text)
        assert found.label is CONTRADICTS
        assert found.snippet is not None
        assert _DENIAL in found.snippet
        assert found.snippet in text
        assert len(found.snippet) < 600

    async def test_a_document_that_says_both_is_on_the_side_of_its_strongest_window(
        self, model: NliModel
    ) -> None:
        of = claim("The small lamp was lit in 1871.")
        weak = "The keeper says lamp was lit in 1871. "
        strong = "The small lamp was not lit in 1871. "
        for text in (weak + _FILLER * 12 + strong, strong + _FILLER * 12 + weak):
            found = await judged(NliLabeler(model), text, of)
            assert found.label is CONTRADICTS
        assert (await judged(NliLabeler(model), weak, of)).label is SUPPORTS

    async def test_the_title_says_what_a_window_is_about(self, model: NliModel) -> None:
        judge = NliLabeler(model)
        text = _FILLER * 10 + "It was lit in 1871."
        assert (await judged(judge, text)).label is IRRELEVANT
        titled = document(text, title="The lamp")
        found = await judge.label(_CLAIM, titled, UsageMeter())
        assert found.label is SUPPORTS
        assert found.snippet is not None
        assert found.snippet in text

    async def test_a_long_claim_gets_a_longer_pair_where_the_model_can_read_one(
        self, model: NliModel
    ) -> None:
        of = claim("The lamp was lit in 1871 " * 30)
        assert (await judged(NliLabeler(model), _DENIAL, of)).label is CONTRADICTS


class Saying(NliModel):
    """Gives the windows set verdicts in turn, and all further windows the last one."""

    def __init__(self, path: Path, said: Sequence[dict[Label, float]]) -> None:
        self._said = said
        super().__init__(path)

    def logits(self, pairs: Sequence[TokenPair]) -> list[dict[Label, float]]:
        return [self._said[min(place, len(self._said) - 1)] for place in range(len(pairs))]


class TestCalibration:
    async def test_the_score_is_the_calibrated_probability_of_the_deciding_window(
        self, model: NliModel
    ) -> None:
        text = _FILLER * 8 + _DENIAL
        plain = await judged(NliLabeler(model), text)
        # the logits of the denial: -6, 2, 0
        assert plain.score == pytest.approx(0.88054, abs=1e-4)
        shy = Calibration(temperature=2.0, fitted_on="these tests")
        assert (await judged(NliLabeler(model, calibration=shy), text)).score == pytest.approx(
            0.72141, abs=1e-4
        )

    async def test_a_temperature_changes_no_label(self, model_folder: Path) -> None:
        at_odds = Saying(
            model_folder,
            [
                {SUPPORTS: 3.0, CONTRADICTS: -6.0, IRRELEVANT: 1.5},
                {SUPPORTS: 0.0, CONTRADICTS: 2.5, IRRELEVANT: 0.0},
            ],
        )
        for temperature in (0.1, 1.0, 2.373, 20.0):
            fitted = Calibration(temperature=temperature, fitted_on="these tests")
            judge = NliLabeler(at_odds, calibration=fitted)
            found = await judged(judge, _FILLER * 10)
            said = await judge.logprobs(_CLAIM, document(_FILLER * 10), UsageMeter())
            assert found.label is CONTRADICTS
            assert found.score == pytest.approx(fitted.probabilities(said)[CONTRADICTS])

    def test_the_one_in_the_models_folder_is_used(self, tmp_path: Path) -> None:
        model = NliModel(make_nli_model(tmp_path))
        shy = Calibration(temperature=2.0, fitted_on="these tests")
        fitted = FittedCalibration(model=model.sha256, calibration=shy)
        assert NliLabeler(model).calibration == UNCALIBRATED
        (tmp_path / CALIBRATION_FILE).write_text(fitted.model_dump_json(), "utf-8")
        assert NliLabeler(model).calibration == shy
        assert NliLabeler(model, calibration=UNCALIBRATED).calibration == UNCALIBRATED

    @pytest.mark.parametrize(
        ("fields", "said"),
        [
            ({"model": "0" * 64}, "was fitted for the model 000.*, but this is"),
            ({"labeler": "choice"}, "labeler: Input should be 'nli'"),
            ({"calibration": {"temperature": 0, "fitted_on": "x"}}, r"calibration\.temperature"),
            ({"colour": "red"}, "colour"),
            ({"calibration": {"temperature": 1, "fitted_on": "x", "bias": {}}}, "bias"),
        ],
    )
    def test_one_of_another_labeler_or_model_is_refused(
        self, tmp_path: Path, fields: dict[str, object], said: str
    ) -> None:
        model = NliModel(make_nli_model(tmp_path))
        right = FittedCalibration(model=model.sha256, calibration=UNCALIBRATED)
        wrong = right.model_dump(mode="json") | fields
        (tmp_path / CALIBRATION_FILE).write_text(json.dumps(wrong), "utf-8")
        with pytest.raises(ConfigurationError, match=said) as caught:
            NliLabeler(model)
        assert "\n" not in str(caught.value)


_sentence = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)
_text = st.lists(_sentence, min_size=1, max_size=30).map(". ".join)


class TestManyPairs:
    @settings(max_examples=25)
    @given(
        claims=st.lists(_sentence, min_size=1, max_size=4),
        texts=st.lists(st.tuples(_text, st.sampled_from(["", "The lamp"])), min_size=1, max_size=5),
    )
    async def test_together_they_get_the_labels_that_they_get_one_by_one(
        self, model: NliModel, claims: list[str], texts: list[tuple[str, str]]
    ) -> None:
        judge = NliLabeler(model)
        pairs = [
            (claim(of, row), document(text, column, title))
            for column, (text, title) in enumerate(texts, 1)
            for row, of in enumerate(claims, 1)
        ]
        alone = [await judge.label(of, text, UsageMeter()) for of, text in pairs]
        assert await together(judge, pairs) == alone

    async def test_documents_of_one_number_are_not_taken_for_each_other(
        self, model: NliModel
    ) -> None:
        pairs = [(_CLAIM, document(_DENIAL, 1)), (claim(_CLAIM.text, 2), document("A ship.", 1))]
        found = await together(NliLabeler(model), pairs)
        assert [verdict.label for verdict in found] == [CONTRADICTS, IRRELEVANT]

    async def test_a_claim_that_leaves_no_room_is_unlabelled_and_the_others_are_judged(
        self, model: NliModel
    ) -> None:
        pairs = [(claim("lamp " * 600, 1), document(_DENIAL)), (claim(_CLAIM.text, 2), document())]
        long, short = await together(NliLabeler(model), pairs)
        assert long.label is Label.UNLABELLED
        assert "the claim has 600 tokens" in str(long.error)
        assert short.label is SUPPORTS

    async def test_pairs_that_come_first_are_reported_first(self, model: NliModel) -> None:
        texts = [document(f"{_FILLER * 60} {n}", n) for n in range(1, 6)]
        told: list[int] = []
        await NliLabeler(model).label_all(
            [(_CLAIM, text) for text in texts],
            UsageMeter(),
            lambda verdict: told.append(verdict.document),
        )
        assert told == [1, 2, 3, 4, 5]


_HALT = MARKS.index("[SEP]") + 1 + WORDS.index("1902")


class Halting(NliModel):
    """Waits at the first window with 1902 until it is released."""

    def __init__(self, path: Path) -> None:
        self.halted, self.go_on = threading.Event(), threading.Event()
        super().__init__(path)

    def logits(self, pairs: Sequence[TokenPair]) -> list[dict[Label, float]]:
        if any(_HALT in pair.ids for pair in pairs):
            self.halted.set()
            self.go_on.wait(60)
        return super().logits(pairs)


def wide() -> list[Document]:
    """Documents with so many windows each that no two are read together.

    A model reads 4 windows per thread at a time, on at most 16 threads.
    """
    text = f"{_DENIAL} {_FILLER * 330}"
    return [document(text, 1), document(f"{text} 1902", 2), document(f"{text} 1900", 3)]


class TestTable:
    async def test_a_stopped_run_resumes(self, model_folder: Path, tmp_path: Path) -> None:
        cache = ContentCache(tmp_path / "verdicts.sqlite")
        halting = Halting(model_folder)
        table = label_table(NliLabeler(halting), [_CLAIM], wide(), meter=UsageMeter(), cache=cache)
        running = asyncio.create_task(table)
        await asyncio.to_thread(halting.halted.wait, 30)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        halting.go_on.set()
        [row] = await label_table(
            NliLabeler(halting), [_CLAIM], wide(), meter=UsageMeter(), cache=cache
        )
        assert [pair.cached for pair in row.labels] == [True, False, False]
        assert {pair.label for pair in row.labels} == {CONTRADICTS}


_texts = st.lists(st.sampled_from([*WORDS, "\n", "ﷺ", "語", "\ud800", "[SEP]", "word" * 20])).map(
    " ".join
) | st.text(max_size=400)


@given(text=_texts, title=st.text(max_size=200), size=st.integers(48, 90))
def test_the_windows_hold_the_whole_document_and_none_is_too_long(
    model: NliModel, text: str, title: str, size: int
) -> None:
    read = document(text or "x", title=title)
    found = premises(read, size, model.tokenizer.vocabulary)
    assert not found.cut
    assert all(model.tokenizer.count(premise) <= size for premise in found.texts)
    place = 0
    for window in found.windows:  # each begins within or directly after the previous one
        start = read.text.find(window, max(0, place - len(window)))
        assert 0 <= start <= place
        place = max(place, start + len(window))
    assert place == len(read.text)


def test_windows_begin_and_end_where_sentences_do_and_overlap(model: NliModel) -> None:
    found = premises(document(_FILLER * 20), 60, model.tokenizer.vocabulary)
    assert len(found.windows) > 4
    for window in found.windows:
        assert window.startswith("The old")
        assert window.rstrip().endswith("great.")
    assert sum(map(len, found.windows)) > len(_FILLER * 20)


def test_the_title_precedes_each_window_and_is_not_part_of_it(model: NliModel) -> None:
    titled = document(_FILLER * 10, title=" The \n Lighthouse")
    found = premises(titled, 60, model.tokenizer.vocabulary)
    assert len(found.texts) > 2
    assert all(text.startswith("The Lighthouse. ") for text in found.texts)
    assert all(text.endswith(w) for text, w in zip(found.texts, found.windows, strict=True))
    assert "Lighthouse" not in "".join(found.windows)


@pytest.mark.parametrize(
    ("text", "title", "size", "read"),
    [
        ("The lamp was lit.", "", 60, "The lamp was lit."),
        ("Yes.", "Is it lit?", 60, "Is it lit? Yes."),  # no second full stop
        ("\nLog\nIt is lit.", "Log", 60, "\nLog\nIt is lit."),  # not twice
        ("It is lit.", "lamp " * 300, 48, " ".join(["lamp"] * 24) + ". It is lit."),
    ],
)
def test_a_short_document_is_one_window_under_its_title(
    model: NliModel, text: str, title: str, size: int, read: str
) -> None:
    found = premises(document(text, title=title), size, model.tokenizer.vocabulary)
    assert (found.windows, found.texts) == ((text,), (read,))


def test_a_document_with_more_windows_than_are_read_is_cut_and_says_so(model: NliModel) -> None:
    found = premises(document(_FILLER * 1000), 60, model.tokenizer.vocabulary)
    assert found.cut
    assert len(found.windows) == MOST_WINDOWS
    assert (_FILLER * 1000).startswith(found.windows[0])


async def test_documents_that_differ_only_in_their_date_have_verdicts_of_their_own(
    model: NliModel, tmp_path: Path
) -> None:
    documents = [
        Document(number=number, text="The lamp was lit.", metadata={"date": date})
        for number, date in enumerate(("in 1871", "in 1902"), 1)
    ]

    async def labels(*of: Document) -> list[Label]:
        cache = ContentCache(tmp_path / "verdicts.sqlite")
        judge = NliLabeler(model)
        [row] = await label_table(judge, [_CLAIM], of, meter=UsageMeter(), cache=cache)
        return [label.label for label in row.labels]

    apart = [label for document in documents for label in await labels(document)]
    assert apart[0] is SUPPORTS
    assert apart[1] is not SUPPORTS
    assert await labels(*documents) == apart
