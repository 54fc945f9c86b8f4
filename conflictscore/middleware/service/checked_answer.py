"""Turns a chat request into a checked completion, applies the mode, and handles failures.

A note below an answer says where its sources disagree, or that the answer could not be checked. The
note is part of the answer's text, which many clients render as Markdown. Text from documents and
models is therefore stripped of anything that could become a link, an image or markup.
"""

import asyncio
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

from conflictscore.answering.claim_coverage import states_nothing
from conflictscore.answering.evidence_text import Witness, witnesses
from conflictscore.correcting.riders import is_name
from conflictscore.json_answers import check_of, is_json
from conflictscore.loop.examining import unfinished
from conflictscore.loop.state import RunContext
from conflictscore.middleware.answer_forms import check_of_format
from conflictscore.middleware.entrypoints import with_later_gaps
from conflictscore.middleware.own_answer import with_block, with_own_answer
from conflictscore.middleware.requirement import meets, why_refused
from conflictscore.middleware.service.completions import (
    Completion,
    calls_tools,
    completion_of,
    ending_of,
    spoken_of,
    text_of,
    usage_of,
    why_no_text,
)
from conflictscore.middleware.service.forced_calls import as_call, as_words, forced_schema
from conflictscore.middleware.service.loop_run import LoopRun
from conflictscore.middleware.service.refusals import RefusedError, refusal_of, upstream_fault
from conflictscore.middleware.service.requests import ChatRequest
from conflictscore.middleware.service.service import RequestRecord, Service
from conflictscore.middleware.unread_facts import unread_facts
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import material
from conflictscore.records import Gap, GapKind, Label, Run, RunStatus
from conflictscore.threads import on_home_loop

# What chat clients would render or link: email addresses, Markdown, HTML and addresses of pages.
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
"""The limits of a note: characters per title, characters per claim, sources per side, claims.

The limits were chosen by hand, so that the note is shorter than most answers.
"""
_KINDS = {"search": GapKind.NO_DOCUMENTS}
"""The kind of gap for each step that may fail; for steps not listed, it is ``CHECK_FAILED``."""


