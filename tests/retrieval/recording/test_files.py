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


def write(path: Path, *recordings: Recording) -> bytes:
    content = b"".join(map(encoded, recordings))
    path.write_bytes(content)
    return content


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "r.jsonl"


def test_each_question_is_found_where_it_stands(path: Path) -> None:
    write(path, *(recording(f"Où {n}?") for n in range(5)))

    index = RecordingIndex.of(path)

    assert index.questions == tuple(f"Où {n}?" for n in range(5))
    assert [index.get(f" Ou\u0300\n {n}?") for n in range(5)] == [
        recording(f"Où {n}?") for n in range(5)
    ]
    assert index.get("Où 5?") is None
    assert "Où 5?" not in index


def test_of_several_lines_with_a_question_the_last_one_counts(path: Path) -> None:
    write(path, recording("A?", "serper"), recording("B?"), recording(" A? ", "brave"))

    index = RecordingIndex.of(path)

    assert index.questions == (" A? ", "B?")
    assert index.get("A?") == recording(" A? ", "brave")


def test_a_file_cut_at_any_byte_keeps_its_whole_lines_and_is_resumed(path: Path) -> None:
    whole = write(path, recording("Où?"), recording("B?"))
    first = whole.index(b"\n") + 1

    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        index = RecordingIndex.of(path)
        # a line that misses nothing but its end is whole
        expected = (cut >= first - 1) + (cut >= len(whole) - 1)
        assert index.questions == ("Où?", "B?")[:expected]
        assert bool(index.half) == (cut not in {0, first - 1, first, len(whole) - 1, len(whole)})
        with RecordingWriter(path, SETTINGS) as writer:
            assert writer.index.questions == index.questions
            for question in ("Où?", "B?")[expected:]:
                writer.append(recording(question))
        assert path.read_bytes() == whole


def test_a_damaged_line_is_named_and_the_file_left_as_it_is(path: Path) -> None:
    lines = [encoded(recording(question)) for question in ("A?", "B?", "C?")]
    lines[1] = lines[1][:40] + b"\n"
    path.write_bytes(b"".join(lines))

    for reading in (RecordingIndex.of, lambda file: RecordingWriter(file, SETTINGS)):
        with pytest.raises(InputError, match=r"r\.jsonl, line 2[:,] "):
            reading(path)
    assert path.read_bytes() == b"".join(lines)


def test_other_text_at_the_end_is_not_taken_for_half_a_line(path: Path) -> None:
    content = encoded(recording("A?")) + b"and these are my notes"
    path.write_bytes(content)

    with pytest.raises(InputError, match=r"r\.jsonl, line 2: not JSON"):
        RecordingWriter(path, SETTINGS)
    assert path.read_bytes() == content


@pytest.mark.parametrize("content", ["These are my notes", '{"text": "my corpus"}', "[1", "{\n"])
def test_another_file_is_neither_read_nor_cut_nor_added_to(path: Path, content: str) -> None:
    path.write_text(content)

    with pytest.raises(InputError, match=r"r\.jsonl, line 1: not "):
        RecordingIndex.of(path)
    with pytest.raises(InputError, match=r"r\.jsonl, line 1: not "):
        RecordingWriter(path, SETTINGS)
    assert path.read_text() == content


def test_a_file_that_is_not_there_is_named(path: Path) -> None:
    with pytest.raises(InputError, match=r"r\.jsonl: cannot be read \(No such file"):
        RecordingIndex.of(path)


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
    path: Path, recorded: Recording, change: str
) -> None:
    before = write(path, recording("Z?"), recorded)
    path.write_bytes(before + b'{"format": 1, "qu')

    with pytest.raises(InputError, match=rf"r\.jsonl was recorded .*: {change}; rec") as refused:
        RecordingWriter(path, SETTINGS)
    assert path.read_bytes() == before + b'{"format": 1, "qu'
    path.write_bytes(encoded(recording("Z?")))
    with RecordingWriter(path, SETTINGS):  # the refused writer holds no lock
        assert str(refused.value)


def test_a_full_disk_is_one_line_and_costs_nothing_that_was_recorded(path: Path) -> None:
    content = write(path, recording("A?"))

    with RecordingWriter(path, SETTINGS) as writer:
        with no_room(len(content) + 50), pytest.raises(InputError) as refused:
            writer.append(recording("B?"))
        assert str(refused.value) == (
            f"{path}: cannot be written (File too large); make room there, and run the same command"
            " to resume from the questions recorded so far"
        )
        assert path.stat().st_size == len(content)
        writer.append(recording("B?"))

    with RecordingWriter(path, SETTINGS) as writer:
        assert writer.index.questions == ("A?", "B?")
