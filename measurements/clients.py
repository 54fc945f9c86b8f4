"""Tries real clients of OpenAI's APIs on the service, changing only the address.

A scripted upstream gives a wrong answer, documents contradict it, and the service corrects it. Some
clients ask a second time in the same conversation, or let the model call a function that returns
the documents. For each client and API, the table shows whether an answer arrived, whether it was
the corrected answer, and where the client can read `checked`. The place may be a response header, a
field of the response, or the run with the response's id. Instructor and PydanticAI also request
structured output, by forcing a tool call. If a package is missing, the table shows "not there". The
following commands install the packages:

    pip install openai-agents 'pydantic-ai-slim[openai]' instructor langchain-openai  # --python
    npm install ai @ai-sdk/openai @ai-sdk/openai-compatible openai @openai/agents zod # --node
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import click
import httpx2

from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer
from tests.middleware.service.serving import (
    CALL,
    QUESTION,
    ChatWorld,
    Served,
    completion_with,
    serving,
)
from tests.middleware.test_structured_answers import ANSWER, CallingWorld
from tests.world import DISAGREEING, World

_SECONDS = 120  # seconds until a client counts as hanging
_HEADER, _FIELD = "x-conflictscore-checked", "conflictscore"


class Client(NamedTuple):
    """A client of OpenAI's APIs, and a script that asks one question with it."""

    name: str
    runs_on: str
    """"python" or "node"."""
    script: str
    """The script prints text, header, field and response id as JSON; Q is the question."""
    tool: str = ""
    """The name of the tool that the model is forced to call; empty if the answer is text."""


class Tried(NamedTuple):
    """The outcome of a question that was asked with a client."""

    works: str
    """"yes", "no", or "not there" if a package is missing."""
    text: str = ""
    """The answer, or the error."""
    places: tuple[str, ...] = ()
    """The places where the client can read `checked`, each with the value there."""

    @property
    def is_corrected(self) -> bool:
        """Whether the answer is the one that the documents support."""
        return "1874" in self.text


_TURNS_PYTHON = "[{'role': 'user', 'content': Q}]"
_TURNS_NODE = "[{role: 'user', content: Q}]"
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
_LAMP = "from pydantic import BaseModel\nclass Lamp(BaseModel):\n    lit: int\n    note: str = ''\n"
_LOOK_UP_PYTHON = """
from agents import function_tool
@function_tool
def look_up(what: str) -> str:
    '''Search the archive.'''
    return json.dumps(DOCUMENTS)
agent.tools.append(look_up)
"""
_LOOK_UP_NODE = """
import { stepCountIs } from 'ai';
import { z } from 'zod';
const tools = {look_up: {description: 'Search the archive.', execute: async () => DOCUMENTS,
  inputSchema: z.object({what: z.string()})}};
"""
_PY_SHOW = "print(json.dumps({'text': text, 'header': header, 'field': field, 'id': id_}))\n"

