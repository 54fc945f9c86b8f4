"""Manifests of runs, and differences from them."""

from pathlib import Path
from typing import Any

import pytest

from conflictscore.benchmarks.harness.manifest import differences, found_in, read_manifest
from conflictscore.errors import InputError
from tests.benchmarks.harness.run_folders import manifest


def test_what_decides_the_figures_is_compared_field_by_field_but_not_time_and_versions() -> None:
    old = manifest(limit=30, judge={"name": "fake", "options": {}}, docs=None)
    new = manifest(
        model={"name": "fake", "parameters": {"temperature": 0.7, "top_p": 1}},
        judge=None,
        methods=("rag", "regenerated-rag"),
        docs=None,
    ).model_copy(update={"benchmark": "beacons", "hashes": {"documents": "ab"}})

    assert differences(old, new) == [
        'benchmark was "lighthouses" and is now "beacons"',
        "configuration.model.parameters.temperature was 0.0 and is now 0.7",
        "configuration.limit was 30 and is now missing",
        'configuration.judge.name was "fake" and is now missing',
        "configuration.judge.options was {} and is now missing",
        f'hashes.data was "{"0" * 39}... and is now missing',
        "configuration.model.parameters.top_p was missing and is now 1",
        "configuration.judge was missing and is now null",
        'hashes.documents was missing and is now "ab"',
    ]
    later = {"created": "later", "versions": {"python": "3.11.2", "conflictscore": "0.2.0"}}
    assert differences(old, old.model_copy(update=later)) == []


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"format": 1, "bench', r"damaged, or written by another program \(not JSON\)"),
        ("[]", "damaged, or written by another program"),
        ('{"format": 1, "benchmark": "x"}', r"damaged \(field created: Field required"),
        (
            '{"format": 3, "benchmark": "x", "versions": {"conflictscore": "0.9"}, "new": 1}',
            "the run has format 3, written by conflictscore 0.9, but this version reads formats up"
            " to 2; resume the run with the version that started it, or give another folder",
        ),
        (
            '{"format": "a", "benchmark": "x"}',
            'the run has format "a", written by conflictscore [?], but this version',
        ),
    ],
)
def test_a_manifest_that_cannot_be_used_is_named_with_the_reason(
    tmp_path: Path, content: str, words: str
) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(content)

    with pytest.raises(InputError, match=rf"manifest\.json: {words}") as refused:
        read_manifest(path)
    assert "\n" not in str(refused.value)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "old").mkdir(parents=True)
    (folder / "keeper.md").write_text("The lamp was lit in 1857.")
    (folder / "old" / "gazette.txt").write_text("It was 1859.")
    return folder


def test_the_hash_of_folders_goes_with_them_and_not_with_what_is_never_read(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = found_in(None, [tree])
    (tree / ".hidden.md").write_text("x")
    (tree / "picture.png").write_bytes(b"x")
    moved = tree.rename(tree.with_name("moved"))
    monkeypatch.chdir(moved.parent)

    assert found_in(None, [moved]) == found_in(None, ["moved"]) == before


@pytest.mark.parametrize("change", ["content", "name", "more", "order"])
def test_the_hash_of_folders_changes_with_what_is_read(tree: Path, change: str) -> None:
    paths: list[Any] = [tree / "old", tree / "keeper.md"]
    before = found_in(None, paths)
    gazette = tree / "old" / "gazette.txt"
    match change:
        case "content":
            gazette.write_text("It was 1858.")
        case "name":
            gazette.rename(tree / "old" / "other.txt")
        case "more":
            (tree / "old" / "logbook.txt").write_text("It was 1858.")
        case "order":
            paths.reverse()

    assert found_in(None, paths) != before


def test_a_path_that_is_not_there_has_no_hash(tree: Path) -> None:
    with pytest.raises(InputError, match="none: there is no such file or folder"):
        found_in(None, [tree, tree / "none"])
