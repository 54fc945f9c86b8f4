"""The file as a whole: where questions stand, what a kill leaves, and who may write."""

from pathlib import Path

import pytest

from conflictscore.errors import InputError
from conflictscore.retrieval.recording.file import RecordingIndex, RecordingWriter
from conflictscore.retrieval.recording.format import Recording, SearchSettings, encoded
from tests.full_disk import no_room

SETTINGS = SearchSettings(search="serper", parameters={"top_k": 10})


def recording(question: str, search: str = "serper", top_k: int = 10) -> Recording:
    return Recording(
        question=question,
        search=search,
        parameters={"top_k": top_k},
        recorded_at="2026-11-21T09:30:00+00:00",
        notes=(),
        results=(),
    )


def write(out: Path, *recordings: Recording) -> bytes:
    content = b"".join(map(encoded, recordings))
    out.write_bytes(content)
    return content


def test_each_question_is_found_where_it_stands(out: Path) -> None:
    write(out, *(recording(f"Où {n}?") for n in range(5)))

    index = RecordingIndex.of(out)

    assert index.questions == tuple(f"Où {n}?" for n in range(5))
    assert [index.get(f" Ou\u0300\n {n}?") for n in range(5)] == [
        recording(f"Où {n}?") for n in range(5)
    ]
    assert index.get("Où 5?") is None
    assert "Où 5?" not in index


def test_of_several_lines_with_a_question_the_last_one_counts(out: Path) -> None:
    write(out, recording("A?", "serper"), recording("B?"), recording(" A? ", "brave"))

    index = RecordingIndex.of(out)

    assert index.questions == (" A? ", "B?")
    assert index.get("A?") == recording(" A? ", "brave")


def test_a_file_cut_at_any_byte_keeps_its_whole_lines_and_is_resumed(out: Path) -> None:
    whole = write(out, recording("Où?"), recording("B?"))
    first = whole.index(b"\n") + 1

    for cut in range(len(whole) + 1):
        out.write_bytes(whole[:cut])
        index = RecordingIndex.of(out)
        # a line that misses nothing but its end is whole
        expected = (cut >= first - 1) + (cut >= len(whole) - 1)
        assert index.questions == ("Où?", "B?")[:expected]
        assert bool(index.half) == (cut not in {0, first - 1, first, len(whole) - 1, len(whole)})
        with RecordingWriter(out, SETTINGS) as writer:
            assert writer.index.questions == index.questions
            for question in ("Où?", "B?")[expected:]:
                writer.append(recording(question))
        assert out.read_bytes() == whole


def test_a_damaged_line_is_named_and_the_file_left_as_it_is(out: Path) -> None:
    lines = [encoded(recording(question)) for question in ("A?", "B?", "C?")]
    lines[1] = lines[1][:40] + b"\n"
    out.write_bytes(b"".join(lines))

    for reading in (RecordingIndex.of, lambda file: RecordingWriter(file, SETTINGS)):
        with pytest.raises(InputError, match=r"r\.jsonl, line 2[:,] "):
            reading(out)
    assert out.read_bytes() == b"".join(lines)


def test_other_text_at_the_end_is_not_taken_for_half_a_line(out: Path) -> None:
    content = encoded(recording("A?")) + b"and these are my notes"
    out.write_bytes(content)

    with pytest.raises(InputError, match=r"r\.jsonl, line 2: not JSON"):
        RecordingWriter(out, SETTINGS)
    assert out.read_bytes() == content


@pytest.mark.parametrize("content", ["These are my notes", '{"text": "my corpus"}', "[1", "{\n"])
def test_another_file_is_neither_read_nor_cut_nor_added_to(out: Path, content: str) -> None:
    out.write_text(content)

    with pytest.raises(InputError, match=r"r\.jsonl, line 1: not "):
        RecordingIndex.of(out)
    with pytest.raises(InputError, match=r"r\.jsonl, line 1: not "):
        RecordingWriter(out, SETTINGS)
    assert out.read_text() == content


def test_a_file_that_is_not_there_is_named(out: Path) -> None:
    with pytest.raises(InputError, match=r"r\.jsonl: cannot be read \(No such file"):
        RecordingIndex.of(out)


@pytest.mark.parametrize(
    ("recorded", "change"),
    [
        (recording("A?", "brave"), "search 'brave' there and 'serper' now"),
        (recording("A?", top_k=5), "top_k 5 there and 10 now"),
        (
            recording("A?").model_copy(update={"parameters": {"read_pages": True}}),
            "read_pages True there and None now, top_k None there and 10 now",
        ),
    ],
)
def test_other_settings_are_refused_with_what_differs(
    out: Path, recorded: Recording, change: str
) -> None:
    before = write(out, recording("Z?"), recorded)
    out.write_bytes(before + b'{"format": 1, "qu')

    with pytest.raises(InputError, match=rf"r\.jsonl was recorded .*: {change}; rec") as refused:
        RecordingWriter(out, SETTINGS)
    assert out.read_bytes() == before + b'{"format": 1, "qu'
    out.write_bytes(encoded(recording("Z?")))
    with RecordingWriter(out, SETTINGS):  # the refused writer holds no lock
        assert str(refused.value)


def test_a_full_disk_is_one_line_and_costs_nothing_that_was_recorded(out: Path) -> None:
    content = write(out, recording("A?"))

    with RecordingWriter(out, SETTINGS) as writer:
        with no_room(len(content) + 50), pytest.raises(InputError) as refused:
            writer.append(recording("B?"))
        assert str(refused.value) == (
            f"{out}: cannot be written (File too large); make room there, and run the same command"
            " to resume from the questions recorded so far"
        )
        assert out.stat().st_size == len(content)
        writer.append(recording("B?"))

    with RecordingWriter(out, SETTINGS) as writer:
        assert writer.index.questions == ("A?", "B?")
