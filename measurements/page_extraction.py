"""How fast pages are read, and what of them is kept, on made-up articles of 10 kB to 5 MB.

The articles are written from the seed, served from loopback and read as search results are: eight
at once, by the same fetcher and the same extraction processes. In the same run the same pages are
fetched without a look into them, and taken to plain text, menus and all, by selectolax; figures
are comparable within a run only. Needs the extra ``fetch``.
"""

import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from ipaddress import ip_network
from pathlib import Path

import click
from langchain_core.documents import Document

from conflictscore.retrieval.base import TopKRetriever
from conflictscore.retrieval.pages.extractor import shared_extractor
from conflictscore.retrieval.pages.page import FetchedPage, FetchSettings
from conflictscore.retrieval.pages.reader import PageReadingRetriever

__all__ = ["article", "main"]

_SMALLEST, _LARGEST = 10_000, 5_000_000
_AT_ONCE = 8
_SETTINGS = FetchSettings(timeout=600, allowed_networks=(ip_network("127.0.0.0/8"),))
_SYLLABLES = [c + v for c in "bdklmnrs" for v in "aeo"]
_SMALL_WORDS = ("the", "of", "and", "to", "in", "a", "is", "that", "was", "for", "it", "with", "as")
KEPT, AROUND = "articlemark", "noticemark"
"""A word of every paragraph of an article, and one of everything that stands around it."""


class _Listed(TopKRetriever):
    """Finds all pages, by their addresses."""

    urls: tuple[str, ...]

    def search(self, query: str, k: int) -> list[Document]:
        return [Document(page_content="", metadata={"source": url}) for url in self.urls[:k]]


