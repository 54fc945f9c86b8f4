"""Making documents fit a context window."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel

from conflictscore.errors import ContextWindowError
from conflictscore.models import Fitted, fit_documents
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.spec import from_chat_model
from conflictscore.prompts import PromptSet
from conflictscore.records import Document
from conflictscore.tokens import count_tokens

PROMPTS = PromptSet.load()
AROUND = PROMPTS.render("free_form_rag", documents="", question="Is the sky blue?")
_CUT = re.compile(r"\n\[The rest .*: (\d+) of its (\d+) characters are shown\.\]$")


def model(window: int, *, thinking: int = 0) -> LanguageModel:
    opened = from_chat_model(GenericFakeChatModel(messages=iter([])), context_window=window)
    return LanguageModel(**{**vars(opened), "thinking_tokens": thinking})


def numbered(*texts: str) -> list[Document]:
    return [Document(number=n, text=text, title="T") for n, text in enumerate(texts, start=1)]


def fit(
    documents: list[Document],
    window: int,
    *,
    reply: int = 100,
    thinking: int = 0,
    prompts: PromptSet = PROMPTS,
) -> Fitted:
    return fit_documents(
        documents, model(window, thinking=thinking), prompts, around=AROUND, reply_tokens=reply
    )


def prompt_tokens(fitted: Fitted) -> int:
    shown = PROMPTS.documents(fitted.documents)
    prompt = PROMPTS.render("free_form_rag", documents=shown, question="Is the sky blue?")
    return count_tokens(prompt)


def test_short_documents_stay_whole_and_the_long_ones_share_what_is_left_evenly() -> None:
    documents = numbered("sky " * 3000, "The sky is blue.", "sky " * 9000, "Grey. " * 30)
    fitted = fit(documents, 2000)
    assert fitted.cut == (1, 3)
    assert [d.number for d in fitted.documents] == [1, 2, 3, 4]
    assert (fitted.documents[1], fitted.documents[3]) == (documents[1], documents[3])
    first, third = (count_tokens(fitted.documents[index].text) for index in (0, 2))
    assert abs(first - third) <= 2
    assert first > 500


def test_a_cut_document_ends_with_a_mark_that_tells_how_much_is_shown() -> None:
    text = "".join(f"{number} blue skies. " for number in range(3000))
    (document,) = fit(numbered(text), 1000).documents
    mark = _CUT.search(document.text)
    assert mark is not None
    shown, total = map(int, mark.groups())
    assert total == len(text)
    assert document.text[: mark.start()] == text[:shown]
    assert document.title == "T"


def test_the_room_is_used() -> None:
    fitted = fit(numbered("sky " * 9000), 4096)
    assert prompt_tokens(fitted) > 0.8 * (4096 - 100)


def test_the_reply_and_the_thinking_take_their_room_from_the_documents() -> None:
    documents = numbered("sky " * 9000)
    plain = prompt_tokens(fit(documents, 4096))
    assert prompt_tokens(fit(documents, 4096, reply=1100)) == pytest.approx(
        plain - 1000 / 1.15, abs=3
    )
    thinking = prompt_tokens(fit(documents, 4096, thinking=1000))
    assert thinking == pytest.approx(plain - 1000 / 1.15, abs=3)


@pytest.mark.parametrize("window", [0, 150, 400])
def test_a_window_that_is_too_small_is_refused_with_what_to_do(window: int) -> None:
    with pytest.raises(ContextWindowError) as refused:
        fit(numbered(*["sky " * 500] * 6), window or 1)
    message = str(refused.value)
    assert f"({window or 1} tokens) is too small for 6 documents" in message
    assert "top_k" in message
    assert "generic-fake-chat-model" in message


def test_a_cut_mark_that_takes_all_the_room_is_refused_with_what_to_do(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("prompts")
    (folder / "cut.txt").write_text("left out " * 500 + "$shown $total", "utf-8")
    with pytest.raises(ContextWindowError, match=r"too small for document 1; .*top_k"):
        fit(numbered("sky " * 9000), 600, prompts=PromptSet.load(folder=folder))


_TEXTS = st.builds(
    lambda piece, times, end: piece * times + end,
    st.sampled_from(
        ["sky ", "Blue skies.\n", "<document>", "</ claim >", "\x00", "\r\n", "空", "🙂"]
    )
    | st.text(min_size=1, max_size=8),
    st.integers(1, 1500),
    st.text(max_size=5),
)


@given(st.lists(_TEXTS, min_size=1, max_size=7), st.integers(200, 3000), st.integers(1, 600))
@example(["空" * 1500] * 7, 1200, 100)
def test_fitted_documents_always_fit(texts: list[str], window: int, reply: int) -> None:
    documents = numbered(*texts)
    try:
        fitted = fit(documents, window, reply=reply)
    except ContextWindowError:
        whole = prompt_tokens(Fitted(tuple(documents), ()))
        assert (whole + 80) * 1.15 + reply > window
        return
    assert prompt_tokens(fitted) + reply <= window
    for before, after in zip(documents, fitted.documents, strict=True):
        if before.number in fitted.cut:
            mark = _CUT.search(after.text)
            assert mark is not None
            assert after.text[: mark.start()] == before.text[: int(mark[1])]
            assert int(mark[1]) < int(mark[2]) == len(before.text)
        else:
            assert after == before
