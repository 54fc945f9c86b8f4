"""Installs the package with one extra at a time, by an old and a new pip, and tries each extra.

Each extra is installed in a fresh environment by pip 23.2, an old version that Python 3.11 came
with, and by the newest pip. Then the part of the package that needs the extra runs once: it reads a
PDF or a web page, labels a claim, starts the service, and so on. An extra that lacks a package
fails here, even if a different extra would install that package.
"""

import os
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Sequence
from pathlib import Path

import click

from tests.fakes.openai_server import OpenAIServer
from tests.middleware.service.serving import ChatWorld
from tests.retrieval.pdf_files import drawn, pdf

_PAGE = """
import http.server, threading
from ipaddress import ip_network
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from conflictscore.retrieval.pages.page import FetchSettings
from conflictscore.retrieval.pages.reader import PageReadingRetriever

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        text = "<p>The lamp was lit in 1874, says the log of the light.</p>" * 9
        body = f"<html><body><article><h1>Log</h1>{text}</article></body></html>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

class Search(BaseRetriever):
    url: str
    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(page_content="The lamp", metadata={"source": self.url})]

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
reach = FetchSettings(allowed_networks=(ip_network("127.0.0.0/8"),))
search = Search(url=f"http://127.0.0.1:{server.server_port}/")
(document,) = PageReadingRetriever(retriever=search, k=1, settings=reach).invoke("lamp")
print(document.metadata["text_from"], document.page_content)
"""
_SERVED = """
import re, subprocess, sys, urllib.request
serve = [sys.executable, "-m", "conflictscore", "serve", "--port", "0", "--docs", "docs"]
serve += ["--base-url", sys.argv[1], "--model", "m", "--no-cache"]
process = subprocess.Popen(serve, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
for line in process.stderr:
    if url := re.search(r"http://127[0-9.]+:[0-9]+", line):
        break
print(urllib.request.urlopen(url[0] + "/healthz").read().decode())
process.terminate()
"""
_TOOLS = """
import asyncio, sys
from mcp import Client, StdioServerParameters

async def main():
    words = ["-m", "conflictscore", "mcp", "--docs", "docs", "--no-cache", "--model", "m"]
    words += ["--base-url", sys.argv[1]]
    async with Client(StdioServerParameters(command=sys.executable, args=words)) as client:
        print([tool.name for tool in (await client.list_tools()).tools])

asyncio.run(main())
"""
_LABELLED = """
from conflictscore.labelers.nli.model import shared_model
model = shared_model(None)
pairs = model.tokenizer.pairs(["The lamp was lit in 1874."], "The lamp was lit in 1871.")
print(model.logits(pairs))
"""
_STORED = """
from conflictscore.errors import ConfigurationError
from conflictscore.storage.postgres import shared_tables
try:
    shared_tables("postgresql://127.0.0.1:9/none")
except ConfigurationError as error:
    print(error)
"""
_USES = {
    "bench": (
        "from conflictscore.benchmarks.harness.statistics import proportion, require_statistics\n"
        "import jinja2, matplotlib.figure, pyarrow.parquet, genai_prices\n"
        "require_statistics(); print(proportion(3, 9))",
        "value=0.333",
    ),
    "docs": (
        "from conflictscore.retrieval.document_files import read_documents\n"
        "print(read_documents(['log.pdf']).documents[0].text)",
        "lit in 1874",
    ),
    "fetch": (_PAGE, "page"),
    "inspect": (
        "from conflictscore.benchmarks import inspect_tasks; print(inspect_tasks.__name__)",
        "inspect_tasks",
    ),
    "langchain": (
        "from conflictscore.middleware.agent import *\n"
        "from langchain.agents import create_agent; print('agent')",
        "agent",
    ),
    "local": ("import xllamacpp, onnxruntime; print('local')", "local"),
    "mcp": (_TOOLS, "score"),
    "nli": (_LABELLED, "CONTRADICTS"),
    "offline-tokens": (
        "from conflictscore.tokens import count_tokens; print(count_tokens(' information' * 40))",
        "40",
    ),
    "postgres": (_STORED, "cannot be used"),
    "serve": (_SERVED, "ok"),
    "socks": (
        "import httpx; from conflictscore.proxies import require_socks\n"
        "require_socks('socks5://127.0.0.1:9'); httpx.Client(proxy='socks5://127.0.0.1:9')\n"
        "print('socks')",
        "socks",
    ),
}


@click.command(help=__doc__)
@click.option("--pip", "pips", multiple=True, default=["23.2", "newest"], show_default=True)
@click.option("--extra", "extras", multiple=True, default=tuple(_USES), show_default=True)
def main(pips: Sequence[str], extras: Sequence[str]) -> None:
    """See the module."""
    failed = 0
    with tempfile.TemporaryDirectory() as folder, OpenAIServer(ChatWorld()) as server:
        build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps"]
        build += [f"--wheel-dir={folder}", "."]
        subprocess.run(build, check=True)  # noqa: S603 - this module's command
        [wheel] = Path(folder).glob("conflictscore*.whl")
        for extra in extras:
            for pip in pips:
                begun = time.monotonic()
                fault = _fault(wheel, extra, pip, server.base_url)
                seconds = time.monotonic() - begun
                failed += bool(fault)
                click.echo(f"{extra:<15} pip {pip:<7} {seconds:4.0f} s  {fault or 'works'}")
    raise SystemExit(bool(failed))


def _fault(wheel: Path, extra: str, pip: str, base_url: str) -> str:
    """Return an extra's failure in a fresh environment; empty if the extra works."""
    script, expected = _USES[extra]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "env", with_pip=True)
        python = str(folder / "env" / "bin" / "python")
        (folder / "docs").mkdir()
        (folder / "docs" / "log.txt").write_text("The lamp was lit in 1874.\n", "utf-8")
        (folder / "log.pdf").write_bytes(pdf(drawn("The lamp was lit in 1874.")))
        version = ["-U", "pip"] if pip == "newest" else [f"pip=={pip}"]
        for command in (
            [python, "-m", "pip", "install", "-q", *version],
            [python, "-m", "pip", "install", "-q", f"{wheel}[{extra}]"],
            [python, "-c", script, base_url],
        ):
            process = _run(command, folder)
            if process.returncode:
                lines = process.stderr.strip().split("\n")
                return f"{' '.join(command[1:4])[:40]}: {lines[-1][:200]}"
        return "" if expected in process.stdout else f"prints {process.stdout[:200]!r}"


def _run(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    environment["OPENAI_API_KEY"] = "none"
    return subprocess.run(  # noqa: S603 - the commands above
        command, capture_output=True, text=True, cwd=folder, env=environment, check=False
    )


if __name__ == "__main__":
    main()
