"""Tries clients of OpenAI's APIs on the service: real packages, with only the address changed.

A scripted upstream answers wrongly, two documents of three contradict it, and the service corrects
it. For each client and API the table says whether an answer came, whether it was the corrected one,
and where the client reads `checked`: in a response header, in a field of the response, or in the
run that the response's id names. It says "not there" if a package is missing:

    pip install openai-agents 'pydantic-ai-slim[openai]' instructor langchain-openai  # --python
    npm install ai @ai-sdk/openai @ai-sdk/openai-compatible openai @openai/agents     # --node
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import click
import httpx2

from tests.fakes.openai_server import OpenAIServer
from tests.middleware.service.serving import QUESTION, ChatWorld, Served, serving

_CORRECTED = "It was lit in 1874."
_SECONDS = 120
_HEADER, _FIELD = "x-conflictscore-checked", "conflictscore"


class _Client(NamedTuple):
    name: str
    runs_on: str
    """"python" or "node"."""
    script: str
    """The script prints text, header, field and response id as JSON; Q is the question."""


_OPENAI_PYTHON = "import openai, json\nc = openai.OpenAI()\n"
_AGENTS = """
import asyncio, json
from agents import Agent, Runner, set_tracing_disabled
set_tracing_disabled(True)
agent = Agent(name="Guide", instructions="Be brief.", model="conflictscore")
"""
_AI_SDK = """
import { generateText, streamText } from 'ai';
import { openai } from '@ai-sdk/openai';
const show = (text, r) => console.log(JSON.stringify({text, header: r.headers?.['HEADER'],
  field: r.body?.conflictscore?.checked, id: r.id}));