CLIENTS = (
    Client(
        "openai, chat.completions",
        "python",
        _OPENAI_PYTHON + "raw = c.chat.completions.with_raw_response.create(model='conflictscore',"
        " messages=[{'role': 'user', 'content': Q}])\nr = raw.parse()\n"
        "text, header, field, id_ = r.choices[0].message.content, raw.headers.get('HEADER'),"
        " r.conflictscore['checked'], r.id\n" + _PY_SHOW,
    ),
    Client(
        "openai, responses",
        "python",
        _OPENAI_PYTHON
        + "raw = c.responses.with_raw_response.create(model='conflictscore', input=Q)\n"
        "r = raw.parse()\ntext, header, field, id_ = r.output_text, raw.headers.get('HEADER'),"
        " r.conflictscore['checked'], r.id\n" + _PY_SHOW,
    ),
    Client(
        "openai, responses.stream",
        "python",
        _OPENAI_PYTHON + "with c.responses.stream(model='conflictscore', input=Q) as s:\n"
        "    r = s.get_final_response()\n"
        "text, header, field, id_ = r.output_text, None, r.conflictscore['checked'], r.id\n"
        + _PY_SHOW,
    ),
    Client(
        "openai, responses, second turn",
        "python",
        _OPENAI_PYTHON + f"r = c.responses.create(model='conflictscore', input={_TURNS_PYTHON})\n"
        f"turns = [*{_TURNS_PYTHON}, *r.output, *{_TURNS_PYTHON}]\n"
        "r = c.responses.create(model='conflictscore', input=turns)\n"
        "text, header, field, id_ = r.output_text, None, r.conflictscore['checked'], r.id\n"
        + _PY_SHOW,
    ),
    Client(
        "langchain-openai, ChatOpenAI",
        "python",
        "import json\nfrom langchain_openai import ChatOpenAI\n"
        "m = ChatOpenAI(model='conflictscore', include_response_headers=True).invoke(Q)\n"
        "d = m.response_metadata\ntext, header, field, id_ = m.text, d['headers'].get('HEADER'),"
        " None, d.get('id')\n" + _PY_SHOW,
    ),
    Client(
        "openai-agents, Runner.run",
        "python",
        _AGENTS + "r = Runner.run_sync(agent, Q)\n"
        "text, header, field, id_ = r.final_output, None, None, r.raw_responses[-1].response_id\n"
        + _PY_SHOW,
    ),
    Client(
        "openai-agents, run_streamed",
        "python",
        _AGENTS + "async def go():\n    s = Runner.run_streamed(agent, Q)\n"
        "    async for _ in s.stream_events():\n        pass\n    return s\n"
        "r = asyncio.run(go())\n"
        "text, header, field, id_ = r.final_output, None, None, r.raw_responses[-1].response_id\n"
        + _PY_SHOW,
    ),
    Client(
        "openai-agents, second turn",
        "python",
        _AGENTS + "r = Runner.run_sync(agent, Q)\n"
        f"r = Runner.run_sync(agent, [*r.to_input_list(), *{_TURNS_PYTHON}])\n"
        "text, header, field, id_ = r.final_output, None, None, r.raw_responses[-1].response_id\n"
        + _PY_SHOW,
    ),
    Client(
        "openai-agents, with a function",
        "python",
        _AGENTS + _LOOK_UP_PYTHON + "r = Runner.run_sync(agent, Q)\n"
        "text, header, field, id_ = r.final_output, None, None, r.raw_responses[-1].response_id\n"
        + _PY_SHOW,
    ),
    Client(
        "pydantic-ai, openai-chat",
        "python",
        "import json\nfrom pydantic_ai import Agent\n"
        "r = Agent('openai-chat:conflictscore').run_sync(Q)\n"
        "m = r.all_messages()[-1]\ntext, header, field, id_ = r.output, None, None,"
        " m.provider_response_id\n" + _PY_SHOW,
    ),
    Client(
        "pydantic-ai, openai-responses",
        "python",
        "import json\nfrom pydantic_ai import Agent\n"
        "r = Agent('openai-responses:conflictscore').run_sync(Q)\n"
        "m = r.all_messages()[-1]\ntext, header, field, id_ = r.output, None, None,"
        " m.provider_response_id\n" + _PY_SHOW,
    ),
    Client(
        "pydantic-ai, structured output",
        "python",
        _LAMP + "import json\nfrom pydantic_ai import Agent\n"
        "r = Agent('openai-chat:conflictscore', output_type=Lamp).run_sync(Q)\n"
        "m = [m for m in r.all_messages() if m.kind == 'response'][-1]\n"
        "text, header, field, id_ = str(r.output.lit), None, None, m.provider_response_id\n"
        + _PY_SHOW,
        tool="final_result",
    ),
    Client(
        "instructor, response_model",
        "python",
        _LAMP + "import json, instructor, openai\n"
        "c = instructor.from_openai(openai.OpenAI()).chat.completions\n"
        "r, raw = c.create_with_completion(model='conflictscore', response_model=Lamp,"
        " messages=[{'role': 'user', 'content': Q}])\n"
        "text, header, field, id_ = str(r.lit), None, raw.conflictscore['checked'], raw.id\n"
        + _PY_SHOW,
        tool="Lamp",
    ),
    Client(
        "ai, openai() generateText",
        "node",
        _AI_SDK + "const r = await generateText({model: openai('conflictscore'), prompt: Q});\n"
        "show(r.text, r.response);\n",
    ),
    Client(
        "ai, openai() streamText",
        "node",
        _AI_SDK + "const r = streamText({model: openai('conflictscore'), prompt: Q});\n"
        "let text = ''; for await (const part of r.textStream) text += part;\n"
        "show(text, await r.response);\n",
    ),
    Client(
        "ai, openai() second turn",
        "node",
        _AI_SDK + f"const model = openai('conflictscore'), messages = {_TURNS_NODE};\n"
        "let r = await generateText({model, messages});\n"
        f"messages.push(...r.response.messages, ...{_TURNS_NODE});\n"
        "r = await generateText({model, messages});\nshow(r.text, r.response);\n",
    ),
    Client(
        "ai, openai() with a function",
        "node",
        _AI_SDK + _LOOK_UP_NODE + "const model = openai('conflictscore');\n"
        "const r = await generateText({model, prompt: Q, tools, stopWhen: stepCountIs(3)});\n"
        "show(r.text, r.response);\n",
    ),
    Client(
        "ai, openai.chat() generateText",
        "node",
        _AI_SDK
        + "const r = await generateText({model: openai.chat('conflictscore'), prompt: Q});\n"
        "show(r.text, r.response);\n",
    ),
    Client(
        "ai, openai-compatible",
        "node",
        _AI_SDK + "import { createOpenAICompatible } from '@ai-sdk/openai-compatible';\n"
        "const m = createOpenAICompatible({name: 'c', baseURL: process.env.OPENAI_BASE_URL});\n"
        "const r = await generateText({model: m('conflictscore'), prompt: Q});\n"
        "show(r.text, r.response);\n",
    ),
    Client(
        "openai (node), responses",
        "node",
        "import OpenAI from 'openai';\n"
        "const {data: r, response: h} = await new OpenAI().responses.create("
        "{model: 'conflictscore', input: Q}).withResponse();\n"
        "console.log(JSON.stringify({text: r.output_text, header: h.headers.get('HEADER'),"
        " field: r.conflictscore?.checked, id: r.id}));\n",
    ),
    Client(
        "@openai/agents (node), run",
        "node",
        "import { Agent, run, setTracingDisabled } from '@openai/agents';\n"
        "setTracingDisabled(true);\n"
        "const r = await run(new Agent({name: 'Guide', model: 'conflictscore'}), Q);\n"
        "console.log(JSON.stringify({text: r.finalOutput, id: r.rawResponses.at(-1).responseId}));",
    ),
    Client(
        "@openai/agents (node), second turn",
        "node",
        "import { Agent, run, setTracingDisabled } from '@openai/agents';\n"
        "setTracingDisabled(true);\n"
        "const agent = new Agent({name: 'Guide', model: 'conflictscore'});\n"
        "let r = await run(agent, Q);\n"
        f"r = await run(agent, [...r.history, ...{_TURNS_NODE}]);\n"
        "console.log(JSON.stringify({text: r.finalOutput, id: r.rawResponses.at(-1).responseId}));",
    ),
)


