"""From a chat request to the reply that its caller gets: the modes, and what trouble comes to."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from conflictscore.middleware.service.completions import (
    completion_of,
    text_of,
    usage_of,
    why_no_text,
)
from conflictscore.middleware.service.evidence import STOPPED, Status, full, unrun
from conflictscore.middleware.service.faults import (
    RefusedError,
    plain_reason,
    refusal_of,
    upstream_fault,
)
from conflictscore.middleware.service.loop_run import LoopRun
from conflictscore.middleware.service.notes import disagreement, unchecked
from conflictscore.middleware.service.requests import ChatRequest
from conflictscore.middleware.service.service import Service, Ticket
from conflictscore.records import Usage

__all__ = ["Answering", "Reply", "Stands"]


class Reply(NamedTuple):
    """What goes out for a chat request."""

    completion: dict[str, Any]
    """OpenAI's chat completion, with ``conflictscore`` beside its fields."""
    status: Status


Stands = Callable[[Reply], None]
"""Told of the reply as soon as not a word of its text can change, which may be never."""

State = Mapping[str, Any]


class Answering:
    """The work on one request in the modes ``correct`` and ``annotate``.

    Args:
        service: What it is done with.
        request: What is asked.
        ticket: The record of it, which is closed whatever happens.
        stands: Told of a reply before the end of the work, where somebody wants to know.
    """

    def __init__(
        self, service: Service, request: ChatRequest, ticket: Ticket, stands: Stands | None
    ) -> None:
        self._service, self._request, self._ticket = service, request, ticket
        self._stands = stands
        self._draft: dict[str, Any] | None = None
        self._run: LoopRun | None = None

    async def reply(self) -> Reply:
        """Do the work.

        Raises:
            RefusedError: The request ends with an error.
        """
        try:
            try:
                async with asyncio.timeout(self._ticket.deadline - time.monotonic()):
                    return await self._in_time()
            except TimeoutError:
                return await self._out_of_time()
        except Exception as error:
            self._close(self._known(), "failed", [plain_reason(error)])
            raise
        except asyncio.CancelledError:
            self._service.metrics.failure("client_gone")
            self._close(self._known(), "unfinished", [STOPPED])
            raise

    async def _in_time(self) -> Reply:
        service, request = self._service, self._request
        if request.upstream_first or service.settings.first_answer == "upstream":
            self._draft = await self._from_upstream()
            if reason := why_no_text(self._draft):
                return self._passed_through(self._draft, reason)
        start = service.start(request, None if self._draft is None else text_of(self._draft))
        if reason := service.nothing_to_check_with(start):
            return await self._unchecked("search", reason)
        context = service.context if self._ticket.mode == "correct" else service.scoring
        always = getattr(context.generator.chat, "extra_body", None) or {}
        context = replace(context, answer_parameters=request.answer_parameters(always))
        hear_of_it = self._standing if self._stands else None
        run = self._run = LoopRun(service.graph, start, context, stands=hear_of_it)
        try:
            state = await run.go()
        except Exception as error:  # noqa: BLE001 - a retriever may raise anything
            return await self._broken(run, error)
        if trouble := run.trouble():
            return await self._unchecked(*trouble)
        return self._finished(state)

    async def _from_upstream(self) -> dict[str, Any]:
        try:
            return await self._service.upstream.complete(self._request.body)
        except RefusedError as refusal:
            self._service.failed("upstream", self._ticket, refusal.__cause__)
            raise

    def _standing(self, run: LoopRun) -> None:
        if self._stands is not None and run.trouble() is None:
            state = run.so_far()
            text, status = self._settled(state)
            shown = self._evidence(state, status, [])
            self._stands(Reply(self._completion(shown, text, complete=False), status))

    async def _broken(self, run: LoopRun, error: Exception) -> Reply:
        """What an error comes to that ended the loop."""
        reason = plain_reason(error)
        if run.standing:
            self._service.failed("judge", self._ticket, error)
            return self._finished(run.so_far(), [f"the check was not finished: {reason}"])
        if run.step in ("search", "answer") and upstream_fault(error):
            # the upstream cannot answer: it would not answer the request as it is either
            self._service.failed("upstream", self._ticket, error)
            raise refusal_of(error, self._service.context.generator) from error
        return await self._unchecked(run.step, reason)

    async def _out_of_time(self) -> Reply:
        run = self._run
        limit = f"{self._service.settings.timeout:g} s for a request are up"
        if run is not None and run.standing:
            self._service.failed("timeout", self._ticket)
            return self._finished(run.so_far(), [f"the check was not finished: {limit}"])
        if self._first_answer() is not None and self._service.settings.on_failure != "refuse":
            return await self._unchecked("timeout", limit)
        self._service.failed("timeout", self._ticket)
        raise RefusedError(504, f"there is no checked answer, and the {limit}", code="timeout")

    async def _unchecked(self, kind: str, reason: str) -> Reply:
        """What an answer that could not be checked comes to, by the policy of this deployment."""
        service, settings = self._service, self._service.settings
        service.failed(kind, self._ticket)
        if settings.on_failure == "refuse":
            raise RefusedError(
                503, f"the answer could not be checked: {reason}", code="not_checked"
            )
        text = self._first_answer()
        if text is None:
            self._draft = await self._from_upstream()
            if why := why_no_text(self._draft):
                return self._passed_through(self._draft, why)
            text = text_of(self._draft)
        status: Status = "passed-through"
        state = {**self._known(), "answer": text, "first_answer": text}
        if settings.on_failure == "annotate":
            status = "failed"
            note = disagreement(state["report"], state["documents"]) if state["report"] else None
            text = f"{text}\n\n{note or unchecked(reason)}"
        run = self._close(state, status, [reason])
        return Reply(self._completion(run, text), status)

    def _finished(self, state: State, notes: list[str] | None = None) -> Reply:
        text, status = self._settled(state)
        run = self._close(state, status, notes or [])
        return Reply(self._completion(run, text), status)

    def _settled(self, state: State) -> tuple[str, Status]:
        """The answer as it goes out, and what the run came to."""
        text, report = str(state["answer"]), state["report"]
        if self._draft is not None and not state["flipped"]:
            text = text_of(self._draft)  # letter by letter
        note = disagreement(report, state["documents"])
        if note is None:
            return text, "corrected" if state["flipped"] else "scored"
        if self._ticket.mode == "annotate":
            return f"{text}\n\n{note}", "annotated"
        return text, "corrected" if state["flipped"] else "kept"

    def _passed_through(self, completion: dict[str, Any], reason: str) -> Reply:
        run = self._close(self._known(), "passed-through", [reason])
        return Reply(self._completion(run, text_of(completion)), "passed-through")

    def _first_answer(self) -> str | None:
        """The first answer where there is one by now."""
        if self._draft is not None:
            return text_of(self._draft)
        return None if self._run is None else self._run.first_answer

    def _known(self) -> State:
        """What is known of the run by now."""
        if self._run is not None:
            return self._run.so_far()
        return unrun(self._request.asked.question, {}, [])

    def _completion(self, run: State, text: str, *, complete: bool = True) -> dict[str, Any]:
        return completion_of(self._ticket, run, text, base=self._draft, complete=complete)

    def _evidence(self, state: State, status: Status, notes: list[str]) -> dict[str, Any]:
        spent = Usage.model_validate(state["usage"])
        if self._draft is not None:
            spent += usage_of(self._draft)
        notes = [*state["notes"], *(note for note in notes if note not in state["notes"])]
        noted = {**state, "usage": spent.model_dump(), "notes": notes}
        return full(noted, self._ticket.facts(status))

    def _close(self, state: State, status: Status, notes: list[str]) -> dict[str, Any]:
        run = self._evidence(state, status, notes)
        self._service.finish(self._ticket, run)
        return run