class CheckedAnswer:
    """Answers one request, checks the answer, and closes the request's record."""

    def __init__(self, service: Service, request: ChatRequest, record: RequestRecord) -> None:
        self._service, self._request, self._record = service, request, record
        self._draft: Completion | None = None
        self._loop: LoopRun | None = None
        self._refused_run: Run | None = None
        self._call: Completion | None = None
        """The upstream's reply, if its answer is a forced tool call."""
        self._check = check_of_format(request.body.get("response_format"))

    async def completion(self) -> Completion:
        """Answer the request within its time limit, and store its run."""
        with self._service.finishing(self._record, self._known):
            try:
                async with asyncio.timeout(self._record.seconds_left):
                    completion = await self._in_time()
            except TimeoutError:
                completion = await self._out_of_time()
        if not await self._service.is_stored(self._record):
            completion["conflictscore"]["stored"] = False
        return completion

    async def _in_time(self) -> Completion:
        """Answer the request; the upstream is called before the loop or within it."""
        service, request = self._service, self._request
        if (
            request.unchecked
            or request.upstream_first
            or service.settings.first_answer == "upstream"
        ):
            draft, gap = await self._from_upstream()
            if request.unchecked:
                gap = Gap(kind=GapKind.NOT_CHECKABLE, note=request.unchecked)
            if gap:
                return self._finished(RunStatus.PASSED_THROUGH, text_of(draft), gap)
        if reason := service.nothing_to_check_with(request.asked):
            return await self._unchecked("search", reason)
        self._loop = LoopRun(request.asked.start(self._spoken()), self._run_context())
        failure = await self._loop.go()
        # the upstream may have answered only within the loop, in a form that cannot be checked
        if self._draft is not None and (gap := self._out_of_form(self._draft)):
            text = text_of(self._draft)
            return self._finished(RunStatus.PASSED_THROUGH, text, gap, answer=text)
        if failure is None:
            return self._finished(*self._settled())
        stage, reason, error = failure
        if error is not None and stage in ("search", "answer") and upstream_fault(error):
            # The upstream cannot answer, so the unchanged request would fail too. Before a search,
            # it may have been asked to rewrite the question.
            service.failed("upstream", self._record, error)
            raise refusal_of(error, service.context.generator) from error
        return await self._unchecked(stage, reason)

    def _run_context(self) -> RunContext:
        """Return the context for this request.

        If the upstream has not answered yet, the loop calls it.
        """
        service, request = self._service, self._request
        model = service.context.generator
        always = getattr(model.chat, "extra_body", None) or {}
        context = replace(
            service.context,
            answer_parameters=request.answer_parameters(always),
            run_id=self._record.run_id,
            answer_check=self._check,
        )
        if self._draft is None:
            context = with_own_answer(
                context, self._with_documents, self._read_before, request.body
            )
        return context

    @cached_property
    def _read_before(self) -> str:
        """The text of all messages, which the upstream reads before it answers."""
        return json.dumps(self._request.body["messages"], ensure_ascii=False)

    def _spoken(self) -> str | None:
        """Return the upstream's answer without its reasoning; None if it has not answered."""
        return None if self._draft is None else spoken_of(self._draft, self._read_before)

    async def _with_documents(self, block: str, meter: UsageMeter) -> tuple[str, str | None]:
        """Send the request with documents to the upstream; :meth:`_known` counts the call."""
        # a changed request gets the model's own parameters, like all our calls
        always = getattr(self._service.context.generator.chat, "extra_body", None) or {}
        draft, _ = await self._from_upstream({**always, **_attached(self._request.body, block)})
        # our own id and model, since the upstream answered a changed request
        ours = {"id": f"chatcmpl-{self._record.run_id}", "model": self._record.model}
        self._draft = {**draft, **ours}
        return spoken_of(draft, self._read_before), ending_of(draft)

    async def _from_upstream(
        self, body: Mapping[str, Any] | None = None
    ) -> tuple[Completion, Gap | None]:
        """Send a request to the upstream (default: the caller's), and store its reply.

        Returns:
            The reply, with a forced tool call as text, and why it cannot be checked, if so.
        """
        try:
            ask = partial(self._service.upstream.complete, body or self._request.body)
            self._draft = draft = await on_home_loop(ask)
        except RefusedError as refusal:
            self._service.failed("upstream", self._record, refusal.__cause__)
            raise
        schema = forced_schema(body or self._request.body, draft)
        if schema is not None:
            self._call, self._check = draft, check_of(schema)
            self._draft = draft = as_words(draft)
        return draft, self._out_of_form(draft)

    def _out_of_form(self, draft: Completion) -> Gap | None:
        """Return a gap if the upstream's answer has no text or is not the requested JSON."""
        text = spoken_of(draft, self._read_before)
        gap = why_no_text(draft)
        if gap is None and not text.strip():
            gap = Gap(kind=GapKind.EMPTY_ANSWER, note="the reply has only reasoning")
        if gap or self._check is None or is_json(text):
            return gap
        note = "the reply is not the requested JSON"
        return Gap(kind=GapKind.NOT_CHECKABLE, note=note)

    async def _out_of_time(self) -> Completion:
        """Send the first answer as unchecked; HTTP 504 if there is none, or it would be refused."""
        settings = self._service.settings
        limit = f"the request timed out after {settings.timeout:g} s"
        # if an unchecked answer would be refused with HTTP 503, a timeout gets HTTP 504
        may_refuse_by_503 = settings.require and settings.refusal is None
        if self._first_answer() is not None and not may_refuse_by_503:
            return await self._unchecked("timeout", limit)
        self._service.failed("timeout", self._record)
        raise RefusedError(504, f"there is no checked answer: {limit}", code="timeout")

    async def _unchecked(self, kind: str, reason: str) -> Completion:
        """Apply the deployment's policy for answers that could not be checked."""
        service, settings = self._service, self._service.settings
        service.failed(kind, self._record)
        text = self._first_answer()
        if text is None:
            draft, no_text = await self._from_upstream()
            text = text_of(draft)
            if no_text:
                return self._finished(RunStatus.PASSED_THROUGH, text, no_text)
        gap = Gap(kind=_KINDS.get(kind, GapKind.CHECK_FAILED), note=reason)
        if states_nothing(text, self._request.asked.question):
            gap = gap.model_copy(update={"kind": GapKind.STATES_NOTHING})
        elif settings.require and settings.refusal is None:
            raise RefusedError(
                503, f"the answer could not be checked: {reason}", code="not_checked"
            )
        # if a check is required, ``_finished`` refuses the answer
        if settings.require or settings.on_failure == "pass_through":
            return self._finished(RunStatus.PASSED_THROUGH, text, gap, answer=text)
        # a failure in a later step leaves the scores of the first answer
        note = disagreement_note(self._known()) or unchecked_note(reason)
        text_with_note = text if is_json(text) else f"{text}\n\n{note}"
        return self._finished(RunStatus.FAILED, text_with_note, gap, answer=text)

    def _settled(self) -> tuple[RunStatus, str]:
        """Return the status of the checked answer, and the text to send."""
        run = self._known()
        answer = text = run.answer or ""
        if self._draft is not None:
            whole, own = text_of(self._draft), self._spoken() or ""
            if not run.flipped:
                text = whole  # unchanged, byte for byte
            elif own and whole.endswith(own):
                text = whole[: -len(own)] + answer  # with the reasoning before the answer
        note = disagreement_note(run)
        if note is not None and self._record.mode == "annotate":
            # JSON cannot carry a note; the field conflictscore names its disputed values
            return RunStatus.ANNOTATED, text if is_json(answer) else f"{text}\n\n{note}"
        if run.flipped:
            return RunStatus.CORRECTED, text
        if note is not None:
            return RunStatus.KEPT, text
        return RunStatus.PARTLY_SCORED if run.is_partial else RunStatus.SCORED, text

    def _first_answer(self) -> str | None:
        if self._draft is not None:
            return text_of(self._draft)
        return None if self._loop is None else self._loop.known.first_answer

    def _known(self) -> Run:
        """Return the run so far, including the tokens of the upstream's own answer."""
        if self._refused_run is not None:
            return self._refused_run
        question = self._request.asked.question
        run = self._loop.known if self._loop else Run(question=question, asked=question)
        if self._draft is None:
            return run
        return run.model_copy(update={"usage": run.usage + usage_of(self._draft)})

    def _finished(
        self,
        status: RunStatus,
        text: str,
        gap: Gap | None = None,
        *,
        answer: str | None = None,
    ) -> Completion:
        """Close the record, and refuse the answer if less of it was checked than required.

        Args:
            status: The status of the run.
            text: The text to send.
            gap: Why the answer was not checked; None if it was checked.
            answer: The answer to store, if it differs from that of the run.
        """
        run = with_later_gaps(self._known(), *self._gaps(gap))
        run = self._record.ended(run, status)
        if answer is not None:
            run = run.model_copy(update={"answer": answer, "first_answer": answer})
        is_answer = self._draft is None or not calls_tools(self._draft)
        if is_answer and not meets(run, self._service.settings.require):
            return self._refused(run)
        self._service.finish(self._record, run, text)
        completion = completion_of(self._record, run, text, base=self._draft)
        return completion if self._call is None else as_call(completion, self._call)

    def _gaps(self, gap: Gap | None) -> Iterator[Gap]:
        """Yield the gaps that the loop cannot know, such as a cut answer or unread evidence."""
        if gap is not None:
            yield gap
        if ending := None if self._draft is None else ending_of(self._draft):
            yield unfinished(ending)
        yield from self._request.asked.left_out
        yield from unread_facts(self._known(), self._request.asked.unread())

    def _refused(self, run: Run) -> Completion:
        """Send the configured refusal instead of the answer, or HTTP 503.

        Neither the refusal nor the error quotes the answer, but the stored run contains it.
        """
        settings = self._service.settings
        if run.status is not RunStatus.PASSED_THROUGH:  # unchecked answers are already counted
            self._service.failed("refused", self._record)
        why = why_refused(run, settings.require)
        if settings.refusal is None:
            self._refused_run = run  # stored when the error ends the request
            raise RefusedError(503, why, code="not_checked")
        run = self._record.ended(run, RunStatus.FAILED, why)
        self._service.finish(self._record, run, settings.refusal)
        bare = run.model_copy(update={"answer": None, "first_answer": None, "notes": (why,)})
        return completion_of(self._record, bare, settings.refusal)


