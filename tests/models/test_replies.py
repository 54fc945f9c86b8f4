"""The text of a reply without reasoning, and how it ended."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage

from conflictscore.models.endings import abnormal_ending
from conflictscore.models.replies import labelled_lines, reply_text, without_reasoning


@pytest.mark.parametrize(
    "before",
    [
        "<think>\nIt says nine.\nClaims: three?\n</think>\n\n",
        "<THINKING>so</THINKING>",
        "It says nine.\n</think>\n\n",
        "One.\n</think>\nTwo.\n</think>\n",
        "<think>one</think>\n<think>two</think>\n",
        "[THINK]so[/THINK]",
        "◁think▷so◁/think▷",
        "<|begin_of_thought|>so<|end_of_thought|>\n<|begin_of_solution|>",
        "<|START_THINKING|>so<|END_THINKING|><|START_RESPONSE|>",
        "<|channel|>analysis<|message|>So.<|end|><|start|>assistant<|channel|>final<|message|>",
        "<|CHANNEL|>Analysis<|MESSAGE|>So.<|END|><|START|>assistant<|CHANNEL|>Final<|MESSAGE|>",
        "analysisSo it is.assistantfinal",
        "analysisso it is.assistantfinal",
        "AnalysisSo it is.AssistantFinal",
        "assistantanalysisSo it is.assistantcommentaryWell.assistantfinal",
        "assistantfinal",
        "AssistantFinal\n\n",
        "assistantfinal: ",
        "assistant final: ",
        "ASSISTANT FINAL:\n",
        "assistant\nfinal\n",
        "assistant: final: ",
        "assistant final ",
        "final\n",
        "final",
        "Final",
        "FINAL",
        "final<|message|>",
        "Assistantfinal<|message|>",
        "analysis We need two claims.\nassistant final: ",
        "analysis: so it is.assistantfinal",
        "analysis<|message|>So.<|end|><|start|>assistantfinal<|message|>",
        "assistant\nanalysis\nSo it is.\nassistant\nfinal\n",
        "assistant analysis So it is. assistant final ",
        "So it is.assistantfinal",
        "**assistantfinal** ",
        "assistant_final ",
        "|channel|>final<|message|>",
        "<channel|>final<message>",
        "<|start|>assistant<|message|>",
        "assistant\n\n",
        "<think effort='high'>\nso\n</think>\n",
        "<reasoning_content>so</reasoning_content>\n",
        "<analysis>\nso\n</analysis>\n",
        "<思考>\nso\n</思考>\n",
        "<\uff5cbegin▁of▁thinking\uff5c>\nso<\uff5cend▁of▁thinking\uff5c>",
        "<|channel>thought\nso<channel|>",
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
        "\ufeff",
    ],
)
def test_reasoning_before_a_reply_is_not_part_of_it(before: str) -> None:
    assert without_reasoning(f"{before}Claims:\nThe gate is green.") == (
        "Claims:\nThe gate is green."
    )


@pytest.mark.parametrize(
    "answer",
    [
        "Gustave Eiffel built it.",
        '{"year": 1871}',
        "**1871**",
        "Paris.",
        "1871",
        "NASA built it.",
        "Élise built it.",
        "Эйфель построил её.",
        "東京です。",
    ],
)
def test_a_header_glued_to_an_answer_is_not_part_of_it(answer: str) -> None:
    assert without_reasoning(f"final{answer}") == answer
    assert without_reasoning(f"assistant final: {answer}") == answer


@pytest.mark.parametrize(
    "prompt",
    [
        "What does the program call it? Document: the text is in finalDraft.",
        "Is draftText or another field saved?",
        "Which variable holds the text?",
        "What does `save()` write?",
    ],
)
def test_an_identifier_is_no_header_if_the_question_is_about_code(prompt: str) -> None:
    answer = "finalDraft holds the text."
    assert without_reasoning(answer, prompt) == answer
    assert without_reasoning(f"assistantfinal{answer}", prompt) == answer
    assert without_reasoning("finalDrafts are kept.", "What are kept?") == "Drafts are kept."


@pytest.mark.parametrize(
    "text",
    [
        "Close it by `</think>`.",
        'The tag "</think>" closes it.',
        "Write <think> before it.",
        "Analysis of the assistant.",
        "Analysis: it opens at nine. The assistant final said so.",
        "Analysis: the assistant final: 3-2.",
        "The score of the final: 3-2.",
        "Final: 3-2",
        "final: 3-2",
        "Final\n\nIt ended 3-2.",
        "Finally it opened.",
        "finalists were two teams",
        "finalScore is 3. It is not finalScoreOld.",
        "finalScore() returns 3.",
        "finalScore holds `3`.",
        "FinalDraft is a program.",
        "finalísima was played.",
        "final2 is the file.",
        "finalScore.text is 3.",
        "Assistant finalists were named.",
        "So:\n<analysis>\nis a tag\n</analysis>",
        "[thinking](https://example.org) helps",
        "",
    ],
)
def test_a_reply_that_mentions_such_tags_is_unchanged(text: str) -> None:
    assert without_reasoning(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "<think>\nIt says nine",
        "<think>a</think>\n<think>b",
        "<|channel|>analysis<|message|>It says",
        "<analysis>\nIt says",
        "analysisWe list them.",
    ],
)
def test_a_reply_that_ended_within_its_reasoning_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="still reasoning"):
        without_reasoning(text)


def test_tokens_of_chat_templates_and_content_in_parts_are_read_through() -> None:
    assert without_reasoning("It is green.<|im_end|>\n</s>") == "It is green."
    parts = [
        {"type": "reasoning", "text": "Claims: three?"},
        {"type": "output_text", "text": "It is green."},
    ]
    assert reply_text(AIMessage([*parts])) == "It is green."


def test_named_lines_are_read_in_any_dress_and_never_twice() -> None:
    said = "- **SIDE:** A\n<ground>DATE</ground>\n“Reason”: because it is: newer\nelse: no"
    read = {"side": "A", "ground": "DATE", "reason": "because it is: newer"}
    assert labelled_lines(said, {"side", "ground", "reason"}) == read
    with pytest.raises(ValueError, match="twice"):
        labelled_lines("SIDE: A\nSIDE: B", {"side"})


@pytest.mark.parametrize(
    ("said", "ending"),
    [
        ({"finish_reason": "content_filter"}, "content_filter"),
        ({"finish_reason": "SAFETY"}, "SAFETY"),
        ({"finish_reason": "FinishReason.RECITATION"}, "RECITATION"),
        ({"finish_reason": "error"}, "error"),
        ({"finish_reason": "insufficient_system_resource"}, "insufficient_system_resource"),
        ({"stop_reason": "refusal"}, "refusal"),
        ({"stopReason": "guardrail_intervened"}, "guardrail_intervened"),
        ({"prompt_feedback": {"block_reason": "OTHER"}}, "OTHER"),
        ({"incomplete_details": {"reason": "content_filter"}}, "content_filter"),
        ({"finish_reason": "STOP", "prompt_feedback": {"block_reason": 0}}, None),
        ({"finish_reason": "stop", "native_finish_reason": "MAX_TOKENS"}, "MAX_TOKENS"),
        ({"finish_reason": "tool_calls"}, None),
        ({"finish_reason": "FINISH_REASON_STOP"}, None),
        ({"finish_reason": "FINISH_REASON_MAX_TOKENS"}, "MAX_TOKENS"),
        ({"finish_reason": "eos"}, None),
        ({"finish_reason": ""}, None),
    ],
)
def test_an_abnormal_end_has_the_providers_name(said: dict[str, Any], ending: str | None) -> None:
    assert abnormal_ending(AIMessage("All of it.", response_metadata=said)) == ending
