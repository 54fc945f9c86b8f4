"""Languages without spaces between words, or with endings that other languages lack."""

from pathlib import Path

import pytest

from conflictscore.graph.create import run_context
from conflictscore.graph.self_correction import build_scoring_graph
from conflictscore.labelers import NliLabeler
from conflictscore.labelers.quotes import quoted_spans
from conflictscore.retrieval import open_retrieval
from conflictscore.retrieval.ranking import BM25Ranker
from conflictscore.scripts import script_of, terms_in
from tests.fakes.openai_server import OpenAIServer
from tests.world import World, scripted_model

LIBRARY = {
    "chinese": ("灯塔于1874年首次点亮。", "渡轮每天早上八点出发。", "灯塔是哪一年点亮的？"),
    "japanese": (
        "灯台は1874年に初めて点灯した。",
        "フェリーは毎朝八時に出る。",
        "灯台はいつ点灯しましたか",
    ),
    "korean": (
        "등대는 1874년에 처음 불을 밝혔다.",
        "여객선은 매일 아침 여덟 시에 떠난다.",
        "등대가 처음 밝혀진 해",
    ),
    "thai": (
        "ประภาคารจุดไฟครั้งแรกในปี 1874",
        "เรือข้ามฟากออกทุกเช้าเวลาแปดโมง",
        "ประภาคารจุดไฟเมื่อไร",
    ),
}


@pytest.mark.parametrize("language", LIBRARY)
@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
def test_the_document_that_speaks_of_a_question_is_found(
    language: str, first: bool, tmp_path: Path
) -> None:
    about, aside, question = LIBRARY[language]
    for name, text in (("a", about), ("b", aside)) if first else (("b", about), ("a", aside)):
        (tmp_path / f"{name}.txt").write_text(text)

    found = open_retrieval(docs=[str(tmp_path)], top_k=1).invoke(question)

    assert [document.page_content for document in found] == [about]


def test_words_with_spaces_stay_words_and_others_become_pairs_of_characters() -> None:
    assert terms_in("Lit in 1874.") == ["lit", "in", "1874"]
    assert terms_in("点亮灯塔") == ["点亮", "亮灯", "灯塔"]
    assert terms_in("水") == ["水"]
    assert terms_in("등대는 lit") == ["등대", "대는", "lit"]


def test_a_script_goes_by_most_letters() -> None:
    assert [script_of(text) for text in ("Lit 1874", "灯塔 A", "등대", "12")] == [
        "LATIN",
        "CJK",
        "HANGUL",
        "",
    ]


async def test_a_labeler_says_what_it_has_not_learned() -> None:
    with OpenAIServer(World()) as server:
        context = run_context(scripted_model(server), labeler=NliLabeler.open(), cache=False)
        graph = build_scoring_graph(context)
        state = await graph.ainvoke(
            {"answer": "灯塔于1874年点亮。", "documents": [{"text": LIBRARY["chinese"][0]}]}
        )

    assert any("script that nli(minilm) was not trained on" in note for note in state["notes"])


@pytest.mark.parametrize(
    ("said", "quote", "found"),
    [
        ("x Cafe\u0301  Lumen", "café lumen", "Cafe\u0301  Lumen"),
        ("The o\ufb03cer left", "officer", "o\ufb03cer"),
        ("The engi-\nneers left", "engineers left", "engi-\nneers left"),
        ("A well-\nknown lamp", "a well-known lamp", "A well-\nknown lamp"),
        ("ein nord-\r\n  deutscher Turm", "nord-deutscher Turm", "nord-\r\n  deutscher Turm"),
        ("A well-known lamp", "well-\nknown", "well-known"),
        ("A well known lamp", "well-known", None),
        ("in 2010-\n2012", "2010-2012", None),
        (
            "archi\u00adtects, wel\u200bders",
            "architects, welders",
            "archi\u00adtects, wel\u200bders",
        ),
        ("“no” – １９３２", '"NO" - 1932', "“no” – １９３２"),
        ("die STRASSE", "straße", "STRASSE"),
        ("10⁶ litres", "106 litres", None),
        ("\u1112\u1161\u11ab\u1100\u116e\u11a8", "한국", "\u1112\u1161\u11ab\u1100\u116e\u11a8"),
    ],
)
def test_what_makes_no_difference_is_folded_and_offsets_are_kept(
    said: str, quote: str, found: str | None
) -> None:
    spans = quoted_spans(quote, said)
    assert [said[start:end] for start, end in spans] == ([found] if found else [])
    assert not found or BM25Ranker([said]).scores(quote)[0] > 0
