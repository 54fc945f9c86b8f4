"""The command ``mcp``."""

import signal
from functools import partial
from typing import Any

import click
from click.core import ParameterSource

from conflictscore.cli.common import chosen_spec, open_context, open_retriever, run_async
from conflictscore.cli.options import (
    ManyDocs,
    with_call_budget,
    with_model_options,
    with_run_settings,
    with_search_options,
)
from conflictscore.cli.serve import prepare, run_server, with_address_options
from conflictscore.errors import InputError

_FOR_HTTP = ("host", "port", "key_file", "no_auth")

_MCP_EXAMPLES = """\b
Examples:
  conflictscore mcp --docs ~/notes
  conflictscore mcp --search serper --model openai:gpt-4.1-mini
  conflictscore mcp --transport http --docs notes/

\b
In a client's configuration (use absolute paths, since a client may start the server in any folder):
  {"mcpServers": {"conflictscore":
    {"command": "conflictscore", "args": ["mcp", "--docs", "/path/to/notes"]}}}
"""


@click.command(
    cls=ManyDocs,
    epilog=_MCP_EXAMPLES,
    short_help="Offer agents the tools score, correct and ask over MCP.",
)
@click.option(
    "--transport",
    type=click.Choice(["stdio", "http"]),
    default="stdio",
    show_default=True,
    help="How clients connect: over stdio if the client starts this command, or over "
    "streamable HTTP at /mcp.",
)
@partial(with_address_options, port=8410)
@with_search_options
@with_run_settings
@with_call_budget
@with_model_options
def mcp(transport: str, host: str, port: int, **options: Any) -> None:
    """Serve three tools to agents over the Model Context Protocol (MCP).

    The tool `score` shows which documents support and contradict each claim of an answer.

    The tool `correct` corrects an existing answer where documents disagree with it.

    The tool `ask` answers a question from documents, then checks and corrects the answer.

    Documents come from --docs, from --search, or from the call itself. The first call that needs a
    local model starts it, and downloads it if it is missing.
    """
    from conflictscore.middleware.mcp_server import http_app, mcp_server
    from conflictscore.middleware.service import ServiceSettings
    from conflictscore.middleware.service.admission import Access
    from conflictscore.retrieval.discreet import discreet
    from conflictscore.retrieval.providers import configured_search
    from conflictscore.threads import run_once

    if transport == "stdio":
        source = click.get_current_context().get_parameter_source
        for name in _FOR_HTTP:
            # a variable or settings file may set them for other starts of this command
            if source(name) is ParameterSource.COMMANDLINE:
                raise InputError(f"--{name.replace('_', '-')} needs --transport http")
    keys = prepare(host, options, network=transport == "http")
    searches = options["docs"] or options["search"] or configured_search()
    retriever = open_retriever(options) if searches else None
    if transport == "http":  # over HTTP, the caller may be anyone
        retriever = discreet(retriever)
    spec = options["model"] = chosen_spec(options)
    context = run_once(partial(open_context, options, retriever=retriever))
    # Remote models are opened now, so that a missing key ends the command, not the first call. A
    # local model is opened later, since a download would delay the client.
    if not any(
        model_spec and model_spec.partition(":")[0] == "local"
        for model_spec in (spec, options["judge"])
    ):
        context()
    server = mcp_server(context, retriever)
    if transport == "stdio":
        click.echo(f"MCP on stdin and stdout, with the model {spec}", err=True)
        # only the default action of Ctrl-C can end a blocking read of stdin
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        run_async(server.run_stdio_async())
        return
    access = Access(
        ServiceSettings(keys=keys, key_file=options["key_file"], no_auth=options["no_auth"])
    )
    about = f"/mcp with the model {spec}"
    run_server(http_app(server, access), access, (host, port), about)
