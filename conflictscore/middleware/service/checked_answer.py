"""From a chat request to the completion its caller gets: the modes, and what a failure leads to.

The note under an answer says where its sources disagree, or that it could not be checked. It is
part of the answer's text, which many clients show as Markdown. So what comes from a document or a
model is stripped of everything that could become a link, an image or markup.
"""

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from conflictscore.middleware.service.answer_stream import Completion
from conflictscore.middleware.service.completions import (
    completion_of,
    text_of,
    usage_of,
    why_no_text,
)
from conflictscore.middleware.service.loop_run import LoopRun
from conflictscore.middleware.service.refusals import (
    RefusedError,
    refusal_of,
    upstream_fault,
)
from conflictscore.middleware.service.requests import ChatRequest
from conflictscore.middleware.service.service import Line, Service, Ticket
from conflictscore.nodes.conflict_details import Witness, witnesses
from conflictscore.prompts import material
from conflictscore.records import Document, Label, Run, RunStatus

__all__ = ["CheckedAnswer", "disagreement_note", "unchecked_note"]

_MARKUP = re.compile(
    r"""
      (?<!\S)\S+@\S+  # first, since the local part of an address may hold what is cut out below
    | [\[\]()<>{}|`*_#!~\\]+
    | \w{1,20}://\S*
    | www\.\S*
    | &\w+;  # clients decode these before they look for addresses
    """,
    re.IGNORECASE | re.VERBOSE,
)
_TITLE_CHARS = 80
_CLAIM_CHARS = 300
_MOST_SOURCES = 3
_MOST_CLAIMS = 5


class CheckedAnswer:
    """The work on one request in the modes ``correct`` and ``annotate``.

    Args:
        service: What it works with.
        request: The request.
        ticket: Its record, which is closed whatever happens.
        stands: Called with the completion as soon as no word of its text can change, which may
            be never; None where nobody needs it early.
    """

    def __init__(
        self,
        service: Service,
        request: ChatRequest,
        ticket: Ticket,
        stands: Callable[[Completion], None] | None,
    ) -> None:
        self._service, self._request, self._ticket = service, request, ticket
        self._stands = stands
        self._line = service.lines()[0]
        self._draft: Completion | None = None
        self._loop: LoopRun | None = None

    async def completion(self) -> Completion:
        """Do the work.

        Raises:
            RefusedError: The request ends with an error.
        """
        with self._service.finishing(self._ticket, self._known):
            try:
                async with asyncio.timeout(self._ticket.seconds_left):
                    return await self._in_time()
            except TimeoutError:
                return await self._out_of_time()

    async def _in_time(self) -> Completion:
        """Ask the upstreams in turn, until one can answer."""
        *others, last = self._service.lines()
        for line in others:
            self._line, self._ticket.context = line, line.context
            try:
                return await self._on(line, judged=False)
            except RefusedError as refusal:
                if not line.failed(refusal):
                    raise
        self._line, self._ticket.context = last, last.context
        try:
            return await self._on(last, judged=True)
        except RefusedError as refusal:
            last.failed(refusal)
            raise

    async def _on(self, line: Line, *, judged: bool) -> Completion:
        """Answer with one upstream.

        Args:
            line: It, and what checks its answers.
            judged: Whether a judge that fails is a matter for the policy, and not for the next one.
        """
        service, request = self._service, self._request
        forwarded = request.upstream_first or service.settings.first_answer == "upstream"
        if forwarded and self._draft is None:
            draft, reason = await self._from_upstream()
            if reason:
                return self._finished(RunStatus.PASSED_THROUGH, text_of(draft), reason)
        if reason := service.nothing_to_check_with(request.asked):
            return await self._unchecked("search", reason)
        start = request.asked.start(self._first_answer())
        always = getattr(line.context.generator.chat, "extra_body", None) or {}
        parameters = request.answer_parameters(always)
        context = replace(line.context, answer_parameters=parameters, run_id=self._ticket.run_id)
        hear_of_it = self._standing if self._stands else None
        loop = self._loop = LoopRun(
            service.graph, start, context, account=self._ticket.account, stands=hear_of_it
        )
        failure = await loop.go()
        if failure is None:
            return self._finished(*self._settled())
        stage, reason, error = failure
        if error is not None and loop.standing:
            service.failed("judge", self._ticket, error)
            return self._finished(*self._settled(), f"the check was not finished: {reason}")
        if error is not None and stage in ("search", "answer") and upstream_fault(error):
            # the upstream cannot answer: it would not answer the request as it is either
            service.failed("upstream", self._ticket, error)
            raise refusal_of(error, line.context.generator) from error
        if stage == "judge" and not judged:
            service.failed("judge", self._ticket, error)
            raise RefusedError(502, reason, code="judge_failed")
        return await self._unchecked(stage, reason)

    async def _from_upstream(self) -> tuple[Completion, str | None]:
        """The upstream's own answer, and why it is none in words, if so."""
        try:
            self._draft = draft = await self._line.upstream.complete(self._request.body)
        except RefusedError as refusal:
            self._service.failed("upstream", self._ticket, refusal.__cause__)
            raise
        self._ticket.account.count(usage_of(draft))
        return draft, why_no_text(draft)

    def _standing(self, loop: LoopRun) -> None:
        if self._stands is not None and loop.failure() is None:
            status, text = self._settled()
            run = self._ticket.ended(self._known(), status)
            self._stands(completion_of(self._ticket, run, text, base=self._draft, complete=False))

    async def _out_of_time(self) -> Completion:
        limit = f"{self._service.settings.timeout:g} s for a request are up"
        if self._loop is not None and self._loop.standing:
            self._service.failed("timeout", self._ticket)
            return self._finished(*self._settled(), f"the check was not finished: {limit}")
        if self._first_answer() is not None and self._service.settings.on_failure != "refuse":
            return await self._unchecked("timeout", limit)
        self._service.failed("timeout", self._ticket)
        raise RefusedError(504, f"there is no checked answer, and the {limit}", code="timeout")

    async def _unchecked(self, kind: str, reason: str) -> Completion:
        """What this deployment wants done where an answer could not be checked."""
        service, on_failure = self._service, self._service.settings.on_failure
        service.failed(kind, self._ticket)
        if on_failure == "refuse":
            raise RefusedError(
                503, f"the answer could not be checked: {reason}", code="not_checked"
            )
        text = self._first_answer()
        if text is None:
            draft, why = await self._from_upstream()
            text = text_of(draft)
            if why:
                return self._finished(RunStatus.PASSED_THROUGH, text, why)
        if on_failure == "pass_through":
            return self._finished(RunStatus.PASSED_THROUGH, text, reason, answer=text)
        note = disagreement_note(self._known()) or unchecked_note(reason)
        return self._finished(RunStatus.FAILED, f"{text}\n\n{note}", reason, answer=text)

    def _settled(self) -> tuple[RunStatus, str]:
        """The run's status, and the answer as it goes out."""
        run = self._known()
        text = run.answer or ""
        if self._draft is not None and not run.flipped:
            text = text_of(self._draft)  # letter by letter
        note = disagreement_note(run)
        if note is not None and self._ticket.mode == "annotate":
            return RunStatus.ANNOTATED, f"{text}\n\n{note}"
        if run.flipped:
            return RunStatus.CORRECTED, text
        if note is not None:
            return RunStatus.KEPT, text
        return RunStatus.PARTLY_SCORED if run.is_partial else RunStatus.SCORED, text

    def _first_answer(self) -> str | None:
        """The first answer where there is one by now."""
        if self._draft is not None:
            return text_of(self._draft)
        return None if self._loop is None else self._loop.known.first_answer

    def _known(self) -> Run:
        """What is known of the run by now, the tokens of the upstream's own answer included."""
        question = self._request.asked.question
        run = self._loop.known if self._loop else Run(question=question, asked=question)
        if self._draft is None:
            return run
        return run.model_copy(update={"usage": run.usage + usage_of(self._draft)})

    def _finished(
        self, status: RunStatus, text: str, *notes: str, answer: str | None = None
    ) -> Completion:
        """Close the record.

        Args:
            status: How the run ended.
            text: What goes out.
            *notes: Further notes of the run.
            answer: The run's answer, where it is not the loop's.
        """
        run = self._ticket.ended(self._known(), status, *notes)
        if answer is not None:
            run = run.model_copy(update={"answer": answer, "first_answer": answer})
        self._service.finish(self._ticket, run)
        return completion_of(self._ticket, run, text, base=self._draft)


