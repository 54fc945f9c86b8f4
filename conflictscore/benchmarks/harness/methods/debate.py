"""The ``madam-rag`` method: a debate of up to three rounds.

For each document, a model call acts as its reader. An aggregator summarises every round. The
procedure is that of MADAM-RAG (Wang et al., 2025, arXiv 2504.13079, section 4), but the prompts are
our own. The method uses no labels.

Limits without a stated reason were chosen by hand.
"""

import re
from functools import partial
from typing import Any

from conflictscore.answering.answer_replies import read_text
from conflictscore.answering.answerer import REPLY_TOKENS, ask_with_documents
from conflictscore.benchmarks.harness.methods.asker import Asker, graph_input
from conflictscore.benchmarks.harness.methods.method import Asked, BenchmarkMethod
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import material
from conflictscore.records import Answer, Document, differs
from conflictscore.threads import together

# A reader that keeps its opinion is told to reply with this word alone. Some models add quotation
# marks or a full stop, and some explain themselves on further lines, which are ignored.
_KEEP = re.compile(r"\W*keep\W*(?:\n|$)", re.IGNORECASE)
_ROUNDS = 3  # the maximum number of rounds, as in the paper
_OPINION_TOKENS = 160
"""The maximum number of tokens of one reader's opinion.

The prompt asks for two sentences. An opinion that is cut off here is requested again, and then the
method fails. A higher limit would make the summaries more expensive, since they read all opinions.
"""
_READER, _AGAIN, _SUM = "madam_reader", "madam_reader_again", "madam_sum"


async def _ask(asker: Asker, request: Asked) -> dict[str, Any]:
    """Run the debate, and return the last summary; stop early if no reader changes its opinion."""
    # the meter is required, but not read: the run's ledger counts the calls; ``notes`` is an
    # ordered set, since many readers may get the same note
    meter, notes = UsageMeter(), dict[str, None]()

    async def ask(template: str, documents: list[Document], tokens: int, **fields: str) -> str:
        text, cut = await ask_with_documents(
            graph_input(request.question, documents),
            asker.context,
            meter,
            template,
            fields,
            read_text,
            reply_tokens=tokens,
            step="debate",
        )
        notes.update(dict.fromkeys(cut))
        return text

    async def read(document: Document) -> None:
        number, before = document.number, opinions.get(document.number)
        if before is None:
            new_opinions[number] = await ask(_READER, [document], _OPINION_TOKENS)
            return
        fields = {"answer": material(before), "summary": material(summary)}
        reply = await ask(_AGAIN, [document], _OPINION_TOKENS, **fields)
        new_opinions[number] = before if _KEEP.match(reply) else reply

    # the functions above read these variables; each round refills ``new_opinions``, so that all
    # readers of a round see the same summary
    opinions, summary, rounds = dict[int, str](), "", 0
    while rounds < _ROUNDS:
        rounds += 1
        new_opinions = dict[int, str]()
        async with together() as start:
            for document in request.documents:
                start(partial(read, document))
        # the last summary already sums up these opinions
        if rounds > 1 and not any(
            differs(opinions[number], new_opinions[number]) for number in new_opinions
        ):
            break
        opinions = new_opinions
        opinion_documents = [
            d.model_copy(update={"text": opinions[d.number]}) for d in request.documents
        ]
        summary = await ask(_SUM, opinion_documents, REPLY_TOKENS)
    answer = Answer(text=summary).to_json()
    return {"answer": answer, "notes": list(notes), "rounds": rounds}


MADAM_RAG = BenchmarkMethod(name="madam-rag", ask=_ask, forms=("free-form",))