def _attached(body: Mapping[str, Any], block: str) -> dict[str, Any]:
    messages = list(body["messages"])
    last = max(n for n, message in enumerate(messages) if message["role"] == "user")
    messages[last] = {
        **messages[last],
        "content": with_block(messages[last].get("content"), block),
    }
    return {**body, "messages": messages}


def disagreement_note(run: Run) -> str | None:
    """Return the note for a first answer whose sources disagree; None if they agree.

    The note is about every contradicted claim, since the answer itself is not changed.
    """
    claims = run.report.claims if run.report else ()
    disputed_numbers = run.report.disputed if run.report else ()
    split = [
        claim for claim in claims if claim.contradicts or claim.claim.number in disputed_numbers
    ]
    if not split:
        return None
    speaks_against = all(not claim.supports for claim in split)
    lines = [
        f"Note: the sources {'contradict' if speaks_against else 'disagree about'} {len(split)}"
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
    """Return the note for an answer that could not be checked."""
    return f"Note: this answer was not checked against sources ({_plain(reason, _CLAIM_CHARS)})."


def _listed(side: Sequence[Witness]) -> str:
    """Return the first sources for or against a claim.

    Each source is named by its title (or else its number), followed by its host if known. A title
    that states or orders something is left out, since the note is part of the reply.
    """
    names = []
    for witness in side[:_MOST_SOURCES]:
        document = witness.document
        title = _plain(document.title, _TITLE_CHARS) if is_name(document.title) else ""
        title = title or f"document {document.number}"
        host = _plain(document.site, _TITLE_CHARS) if document.site != document.url else ""
        names.append(f"{title}, {host}" if host else title)
    if len(side) > _MOST_SOURCES:
        names.append(f"{len(side) - _MOST_SOURCES} more")
    return "; ".join(names) or "none"


def _plain(text: str, most: int) -> str:
    plain = " ".join(_MARKUP.sub(" ", material(text)).split())
    return plain if len(plain) <= most else f"{plain[:most]}…"