def _calling(request: ChatRequest) -> str | Fault:
    """Call the function that a request offers, or answer if it has already been called."""
    if request.body.get("tools") and request.messages[-1]["role"] != "tool":
        return completion_with({"content": "I look.", "tool_calls": [CALL]}, "tool_calls")
    return "It was lit in 1871."


@click.command(help=__doc__)
@click.option(
    "--python", default=sys.executable, help="A Python interpreter that has the clients' packages."
)
@click.option(
    "--node",
    type=click.Path(path_type=Path),
    help="A folder with node_modules, for clients in JavaScript.",
)
@click.option("--only", default="", help="Try only clients whose names contain this text.")
def main(python: str, node: Path | None, only: str) -> None:
    """See the module."""
    row = "{:<34} {:<10} {:<10} {}"
    click.echo(row.format("client", "works", "corrected", "checked is read from"))
    for client in CLIENTS:
        if only in client.name:
            tried = asked_with(client, DISAGREEING, python, node)
            corrected = "yes" if tried.is_corrected else "no"
            columns = (corrected, ", ".join(tried.places) or "nowhere")
            shown = {"yes": columns, "no": ("", tried.text), "not there": ("", "")}
            click.echo(row.format(client.name, tried.works, *shown[tried.works]))


def asked_with(
    client: Client, documents: list[dict[str, str]], python: str, node: Path | None
) -> Tried:
    """Ask the question with a client, using a service whose search finds these documents.

    The paper's loop rewrites whole answers. A structured answer is therefore revised in place, and
    each of its labels takes one call.
    """
    if client.runs_on == "node" and node is None:
        return Tried("not there")
    world: World = ChatWorld(plain=_calling)
    context: dict[str, Any] = {}
    if client.tool:
        world = CallingWorld(answer=ANSWER, tools=(client.tool,))
        context = {"labeler": "json", "regeneration": "revise", "guard": True}
    with OpenAIServer(world) as upstream, serving(upstream, found=documents, **context) as served:
        return _tried(client, served, python, node)


def _tried(client: Client, served: Served, python: str, node: Path | None) -> Tried:
    script = client.script.replace("HEADER", _HEADER)
    script = script.replace("DOCUMENTS", json.dumps(DISAGREEING))
    if node is not None and client.runs_on == "node":
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
    try:
        process = subprocess.run(  # noqa: S603 - the scripts above
            command, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return Tried("no", f"there was no answer within {_SECONDS} s")
    if process.returncode:
        missing = "ModuleNotFoundError" in process.stderr or "ERR_MODULE" in process.stderr
        reason = (process.stderr.strip().splitlines() or ["?"])[-1][:90]
        return Tried("not there") if missing else Tried("no", reason)
    shown: dict[str, Any] = json.loads(process.stdout.strip().splitlines()[-1])
    return Tried("yes", shown["text"], tuple(_where_checked(shown, served)))


def _where_checked(shown: dict[str, Any], served: Served) -> list[str]:
    """Return the places where the client can read `checked`, each with the value there."""
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
