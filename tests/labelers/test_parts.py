"""A document too long for a judge's prompt is read to its end, part by part."""

import pytest

from conflictscore.errors import ProviderError
from conflictscore.labelers import make_labeler
from conflictscore.labelers.parts import MOST_PARTS, label_of_parts
from conflictscore.models import UsageMeter
from conflictscore.records import EvidenceLabel, Label
from tests.batches import batch_reply
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply
from tests.labelers.batching.talk import asked
from tests.labelers.judging import PROMPTS, claim, document, letter, verdict
from tests.models.calling import calling
from tests.world import step_of

CLAIM = claim("The harbour bridge was opened in 1932.")
FOG = "Fog lay on the sea. " * 2500
NEAR = "The harbour bridge was opened in 1932. "
FAR = "Queen Maud cut a ribbon on 3 May 1940, so that carriages could cross."
"""A sentence that shares no word with the claim."""


class Reader:
    """A judge that sees only the prompt: the year of NEAR supports, the year of FAR contradicts.

    If it sees both, FAR has the last word.
    """

    def __init__(self, *, fails_on: str = "\0") -> None:
        self.prompts: list[str] = []
        self.fails_on = fails_on

    def __call__(self, request: ChatRequest) -> Reply | str | Fault:
        prompt = request.prompt
        self.prompts.append(prompt)
        if self.fails_on in prompt:
            return Fault(400)
        label, snippet = "IRRELEVANT", ""
        if "bridge was opened in 1932. Fog" in prompt:
            label, snippet = "SUPPORTS", NEAR.strip()
        if FAR in prompt:
            label, snippet = "CONTRADICTS", FAR
        match step_of(prompt):
            case "choice":
                return letter({"SUPPORTS": "A", "CONTRADICTS": "B"}.get(label, "C"))
            case "batch":
                fields = {"snippet": snippet, "reason": "Read it.", "answer": label}
                return batch_reply(
                    [{"claim": int(its_id), **fields} for its_id in asked(request).claims]
                )
        return verdict(label, snippet=snippet)


async def judged(labeler: str, text: str, reader: Reader) -> EvidenceLabel:
    with OpenAIServer(reader) as server:
        judge = make_labeler(labeler, calling(server, context_window=8192), PROMPTS)
        return await judge.label(CLAIM, document(text), UsageMeter())


@pytest.mark.parametrize("labeler", ["json", "choice", "per-document"])
class TestEveryJudge:
    async def test_finds_a_last_line_that_shares_no_word_with_the_claim(self, labeler: str) -> None:
        label = await judged(labeler, FOG + FAR, reader := Reader())

        assert label.label is Label.CONTRADICTS
        assert not label.document_cut
        assert 2 <= len(reader.prompts) <= MOST_PARTS

    async def test_makes_one_call_for_a_document_that_fits(self, labeler: str) -> None:
        label = await judged(labeler, NEAR + FOG[:2000], reader := Reader())

        assert label.label is Label.SUPPORTS
        assert len(reader.prompts) == 1

    async def test_reads_the_rest_of_one_whose_nearest_part_takes_no_side(
        self, labeler: str
    ) -> None:
        nearest = "The harbour bridge is long. "

        label = await judged(labeler, nearest + FOG + FAR, reader := Reader())

        assert label.label is Label.CONTRADICTS
        # the parts are sent at the same time, so that they may arrive in any order
        assert any(nearest.strip() in p and FAR not in p for p in reader.prompts)


@pytest.mark.parametrize("labeler", ["json", "choice", "per-document"])
async def test_a_long_title_is_read_to_its_end(labeler: str) -> None:
    title = FOG[:2000] + FAR
    with OpenAIServer(reader := Reader()) as server:
        judge = make_labeler(labeler, calling(server, context_window=8192), PROMPTS)
        label = await judge.label(CLAIM, document("", title=title), UsageMeter())
    assert label.label is Label.CONTRADICTS
    assert len(reader.prompts) == 1


@pytest.mark.parametrize("labeler", ["json", "per-document"])
async def test_where_parts_take_both_sides_the_judge_sees_what_it_quoted_together(
    labeler: str,
) -> None:
    label = await judged(labeler, NEAR + FOG + FAR, reader := Reader())

    assert label.label is Label.CONTRADICTS
    assert NEAR.strip() in reader.prompts[-1]
    assert FAR in reader.prompts[-1]


@pytest.mark.parametrize("labeler", ["json", "per-document"])
async def test_a_document_with_an_unreadable_part_has_no_label(labeler: str) -> None:
    with pytest.raises(ProviderError):
        await judged(labeler, NEAR + FOG + FAR, Reader(fails_on=FAR))


async def test_the_judge_is_not_asked_again_about_the_quotation_of_one_side_alone() -> None:
    labels = [
        EvidenceLabel(claim=1, document=1, label=Label.SUPPORTS),
        EvidenceLabel(claim=1, document=1, label=Label.CONTRADICTS, snippet=FAR),
    ]

    async def never(_: object) -> EvidenceLabel:
        raise AssertionError("the prompt would show one side alone")

    assert await label_of_parts(labels, never) is labels[0]


@pytest.mark.parametrize(
    ("scores", "deciding"),
    [((0.6, 0.9), 1), ((0.9, 0.6), 0), ((0.8, 0.8), 0), ((None, None), 0), ((None, 0.1), 1)],
)
async def test_without_quotations_the_highest_score_or_the_earliest_part_decides(
    scores: tuple[float | None, float | None], deciding: int
) -> None:
    sides = (Label.SUPPORTS, Label.CONTRADICTS)
    labels = [
        EvidenceLabel(claim=1, document=1, label=side, score=score)
        for side, score in zip(sides, scores, strict=True)
    ]

    async def never(_: object) -> EvidenceLabel:
        raise AssertionError("nothing was quoted")

    assert await label_of_parts(labels, never) is labels[deciding]
