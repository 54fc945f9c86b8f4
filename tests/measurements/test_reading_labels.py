"""Labels by reading: what each document answers alone, compared with the claim."""

from conflictscore.benchmarks.harness.records import Question
from conflictscore.errors import ProviderError
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.second_look.readers import Reader
from conflictscore.records import Label
from measurements.people_labels import LabelledQuestion
from measurements.reading_labels import read
from tests.nodes.second_look.helpers import Replies
from tests.nodes.steps import PROMPTS

SAYS: dict[str, str | Exception] = {
    "log": "The lamp was first lit in 1874.",
    "door": "The lamp was first lit in 1871.",
    "lens": "The document does not say.",
}


def asked_of(question: str, right: str, wrong: str) -> LabelledQuestion:
    documents = tuple(
        {"text": f"The {mark}: 1871, 1874.", "metadata": {"gives": ""}} for mark in SAYS
    )
    row = Question(id="1", question=question, correct=(right,), documents=documents)
    return LabelledQuestion(row, (right,), (wrong,), rivals=False)


async def read_with(
    says: dict[str, str | Exception], asked: LabelledQuestion, claim: str
) -> list[Label] | None:
    model = Replies(lambda prompt: next(said for mark, said in says.items() if mark in prompt))
    return await read(asked, claim, Reader(model, PROMPTS, UsageMeter()))  # type: ignore[arg-type]


async def test_an_answer_like_the_claim_supports_it_another_contradicts_none_is_irrelevant() -> (
    None
):
    asked = asked_of("When was the lamp first lit?", "1874", "1871")

    labels = await read_with(SAYS, asked, "The answer is 1874.")

    assert labels == [Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT]


async def test_a_statement_is_affirmed_or_denied() -> None:
    asked = asked_of("Is this true or false: the lamp was lit in 1874.", "true", "false")
    says = SAYS | {"log": "True.", "door": "It is false that the lamp was lit in 1874."}

    labels = await read_with(says, asked, "the lamp was lit in 1874.")

    assert labels == [Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT]


async def test_a_question_of_which_a_document_was_not_asked_does_not_count() -> None:
    asked = asked_of("When was the lamp first lit?", "1874", "1871")
    down = SAYS | {"lens": ProviderError("it is down", provider="reader")}

    assert await read_with(down, asked, "The answer is 1874.") is None
