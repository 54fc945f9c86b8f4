"""The profile of the demo's calls."""

from measurements.demo_steps import demo_calls, template_of
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply
from tests.graph.test_lighthouse import SAID, Capable
from tests.world import scripted_model


class Caching(Capable):
    """The capable model of a server that kept the state of 30 tokens of each prompt."""

    def __call__(self, request: ChatRequest) -> Reply | str | Fault:
        reply = super().__call__(request)
        return Reply(reply, cached_tokens=30) if isinstance(reply, str) else reply


def test_each_call_of_the_demo_has_its_template_and_tokens() -> None:
    world = Caching(answer=SAID.format(1871), regenerated=SAID.format(1874))

    with OpenAIServer(world) as server:
        calls, first_answer, answer = demo_calls(scripted_model(server))

    assert (first_answer, answer) == (SAID.format(1871), SAID.format(1871))
    assert [call.template for call in calls[:2]] == ["free_form_rag", "decompose"]
    labelling, reading = "label_per_document_brief", "ask_document"
    assert {call.template for call in calls[2:]} == {labelling, reading, "relation"}
    for call in calls:
        assert call.read == call.sent - 30 > 0
        assert call.written > 0


def test_a_prompt_that_begins_like_two_templates_has_the_longer_one() -> None:
    templates = {
        "short": "Answer $question",
        "long": "Answer $question in brief",
        "any": "$question",
    }

    assert template_of("Answer why in brief", templates) == "long"
    assert template_of("Answer why", templates) == "short"
    assert template_of("Why?", templates) == ""
