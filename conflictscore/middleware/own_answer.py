"""Lets a chatbot answer in the loop: it writes the first answer and replies to later requests.

Limits without a stated reason were chosen by hand.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from conflictscore.answering.answerer import ModelAnswerer, cut_notes
from conflictscore.answering.evidence_text import sourced_details
from conflictscore.errors import UnreadableReplyError
from conflictscore.loop.state import (
    GeneratedAnswer,
    RagState,
    RevisionRequest,
    RunContext,
    documents_of,
)
from conflictscore.middleware.entrypoints import PassedOnError
from conflictscore.models import fit_documents
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet, material
from conflictscore.records import Answer
from conflictscore.retrieval.near_windows import near
from conflictscore.threads import on_home_loop

T = TypeVar("T")

MessageContent = str | Sequence[Any] | None
"""The content of a chat message: a string or a list of parts."""
Ask = Callable[[str, UsageMeter], Awaitable[tuple[str, str | None]]]
"""Sends the user's messages with a block of documents. Returns the text of the reply and, if it did
not end normally, why it may be incomplete."""

_ANSWER_SHARE = 4
"""By default, an answer may take at most the context window divided by this number, in tokens.

The rest of the window is for the conversation and the documents. Chosen by hand.
"""
_MOST_ANSWER_TOKENS = 4096  # even models with a large context window may not allow a longer reply


def reconsider_prompt(state: RagState, request: RevisionRequest, prompts: PromptSet) -> str:
    """Return the prompt that asks an answerer, which has the documents, to reconsider a claim.

    The prompt does not name the type of conflict.
    """
    return prompts.render(
        "reconsider",
        question=material(state["question"]),
        answer=material(request.before.text),
        claim=material(request.claim.claim.text),
        evidence=sourced_details(request.claim, documents_of(state), prompts, request.weights),
    )


@dataclass(frozen=True)
class Chatbot:
    """An answerer that sends text to the caller's agent or function, and gets text back.

    Attributes:
        begin: Returns the chatbot's first answer.
        say: Returns the chatbot's reply to a request. Raises a ConflictScoreError with a one-line
            message, or a PassedOnError for errors that must reach the caller.
        request: Returns the request for a new answer, with notes; by default
            :func:`reconsider_prompt`.
    """

    name: str
    prompts: PromptSet
    begin: Callable[[RagState], Awaitable[GeneratedAnswer]]
    say: Callable[[RagState, str], Awaitable[str]]
    request: Callable[[RagState, RevisionRequest], tuple[str, Sequence[str]]] | None = None

    async def first(self, state: RagState, meter: UsageMeter) -> GeneratedAnswer:
        """Return the chatbot's first answer."""
        return await self.begin(state)

    async def again(
        self, state: RagState, request: RevisionRequest, meter: UsageMeter
    ) -> GeneratedAnswer:
        """Ask the chatbot again, with the evidence for and against a claim."""
        notes: Sequence[str] = ()
        if self.request is None:
            prompt = reconsider_prompt(state, request, self.prompts)
        else:
            prompt, notes = self.request(state, request)
        return GeneratedAnswer(Answer(text=await self.say(state, prompt)), tuple(notes))

    async def reply(
        self,
        state: RagState,
        prompt: str,
        read: Callable[[str], T],
        meter: UsageMeter,
        *,
        max_tokens: int,
    ) -> T:
        """Send a request instead of the question, and read the chatbot's reply."""
        reply = await self.say(state, prompt)
        try:
            return read(reply)
        except ValueError as error:
            raise UnreadableReplyError(str(error), provider=self.name) from error


@dataclass(frozen=True)
class OwnAnswer(ModelAnswerer):
    """Uses the model's reply to the user's own messages as the first answer.

    The model gets no instructions on style or length. The documents that the loop found are put
    before the text of the last message, in the same message. Corrections use the usual prompts.
    """

    ask: Ask
    read_before: str
    """The text of all messages, for counting tokens."""
    limit: int | None
    """The caller's token limit."""

    async def first(self, state: RagState, meter: UsageMeter) -> GeneratedAnswer:
        """Send the user's messages with the documents; the model's errors reach the caller."""
        context, prompts = self.context, self.context.prompts
        window = context.generator.context_window
        room = min(_MOST_ANSWER_TOKENS, window // _ANSWER_SHARE)
        fitted = fit_documents(
            documents_of(state),
            context.generator,
            prompts,
            around=f"{self.read_before}\n{prompts.render('attached_documents', documents='')}",
            reply_tokens=self.limit or room,
            choose=near(state["question"]),
        )
        shown = prompts.documents(fitted.documents, brief=context.generator.is_local)
        block = prompts.render("attached_documents", documents=shown)
        try:
            text, ending = await on_home_loop(lambda: self.ask(block, meter))
        except Exception as error:
            raise PassedOnError(error) from error
        answer = Answer(text=text, early_ending=ending)
        return GeneratedAnswer(answer, tuple(cut_notes(fitted, "answer")))


def with_own_answer(
    context: RunContext,
    ask: Ask,
    read_before: str,
    parameters: Mapping[str, Any],
) -> RunContext:
    """Return the context of a run whose first answer comes from :class:`OwnAnswer`."""
    limits = [parameters.get(name) for name in ("max_completion_tokens", "max_tokens")]
    limit = next((limit for limit in limits if isinstance(limit, int)), None)
    return replace(context, answerer=OwnAnswer(context, ask, read_before, limit))


def with_block(content: MessageContent, block: str) -> str | list[Any]:
    """Put a block of documents before the content of a message."""
    if content is None or isinstance(content, str):
        return f"{block.rstrip()}\n\n{content or ''}"
    return [{"type": "text", "text": block}, *content]