def disagreement_note(run: Run) -> str | None:
    """The note on a first answer whose sources disagree; None where they do not.

    It names every claim that a document contradicts, since nothing is changed for that.
    """
    claims = run.report.claims if run.report else ()
    disputed = run.report.disputed if run.report else ()
    split = [claim for claim in claims if claim.contradicts or claim.claim.number in disputed]
    if not split:
        return None
    speaks_against = all(not claim.supports for claim in split)
    lines = [
        f"Note: the sources {'speak against' if speaks_against else 'disagree about'} {len(split)}"
        f" of {len(claims)} claims of this answer."
    ]
    for claim in split[:_MOST_CLAIMS]:
        text = _plain(claim.claim.text, _CLAIM_CHARS)
        sides = (
            _listed(list(witnesses(claim, label, run.documents)))
            for label in (Label.SUPPORTS, Label.CONTRADICTS)
        )
        lines.append("- “{}” For it: {}. Against it: {}.".format(text, *sides))
    if len(split) > _MOST_CLAIMS:
        lines.append(f"- and {len(split) - _MOST_CLAIMS} more")
    return "\n".join(lines)


def unchecked_note(reason: str) -> str:
    """The note for an answer that could not be checked."""
    return f"Note: this answer was not checked against sources ({_plain(reason, _CLAIM_CHARS)})."


def _listed(side: Sequence[Witness]) -> str:
    """The first sources of a side, each with the number of its near-copies there."""
    shown = [
        _name(one.document) + (f" (and {len(one.copies)} like it)" if one.copies else "")
        for one in side[:_MOST_SOURCES]
    ]
    if len(side) > _MOST_SOURCES:
        shown.append(f"{len(side) - _MOST_SOURCES} more")
    return "; ".join(shown) or "none"


def _name(document: Document) -> str:
    """A document by title and host, or by its number."""
    title = _plain(document.title, _TITLE_CHARS) or f"document {document.number}"
    host = _plain(document.site, _TITLE_CHARS) if document.site != document.url else ""
    return f"{title}, {host}" if host else title


def _plain(text: str, most: int) -> str:
    folded = " ".join(_MARKUP.sub(" ", material(text)).split())
    return folded if len(folded) <= most else f"{folded[:most]}…"