def article(size: int, draw: random.Random) -> tuple[str, int]:
    """A web page of about this many bytes, and how many paragraphs its article has.

    Four tenths of it are not its article: styles, scripts, menus, notices, teasers and comments.
    """
    words = ["".join(draw.choices(_SYLLABLES, k=draw.randint(2, 4))) for _ in range(3000)]

    def sentence(*marks: str) -> str:
        drawn = draw.choices(words, k=12) + draw.choices(_SMALL_WORDS, k=8)
        draw.shuffle(drawn)
        return " ".join([*marks, *drawn]).capitalize() + "."

    def links(count: int) -> str:
        return "".join(
            f"<li><a href='/{draw.choice(words)}'>{AROUND} {' '.join(draw.choices(words, k=4))}</a>"
            for _ in range(count)
        )

    code = "".join(
        f".{draw.choice(words)}{{margin:{n}px}}" for n in range(max(1, size * 3 // 10 // 20))
    )
    head = (
        f"<!doctype html><html lang=en><head><meta charset=utf-8><title>{sentence()}</title>"
        f"<meta property='article:published_time' content='2024-0{draw.randint(1, 9)}-11'>"
        f"<style>{code[: len(code) // 2]}</style><script>var s='{code[len(code) // 2 :]}'</script>"
        f"</head><body><header><nav><ul>{links(20)}</ul></nav></header><div class=cookie-banner>"
        f"<p>{sentence(AROUND)}</p></div><main><article><h1>{sentence()}</h1>"
    )
    tail = (
        f"</article><aside class=related><ul>{links(12)}</ul></aside><section class=comments "
        f"id=comments>{''.join(f'<p>{sentence(AROUND)}</p>' for _ in range(10))}</section></main>"
        f"<footer><ul>{links(15)}</ul><p>{sentence(AROUND)}</p></footer></body></html>"
    )
    body, paragraphs, room = [], 0, size - len(head) - len(tail)
    while room > 0 or not paragraphs:
        text = " ".join(sentence() for _ in range(draw.randint(2, 6)))
        block = f"<p>{KEPT} {text}</p>\n"
        if paragraphs % 8 == 7:
            block += f"<h2>{sentence()}</h2><ul><li>{sentence()}<li>{sentence()}</ul>\n"
        body.append(block)
        paragraphs += 1
        room -= len(block)
    return head + "".join(body) + tail, paragraphs


@click.command(help=__doc__)
@click.option("--pages", default=200, show_default=True, type=click.IntRange(1))
@click.option("--seed", default=0, show_default=True)
def main(pages: int, seed: int) -> None:
    """Write, serve and read the pages, and print the figures."""
    draw = random.Random(seed)  # noqa: S311 - made-up pages
    with tempfile.TemporaryDirectory() as folder:
        files, paragraphs = [], []
        for number in range(pages):
            size = int(_SMALLEST * (_LARGEST / _SMALLEST) ** draw.random())
            text, count = article(size, draw)
            files.append(Path(folder, f"{number}.html"))
            files[-1].write_text(text, "utf-8")
            paragraphs.append(count)
        megabytes = sum(file.stat().st_size for file in files) / 1e6
        click.echo(f"{pages} pages, {megabytes:.0f} MB, seed {seed}, {os.cpu_count()} cores")
        with _served(folder) as address:
            asyncio.run(_measure([f"{address}/{file.name}" for file in files], files, paragraphs))
    shared_extractor().close()  # only of a process that has ended is it known what it held
    click.echo(f"peak memory of this process {_peak_megabytes()[0]:.0f} MB", nl=False)
    click.echo(f", of its largest child {_peak_megabytes()[1]:.0f} MB")


@contextmanager
def _served(folder: str) -> Iterator[str]:
    """The folder's address on loopback, served by a process of its own."""
    server = subprocess.Popen(  # noqa: S603 - this interpreter and a folder of our own
        [sys.executable, "-u", "-m", "http.server", "0", "-b", "127.0.0.1", "-d", folder],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert server.stdout is not None  # noqa: S101 - a pipe: see above
        yield server.stdout.readline().split("(")[1].split("/)")[0]
    finally:
        server.kill()
        server.communicate()


async def _measure(urls: Sequence[str], files: Sequence[Path], paragraphs: Sequence[int]) -> None:
    from conflictscore.retrieval.pages.extract import decode, whole_text
    from conflictscore.retrieval.pages.fetch import PageFetcher

    click.echo(f"{'':24} {'pages/s':>8} {'of fetching alone':>18}")
    extractor = shared_extractor()
    async with PageFetcher(_SETTINGS) as fetcher:

        async def plain(url: str) -> None:
            body = (await fetcher.fetch(url)).body
            await asyncio.to_thread(lambda: whole_text(decode(body, None, html=True)))

        async def extract(file: str) -> None:
            body = Path(file).read_bytes()[: _SETTINGS.max_bytes]  # noqa: ASYNC240 - a local file
            await extractor.extract(FetchedPage(file, "http://a.example/", "text/html", None, body))

        fetching = await _paced(fetcher.fetch, urls)
        _print_pace("fetch alone", fetching, fetching)
        _print_pace("fetch and plain text", await _paced(plain, urls), fetching)
        _print_pace("extraction alone", await _paced(extract, list(map(str, files))), fetching)
    retriever = PageReadingRetriever(
        retriever=_Listed(urls=tuple(urls)), k=len(urls), settings=_SETTINGS, deadline=36_000
    )
    started = time.perf_counter()
    read = await retriever.ainvoke("all")
    _print_pace("fetch and extraction", len(urls) / (time.perf_counter() - started), fetching)
    _print_quality(read, paragraphs)


async def _paced(work: Callable[[str], Awaitable[object]], items: Sequence[str]) -> float:
    """Items a second, eight at once."""
    turn = asyncio.Semaphore(_AT_ONCE)

    async def one(item: str) -> None:
        async with turn:
            await work(item)

    started = time.perf_counter()
    await asyncio.gather(*map(one, items))
    return len(items) / (time.perf_counter() - started)


def _print_pace(what: str, pace: float, fetching: float) -> None:
    click.echo(f"{what:24} {pace:>8.1f} {pace / fetching:>18.2f}")


def _print_quality(read: Sequence[Document], paragraphs: Sequence[int]) -> None:
    whole = [
        (document.page_content.lower(), count)
        for document, count in zip(read, paragraphs, strict=True)
        if document.metadata["text_from"] == "page" and "page_truncated" not in document.metadata
    ]
    failed = sum(document.metadata["text_from"] == "snippet" for document in read)
    click.echo(f"{failed} pages failed, {len(read) - failed - len(whole)} were cut")
    if whole:
        kept = sum(text.count(KEPT) for text, _ in whole)
        around = sum(text.count(AROUND) for text, _ in whole)
        total = sum(count for _, count in whole)
        click.echo(f"of {len(whole)} whole ones {kept} of {total} paragraphs were kept, ", nl=False)
        click.echo(f"with {around} menu entries, notices and comments")


def _peak_megabytes() -> tuple[float, float]:
    """The most memory that this process, and a child that has ended, ever held."""
    import resource

    unit = 1e6 if sys.platform == "darwin" else 1e3
    return tuple(  # type: ignore[return-value]
        resource.getrusage(who).ru_maxrss / unit
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )


if __name__ == "__main__":
    main()
