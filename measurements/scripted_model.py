"""A chat model with scripted replies: a function gets the template and fields of each prompt."""

from collections.abc import Callable, Mapping
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import ConfigDict

from conflictscore.prompts import PromptSet
from conflictscore.tokens import count_tokens


class NotedPrompts(PromptSet):
    """Templates that record the name and fields from which each prompt was made."""

    def __init__(self, prompts: PromptSet) -> None:
        """Use the templates of this set."""
        vars(self).update(vars(prompts))
        self._noted = prompts
        self.rendered: dict[str, tuple[str, Mapping[str, Any]]] = {}

    def render(self, name: str, **fields: str | int) -> str:
        """Fill in a template, and record its name and fields."""
        text = self._noted.render(name, **fields)
        self.rendered[text] = name, fields
        return text

    def made(self, prompt: str) -> tuple[str, Mapping[str, Any]]:
        """Return the template and fields from which a prompt, or its beginning, was made."""
        known = (
            prompt
            if prompt in self.rendered
            else max(filter(prompt.startswith, self.rendered), key=len, default="")
        )
        return self.rendered.get(known, ("", {}))


def rival_lines(fields: Mapping[str, Any]) -> str:
    """Return a reply to the template ``relation`` that calls each statement a rival."""
    lines = str(fields["statements"]).splitlines()
    return "\n".join(f"{number}: RIVAL" for number in range(1, len(lines) + 1))


class ScriptedModel(BaseChatModel):
    """Gets its replies from a function, and counts the tokens of prompts and replies.

    Attributes:
        prompts: The templates. The run must use the same templates.
        reply: Returns the reply, given the name and the fields of a template. The name is
            ``decompose_with_places`` if the reply must state where each claim is.
    """

    prompts: NotedPrompts
    reply: Callable[[str, Mapping[str, Any]], str]

    model_config = ConfigDict(arbitrary_types_allowed=True)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        prompt = messages[-1].text
        name, fields = self.prompts.made(prompt)
        if name == "decompose" and prompt.endswith(self.prompts.render("decompose_places")):
            name = "decompose_with_places"
        reply = self.reply(name, fields)
        read, written = count_tokens(prompt), count_tokens(reply)
        usage = {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}
        message = AIMessage(reply, usage_metadata=usage)
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self._generate(messages)  # a reply takes no time: no thread is needed
