"""Seconds from ``pip install`` to a first corrected answer of one's own chatbot, in three ways.

```sh
python -m measurements.first_answer
```

Each way has an empty folder with an environment of its own, and a scripted endpoint on loopback
(``tests/fakes``) for the chatbot's model. The guide's words on it, at 200 a minute, stand for what
a person does: reading and typing.
"""

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import click

from tests.fakes.openai_server import OpenAIServer
from tests.middleware.agents import AgentWorld

_ROOT = Path(__file__).parents[1]
_WORDS_A_MINUTE = 200
_DOCUMENTS = ["The lamp was lit in 1871.", "9 May 1874. Lit the lamp.", "In 1874 it was lit."]
_FUNCTION = f"""
from openai import OpenAI
from conflictscore.middleware import self_correct

@self_correct(judge="my-model", base_url="ENDPOINT")
def answer(question, documents):
    asked = question + "\\n".join(document.text for document in documents)
    messages = [{{"role": "user", "content": asked}}]
    reply = OpenAI(base_url="ENDPOINT").chat.completions.create(model="my-model", messages=messages)
    return reply.choices[0].message.content

text = answer("When was the lamp lit?", documents={_DOCUMENTS})
print(text, text.run.flipped, text.run.checked)
"""
_AGENT = f"""
from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from conflictscore.middleware import ConflictScoreMiddleware

@tool
def search(query: str) -> list:
    "Search the notes."
    return {_DOCUMENTS}

model = ChatOpenAI(model="my-model", base_url="ENDPOINT")
agent = create_agent(model, tools=[search], middleware=[ConflictScoreMiddleware()])
state = agent.invoke({{"messages": [{{"role": "user", "content": "When was the lamp lit?"}}]}})
run = state["conflict"]
print(state["messages"][-1].text, run["flipped"], run["checked"])
"""
_CLIENT = """
import subprocess
from openai import OpenAI

command = ["conflictscore", "serve", "--docs", "notes", "--model", "my-model"]
service = subprocess.Popen([*command, "--base-url", "ENDPOINT", "--port", "8417"])
client = OpenAI(base_url="http://127.0.0.1:8417/v1", api_key="none", max_retries=30)
messages = [{"role": "user", "content": "When was the lamp lit?"}]
reply = client.chat.completions.create(model="conflictscore", messages=messages)
run = reply.model_extra["conflictscore"]
print(reply.choices[0].message.content, run["flipped"], run["checked"])
service.terminate()
"""


class _Chatbot(AgentWorld):
    def reading(self, document: str) -> str:
        """A document's answer."""
        return f"It was lit in {re.findall(r'18[0-9]{2}', document)[0]}."


_WAYS = {
    "function": (".", "wrap", "## A function", _FUNCTION, ()),
    "agent": (".[langchain]", "wrap", "## A LangChain agent", _AGENT, ("search",)),
    "endpoint": (".[serve]", "serve", "# Serve it", _CLIENT, ()),
}


def _run(*command: str | Path, **options: Any) -> str:
    ran = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options)  # noqa: S603
    return str(ran.stdout).strip()


@click.command()
def main() -> None:
    """Print a table in Markdown."""
    click.echo("| way | install, s | program, s | words read | minutes in all | printed |")
    click.echo("|---|---|---|---|---|---|")
    for way, (package, page, heading, program, tools) in _WAYS.items():
        with tempfile.TemporaryDirectory() as name, OpenAIServer(_Chatbot(tools=tools)) as bot:
            folder, began = Path(name), time.perf_counter()
            programs = folder / "env" / "bin"
            _run(sys.executable, "-m", "venv", folder / "env")
            _run(programs / "pip", "install", "-q", package, cwd=_ROOT)
            installed = time.perf_counter()
            (folder / "notes").mkdir()
            for number, text in enumerate(_DOCUMENTS):
                (folder / "notes" / f"{number}.txt").write_text(text)
            (folder / "mine.py").write_text(program.replace("ENDPOINT", bot.base_url))
            env = {"PATH": f"{programs}", "HOME": name, "OPENAI_API_KEY": "none"}
            said = _run(programs / "python", "mine.py", cwd=folder, env=env)
            ended = time.perf_counter()
        text = (_ROOT / "docs" / "guide" / f"{page}.md").read_text("utf-8")
        words = len(text[text.index(heading) :].partition("\n## ")[0].split())
        minutes = (ended - began) / 60 + words / _WORDS_A_MINUTE
        took = f"{installed - began:.0f} | {ended - installed:.1f}"
        click.echo(f"| {way} | {took} | {words} | {minutes:.1f} | {said} |")


if __name__ == "__main__":
    main()
