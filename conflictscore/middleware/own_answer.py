"""A chatbot as answerer: gives its own first answer and replies to follow-up requests."""

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
"""The content of a chat message: a text, or parts."""
Ask = Callable[[str, UsageMeter], Awaitable[tuple[str, str | None]]]
"""Sends the user's messages with a block of documents; returns the text of the reply, and its
finish reason if it did not end normally."""

_ANSWER_SHARE = 4
"""Without a limit by the caller, 1/n of the context window is reserved for the answer."""
_MOST_ANSWER_TOKENS = 4096


def reconsider_prompt(state: RagState, request: RevisionRequest, prompts: PromptSet) -> str:
    """The request to an answerer that already has the documents; it names no conflict type."""
    return prompts.render(
        "reconsider",
        question=material(state["question"]),
        answer=material(request.before.text),
        claim=material(request.claim.claim.text),
        evidence=sourced_details(request.claim, documents_of(state), prompts, request.weights),
    )


@dataclass(frozen=True)
class Chatbot:
    """Makes a caller's agent or function, which maps text to text, an answerer.

    Attributes:
        begin: Returns its own first answer.
        say: Returns its reply to a request; raises a ConflictScoreError with one clear line, or a
            PassedOnError for errors that must reach the caller.
        request: Returns the request for a new answer, with its notes; by default the request to a
            chatbot that has the documents.
    """

    name: str
    prompts: PromptSet
    begin: Callable[[RagState], Awaitable[GeneratedAnswer]]
    say: Callable[[RagState, str], Awaitable[str]]
    request: Callable[[RagState, RevisionRequest], tuple[str, Sequence[str]]] | None = None

    async def first(self, state: RagState, meter: UsageMeter) -> GeneratedAnswer:
        """Its own first answer."""
        return await self.begin(state)

    async def again(
        self, state: RagState, request: RevisionRequest, meter: UsageMeter
    ) -> GeneratedAnswer:
        """Ask again, with the evidence of both sides."""
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
        """Ask with a request in place of the question."""
        reply = await self.say(state, prompt)
        try:
            return read(reply)
        except ValueError as error:
            raise UnreadableReplyError(str(error), provider=self.name) from error


@dataclass(frozen=True)
class OwnAnswer(ModelAnswerer):
    """Answers with the model's reply to the user's own messages.

    The model gets no instructions on style or length. The documents found by the loop are put
    before the text of the last message, in the same message. Corrections are requested as usual.
    """

    ask: Ask
    read_before: str
    """The text of all messages, for counting tokens."""
    limit: int | None
    """The caller's token limit."""

    async def first(self, state: RagState, meter: UsageMeter) -> GeneratedAnswer:
        """Ask with the documents; the model's errors reach the caller."""
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
        block = prompts.render("attached_documents", documents=prompts.documents(fitted.documents))
        try:
            text, ending = await on_home_loop(lambda: self.ask(block, meter))
        except Exception as error:
            raise PassedOnError(error) from error
        notes = cut_notes(fitted, "answer")
        if ending:
            notes.append(f"the answer may be incomplete: it ended with “{ending}”")
        return GeneratedAnswer(Answer(text=text), tuple(notes))


def with_own_answer(
    context: RunContext,
    ask: Ask,
    read_before: str,
    parameters: Mapping[str, Any],
) -> RunContext:
    """The context of a run whose first answer is the model's own; see :class:`OwnAnswer`."""
    limits = [parameters.get(name) for name in ("max_completion_tokens", "max_tokens")]
    limit = next((limit for limit in limits if isinstance(limit, int)), None)
    return replace(context, answerer=OwnAnswer(context, ask, read_before, limit))


def with_block(content: MessageContent, block: str) -> str | list[Any]:
    """The content of a message with a block of documents before it."""
    if content is None or isinstance(content, str):
        return f"{block.rstrip()}\n\n{content or ''}"
    return [{"type": "text", "text": block}, *content]
