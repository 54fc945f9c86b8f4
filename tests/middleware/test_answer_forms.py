"""Answers inside texts, messages, mappings and models: where they are, and how they change."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from langchain.agents.middleware import ModelResponse
from langchain_core.messages import AIMessage, ToolMessage
from pydantic import BaseModel, ConfigDict, Field

from conflictscore.middleware.answer_forms import (
    answer_text,
    data_text,
    in_its_form,
    rebuilt,
    structured_with,
    why_not_rebuilt,
)
from conflictscore.records import Run


class CountedReads(dict[str, Any]):
    """A mapping that counts how often one of its keys is asked for."""

    reads = 0

    def get(self, key: Any, default: Any = None) -> Any:
        self.reads += 1
        return super().get(key, default)


class Aliased(BaseModel):
    """Two fields, the first of which is read by the name of the second."""

    tower: str = Field(alias="year")
    year: int = Field(alias="opened")


class OtherNames(BaseModel):
    """Fields that are read by one name, written by another, and allow no third."""

    model_config = ConfigDict(extra="forbid")
    who: str = Field(validation_alias="keeper", serialization_alias="warden")
    inside: list[Aliased]


AT_HOME = Aliased(year="Pharos", opened=1871)


def nested(depth: int, innermost: Any) -> list[CountedReads]:
    """Mappings of which each holds the next one under ``result``, from the inside out."""
    levels = [CountedReads(result=innermost)]
    while len(levels) < depth:
        levels.append(CountedReads(result=levels[-1]))
    return levels


def test_every_level_of_a_nested_answer_is_read_equally_often() -> None:
    levels = nested(9, "It was lit in 1871.")
    assert answer_text(levels[-1]) == "It was lit in 1871."
    assert len({level.reads for level in levels}) == 1


def test_a_deeply_nested_answer_comes_back_in_its_place() -> None:
    form: Any = in_its_form(
        Run(first_answer="1871", answer="1874"), nested(20, [{"n": 1, "text": "1871"}])[-1]
    )
    for _ in range(20):
        form = form["result"]
    assert form == [{"n": 1, "text": "1874"}]


def test_a_mapping_that_contains_itself_has_no_text() -> None:
    holder: dict[str, Any] = {}
    holder["answer"] = holder["output"] = holder
    assert answer_text(holder) is None


def test_a_completion_of_a_type_that_cannot_be_copied_has_no_text() -> None:
    message = SimpleNamespace(content="It was lit.")
    assert answer_text(SimpleNamespace(choices=[SimpleNamespace(message=message)])) is None


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ({"answer": "", "output": "It was lit."}, "It was lit."),
        ({"output": {"text": " \n"}, "result": [AIMessage("Lit.")]}, "Lit."),
        ({"answer": AIMessage(""), "generation": {"lit": 1871}}, '{"lit": 1871}'),
        ({"answer": "", "year": 1871}, ""),
        ({"answer": "", "output": " "}, ""),
    ],
)
def test_an_empty_text_is_the_answer_only_if_no_key_has_another(output: Any, text: str) -> None:
    assert answer_text(output) == text


@pytest.mark.parametrize(
    "model",
    [AT_HOME, OtherNames.model_validate({"keeper": "Ida", "inside": [AT_HOME]})],
    ids=["alias", "two-aliases"],
)
def test_a_model_with_aliases_is_read_from_the_json_that_it_was_written_to(
    model: BaseModel,
) -> None:
    text = data_text(model)
    assert text is not None
    assert why_not_rebuilt(model, text) is None
    assert rebuilt(model, text.replace("1871", "1874")) != model
    assert rebuilt(model, text) == model


def test_a_structured_answer_is_changed_in_its_own_call_and_by_the_schemas_names() -> None:
    calls: Any = [
        {"name": "search", "args": {"query": "lamp"}, "id": "1"},
        {"name": "Aliased", "args": {"year": "Pharos", "opened": 1871}, "id": "2"},
    ]
    outcome = ToolMessage(f"Returning {AT_HOME}", tool_call_id="2")
    response: Any = ModelResponse(
        result=[AIMessage("", tool_calls=calls), outcome], structured_response=AT_HOME
    )
    text = str(data_text(AT_HOME)).replace("1871", "1874")

    changed = structured_with(response, AIMessage(text))

    message: Any = changed.result[0]
    assert [call["args"] for call in message.tool_calls] == [
        {"query": "lamp"},
        {"year": "Pharos", "opened": 1874},
    ]
    assert changed.structured_response == Aliased(year="Pharos", opened=1874)
    assert "1874" in str(changed.result[1].content)
    plain: Any = ModelResponse(result=[AIMessage("{}")], structured_response=AT_HOME)
    assert json.loads(str(structured_with(plain, AIMessage(text)).result[0].content)) == {
        "year": "Pharos",
        "opened": 1874,
    }