"""
_PY_SHOW = "print(json.dumps({'text': text, 'header': header, 'field': field, 'id': id_}))\n"

_CLIENTS = (
    _Client(
        "openai, chat.completions",
        "python",
        _OPENAI_PYTHON + "raw = c.chat.completions.with_raw_response.create(model='conflictscore',"
        " messages=[{'role': 'user', 'content': Q}])\nr = raw.parse()\n"
        "text, header, field, id_ = r.choices[0].message.content, raw.headers.get('HEADER'),"
        " r.conflictscore['checked'], r.id\n" + _PY_SHOW,
    ),
    _Client(
        "openai, responses",
        "python",
        _OPENAI_PYTHON
        + "raw = c.responses.with_raw_response.create(model='conflictscore', input=Q)\n"
        "r = raw.parse()\ntext, header, field, id_ = r.output_text, raw.headers.get('HEADER'),"
        " r.conflictscore['checked'], r.id\n" + _PY_SHOW,
    ),
    _Client(
        "openai, responses.stream",
        "python",
        _OPENAI_PYTHON + "with c.responses.stream(model='conflictscore', input=Q) as s:\n"
        "    r = s.get_final_response()\n"
        "text, header, field, id_ = r.output_text, None, r.conflictscore['checked'], r.id\n"
        + _PY_SHOW,
    ),
    _Client(
        "langchain-openai, ChatOpenAI",
        "python",
        "import json\nfrom langchain_openai import ChatOpenAI\n"
        "m = ChatOpenAI(model='conflictscore', include_response_headers=True).invoke(Q)\n"
        "d = m.response_metadata\ntext, header, field, id_ = m.text, d['headers'].get('HEADER'),"
        " None, d.get('id')\n" + _PY_SHOW,
    ),
    _Client(
        "openai-agents, Runner.run",
        "python",
        _AGENTS + "r = Runner.run_sync(agent, Q)\n"
        "text, header, field, id_ = r.final_output, None, None, r.raw_responses[-1].response_id\n"
        + _PY_SHOW,
    ),
    _Client(
        "openai-agents, run_streamed",
        "python",
        _AGENTS + "async def go():\n    s = Runner.run_streamed(agent, Q)\n"
        "    async for _ in s.stream_events():\n        pass\n    return s\n"
        "r = asyncio.run(go())\n"
        "text, header, field, id_ = r.final_output, None, None, r.raw_responses[-1].response_id\n"
        + _PY_SHOW,
    ),
    _Client(
        "pydantic-ai, openai-chat",
        "python",
        "import json\nfrom pydantic_ai import Agent\n"
        "r = Agent('openai-chat:conflictscore').run_sync(Q)\n"
        "m = r.all_messages()[-1]\ntext, header, field, id_ = r.output, None, None,"
        " m.provider_response_id\n" + _PY_SHOW,
    ),
    _Client(
        "pydantic-ai, openai-responses",
        "python",
        "import json\nfrom pydantic_ai import Agent\n"
        "r = Agent('openai-responses:conflictscore').run_sync(Q)\n"
        "m = r.all_messages()[-1]\ntext, header, field, id_ = r.output, None, None,"
        " m.provider_response_id\n" + _PY_SHOW,
    ),
    _Client(
        "ai, openai() generateText",
        "node",
        _AI_SDK + "const r = await generateText({model: openai('conflictscore'), prompt: Q});\n"
        "show(r.text, r.response);\n",
    ),
    _Client(
        "ai, openai() streamText",
        "node",
        _AI_SDK + "const r = streamText({model: openai('conflictscore'), prompt: Q});\n"
        "let text = ''; for await (const part of r.textStream) text += part;\n"
        "show(text, await r.response);\n",
    ),
    _Client(
        "ai, openai.chat() generateText",
        "node",
        _AI_SDK
        + "const r = await generateText({model: openai.chat('conflictscore'), prompt: Q});\n"
        "show(r.text, r.response);\n",
    ),
    _Client(
        "ai, openai-compatible",
        "node",
        _AI_SDK + "import { createOpenAICompatible } from '@ai-sdk/openai-compatible';\n"
        "const m = createOpenAICompatible({name: 'c', baseURL: process.env.OPENAI_BASE_URL});\n"
        "const r = await generateText({model: m('conflictscore'), prompt: Q});\n"
        "show(r.text, r.response);\n",
    ),
    _Client(
        "openai (node), responses",
        "node",
        "import OpenAI from 'openai';\n"
        "const {data: r, response: h} = await new OpenAI().responses.create("
        "{model: 'conflictscore', input: Q}).withResponse();\n"
        "console.log(JSON.stringify({text: r.output_text, header: h.headers.get('HEADER'),"
        " field: r.conflictscore?.checked, id: r.id}));\n",
    ),
    _Client(
        "@openai/agents (node), run",
        "node",
        "import { Agent, run, setTracingDisabled } from '@openai/agents';\n"
        "setTracingDisabled(true);\n"
        "const r = await run(new Agent({name: 'Guide', model: 'conflictscore'}), Q);\n"
        "console.log(JSON.stringify({text: r.finalOutput, id: r.rawResponses.at(-1).responseId}));",
    ),
)


@click.command(help=__doc__)
@click.option("--python", default=sys.executable, help="An interpreter with the Python packages.")
@click.option("--node", type=click.Path(path_type=Path), help="A folder with node_modules.")
@click.option("--only", default="", help="Only clients whose names contain this.")
def main(python: str, node: Path | None, only: str) -> None:
    """See the module."""
    row = "{:<34} {:<10} {:<10} {}"
    click.echo(row.format("client", "works", "corrected", "checked is read from"))
    with OpenAIServer(ChatWorld()) as upstream, serving(upstream) as served:
        for client in _CLIENTS:
            if only in client.name:
                click.echo(row.format(client.name, *_tried(client, served, python, node)))


def _tried(client: _Client, served: Served, python: str, node: Path | None) -> tuple[str, str, str]:
    """Whether the client works, whether its answer is the corrected one, and where `checked` is."""
    script = client.script.replace("HEADER", _HEADER)
    if client.runs_on == "node":
        if node is None:
            return ("not there", "", "")
        file = node / "client.mjs"
        file.write_text(f"const Q = {json.dumps(QUESTION)};\n{script}", "utf-8")
        command = ["node", str(file)]
    else:
        command = [python, "-c", f"Q = {json.dumps(QUESTION)}\n{script}"]
    environment = {
        **{name: text for name, text in os.environ.items() if name != "PYTHONPATH"},
        "OPENAI_BASE_URL": f"{served.address}/v1",
        "OPENAI_API_KEY": "none",
    }
    process = subprocess.run(  # noqa: S603 - the scripts above
        command, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    if process.returncode:
        missing = "ModuleNotFoundError" in process.stderr or "ERR_MODULE" in process.stderr
        reason = (process.stderr.strip().splitlines() or ["?"])[-1][:90]
        return ("not there", "", "") if missing else ("no", "", reason)
    shown: dict[str, Any] = json.loads(process.stdout.strip().splitlines()[-1])
    corrected = "yes" if shown["text"] == _CORRECTED else "no"
    return ("yes", corrected, ", ".join(_where_checked(shown, served)) or "nowhere")


def _where_checked(shown: dict[str, Any], served: Served) -> list[str]:
    """The places where the client can read `checked`, with its values."""
    places = [
        f"{place}: {shown[name]}"
        for name, place in (("header", "response header"), ("field", "response field"))
        if shown.get(name)
    ]
    run_id = str(shown.get("id") or "").removeprefix("resp_").removeprefix("chatcmpl-")
    run = httpx2.get(f"{served.address}/v1/runs/{run_id}") if run_id else None
    if run is not None and run.is_success:
        places.append(f"run of the response's id: {run.json()['checked']}")
    return places


if __name__ == "__main__":
    main()
