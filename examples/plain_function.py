"""A plain function that corrects its answer if its documents disagree. It may use any client.

Needs a key in ``OPENAI_API_KEY``.
"""

from pathlib import Path

from openai import OpenAI

from conflictscore import Document
from conflictscore.middleware import self_correct
from conflictscore.retrieval import CorpusRetriever

PAPERS = CorpusRetriever.from_paths([Path(__file__).parent / "lighthouse"])
QUESTION = "In which year did the Vennick Point lighthouse first light its lamp?"


@self_correct(retriever=PAPERS)
def answer(question: str, documents: tuple[Document, ...]) -> str:
    """Answer a question from documents."""
    sources = "\n\n".join(f"[{document.number}] {document.text}" for document in documents)
    reply = OpenAI().chat.completions.create(
        model="gpt-4.1-mini",
        messages=[{"role": "user", "content": f"{sources}\n\n{question}"}],
    )
    return reply.choices[0].message.content or ""


if __name__ == "__main__":
    run = answer.run(QUESTION)
    print(run["answer"])
    if run["flipped"]:
        print(f"At first: {run['first_answer']}\nWhy: {run['justification']}")
