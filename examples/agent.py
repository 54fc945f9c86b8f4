"""A LangChain agent that corrects its answer if its sources disagree.

Needs the extra ``[langchain]`` and a key in ``OPENAI_API_KEY``.
"""

from pathlib import Path

from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.tools import tool

from conflictscore.middleware import ConflictScoreMiddleware
from conflictscore.retrieval import CorpusRetriever

PAPERS = CorpusRetriever.from_paths([Path(__file__).parent / "lighthouse"])
QUESTION = "In which year did the Vennick Point lighthouse first light its lamp?"


@tool(response_format="content_and_artifact")
def search(query: str) -> tuple[str, list[Document]]:
    """Search the papers on the lighthouse at Vennick Point."""
    found = PAPERS.invoke(query)
    return "\n\n".join(document.page_content for document in found), found


def main() -> None:
    """Ask the question, and print the answer before and after the correction."""
    agent = create_agent("openai:gpt-4.1-mini", [search], middleware=[ConflictScoreMiddleware()])
    state = agent.invoke({"messages": [{"role": "user", "content": QUESTION}]})
    run = state["conflict"]
    print(state["messages"][-1].text)
    if run["flipped"]:
        print(f"At first: {run['first_answer']}\nWhy: {run['justification']}")


if __name__ == "__main__":
    main()
