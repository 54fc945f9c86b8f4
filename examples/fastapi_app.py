"""A FastAPI app that corrects its answers if their documents disagree.

Needs the extra ``[serve]`` and a key in ``OPENAI_API_KEY``. Start it with
``hypercorn examples/fastapi_app.py:app``, then ask with
``curl 'http://127.0.0.1:8000/ask?question=When+was+the+lamp+first+lit'``.
"""

from pathlib import Path
from typing import Any

from fastapi import FastAPI, HTTPException
from openai import AsyncOpenAI

from conflictscore import Document, InputError, ProviderError
from conflictscore.middleware import self_correct
from conflictscore.retrieval import CorpusRetriever

PAPERS = CorpusRetriever.from_paths([Path(__file__).parent / "lighthouse"])
CLIENT = AsyncOpenAI()

app = FastAPI()


@self_correct(retriever=PAPERS)
async def answer(question: str, documents: tuple[Document, ...]) -> str:
    """Answer a question from documents."""
    sources = "\n\n".join(f"[{document.number}] {document.text}" for document in documents)
    reply = await CLIENT.chat.completions.create(
        model="gpt-4.1-mini",
        messages=[{"role": "user", "content": f"{sources}\n\n{question}"}],
    )
    return reply.choices[0].message.content or ""


@app.get("/ask")
async def ask(question: str) -> dict[str, Any]:
    """Return the answer, the first answer with its scores, and the notes of the run."""
    try:
        run = await answer.run(question)
    except InputError as error:
        raise HTTPException(400, str(error)) from error
    except ProviderError as error:
        raise HTTPException(502, str(error)) from error
    return {key: run[key] for key in ("answer", "first_answer", "flipped", "report", "notes")}
