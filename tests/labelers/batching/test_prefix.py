"""What a server can find in its cache: the same beginning for all claims on the same documents.

Where a hash here changes on purpose, every provider's cache of these prompts starts anew; where a
template was changed, so do the verdicts that users have kept.
"""

import hashlib
import json

import pytest

from conflictscore.labelers.batch import BatchName
from conflictscore.records import Document
from tests.fakes.openai_server import ChatRequest, OpenAIServer
from tests.labelers.batching.talk import MODES, judged, pairs_of, truthful
from tests.labelers.judging import PROMPTS, claim, document

GOLDEN = {"per-document": "17a59b7158a6ecfb", "matrix": "f360aeff009021f0"}
DOCUMENTS = [
    document("The lamp was lit in 1871.\nIt shone far.", 1, title="Gazette"),
    document("The log says the lamp was lit in 1874.", 2),
    document("The tower is white.", 3, title="Walks"),
]
ONE = ["The lamp was lit in 1871."]
MORE = ["The tower is white.", "The lamp may have been lit in 1871 or in 1874.", "It shone far."]


def prefix(request: ChatRequest) -> str:
    """All that goes over the wire before the first claim, and the form of the reply."""
    [message] = request.messages
    before, mark, _ = message["content"].partition("<claim")
    assert mark
    form = json.dumps(request.body["response_format"])
    return f"{request.model}\n{form}\n{message['role']}\n{before}"


async def prefixes(
    mode: BatchName,
    claims: list[str],
    documents: list[Document] = DOCUMENTS,
    *,
    backwards: bool = False,
    context_window: int = 8192,
) -> set[str]:
    """The prefixes of all calls that judging these claims takes."""
    numbered = [claim(text, number) for number, text in enumerate(claims, start=1)]
    pairs = pairs_of(numbered, documents)
    with OpenAIServer(truthful()) as server:
        wanted = pairs[::-1] if backwards else pairs
        await judged(server, mode, wanted, context_window=context_window)
    return {prefix(request) for request in server.requests}


@pytest.mark.parametrize("mode", MODES)
async def test_the_prefix_of_a_recorded_conversation_does_not_move(mode: BatchName) -> None:
    recorded = await prefixes(mode, ONE)
    digest = hashlib.sha256("\n\n".join(sorted(recorded)).encode()).hexdigest()
    assert digest[:16] == GOLDEN[mode]


@pytest.mark.parametrize("mode", MODES)
async def test_a_second_round_begins_as_the_first_whichever_pairs_matter_most(
    mode: BatchName,
) -> None:
    first, second = await prefixes(mode, ONE), await prefixes(mode, MORE)
    assert first == second == await prefixes(mode, MORE, backwards=True)
    assert len(first) == (3 if mode == "per-document" else 1)


@pytest.mark.parametrize("mode", MODES)
async def test_the_prefix_holds_the_rules_and_then_all_of_the_documents(mode: BatchName) -> None:
    for before in await prefixes(mode, ONE):
        rules = before.index(PROMPTS.render("label_rules_brief"))
        shown = [text.text for text in DOCUMENTS if text.text in before]
        assert len(shown) == (1 if mode == "per-document" else 3)
        assert all(before.index(text) > rules for text in shown)


@pytest.mark.parametrize("mode", MODES)
async def test_where_documents_are_cut_or_divided_it_is_so_for_all_claims_alike(
    mode: BatchName,
) -> None:
    documents = [document(f"Fog lay on sea {n}. " * 900, n) for n in range(1, 5)]
    first = await prefixes(mode, ONE, documents, context_window=6000)
    assert len(first) > 1
    assert any("left out here" in before for before in first)
    longer = [text * 4 for text in MORE]
    assert await prefixes(mode, longer, documents, context_window=6000) == first


async def test_a_document_has_the_id_of_its_text_whatever_its_number() -> None:
    renumbered = [text.model_copy(update={"number": text.number + 4}) for text in DOCUMENTS]
    assert await prefixes("matrix", ONE, renumbered) == await prefixes("matrix", ONE)


async def test_documents_whose_texts_come_to_the_same_id_get_ids_of_their_own() -> None:
    documents = [document(f"Sheet {n}.", n) for n in range(5, 21)]  # two pairs of them would clash
    [before] = await prefixes("matrix", ONE, documents, context_window=64_000)
    assert len({part[:3] for part in before.split('<document id="')[1:]}) == 16
