"""The blocks of its message that a changed answer keeps."""

import sys
from typing import Any

import pytest

from conflictscore.middleware.changed_blocks import with_text

CITED: Any = {"type": "text", "text": "The tower is white.", "citations": [{"url": "a"}], "id": "1"}
LIT: Any = {"type": "text", "text": " The lamp was lit in 1871.", "citations": [{"url": "b"}]}
THINKING: Any = {"type": "thinking", "thinking": "hm", "signature": "s"}
END: Any = {"type": "text", "text": " It is tall.", "annotations": [{"start_index": 0}]}
BEFORE = CITED["text"] + LIT["text"] + END["text"]


@pytest.mark.parametrize(
    "new", [" The lamp was lit in 1874.", " Sources disagree: 1871 or 1874. Nobody knows."]
)
def test_blocks_of_untouched_sentences_thinking_and_ids_stay(new: str) -> None:
    after = BEFORE.replace(LIT["text"], new)

    changed = with_text([THINKING, CITED, LIT, END], BEFORE, after)

    assert changed == [THINKING, CITED, {"type": "text", "text": new}, END]


def test_a_removed_sentence_takes_its_block_along() -> None:
    changed = with_text([CITED, LIT, END], BEFORE, BEFORE.replace(LIT["text"], ""))

    assert changed == [CITED, END]


def test_the_text_of_all_blocks_is_the_new_one_however_much_changed() -> None:
    after = "Nothing of that is so. The lamp was lit in 1874."

    changed = with_text([THINKING, CITED, LIT, END], BEFORE, after)

    assert changed[0] == THINKING
    texts = [block["text"] for block in changed[1:] if isinstance(block, dict)]
    assert "".join(texts) == after


def test_a_text_that_is_not_the_blocks_own_goes_into_the_first() -> None:
    assert with_text([THINKING, CITED, LIT], "other", "New.") == [
        THINKING,
        {"type": "text", "text": "New.", "id": "1"},
    ]


def test_a_plain_text_is_replaced() -> None:
    assert with_text("Old.", "Old.", "New.") == "New."


def test_a_long_answer_with_many_changes_takes_steps_in_proportion_to_its_length() -> None:
    def steps(sentences: int) -> int:
        old = [f"Sentence {n} says so. " for n in range(sentences)]
        new = [text if n % 2 else text.replace("says", "denies") for n, text in enumerate(old)]
        blocks: Any = [{"type": "text", "text": text, "citations": []} for text in old]
        lines = 0

        def count(frame: Any, event: str, argument: object) -> Any:
            nonlocal lines
            lines += event == "line"
            return count

        sys.settrace(count)
        try:
            changed = with_text(blocks, "".join(old), "".join(new))
        finally:
            sys.settrace(None)
        texts = [(block["text"], "citations" in block) for block in changed]  # type: ignore[index]
        assert texts == [(text, text == before) for text, before in zip(new, old, strict=True)]
        return lines

    assert steps(400) < 5 * steps(100)


def test_sentences_that_occur_twice_keep_their_blocks() -> None:
    parts = ["It is so. ", "It is so. ", "It was lit in 1871. ", "It is so. ", "It is so."]
    blocks: Any = [{"type": "text", "text": text, "citations": [n]} for n, text in enumerate(parts)]

    changed = with_text(blocks, "".join(parts), "".join(parts).replace("1871", "1874"))

    assert changed == [
        *blocks[:2],
        {"type": "text", "text": "It was lit in 1874. "},
        *blocks[3:],
    ]
