"""Asks a run's model to answer a question from documents, or to reconsider its answer.

The prompts follow Tables 11 to 16 of the ACL submission; Table 16 is Table 17 in arXiv v1.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from langchain_core.messages import BaseMessage

from conflictscore.answering.answer_replies import (
    form_of,
    option_fields,
    read_choice,
    read_reconsidered_choice,
    read_text,
    weigh,
)
from conflictscore.answering.conversation import conversation_of, read_after
from conflictscore.answering.evidence_text import conflict_details
from conflictscore.answering.time_questions import stating_times
from conflictscore.loop.examining import how_it_ended
from conflictscore.loop.question_check import LETTERS
from conflictscore.loop.state import (
    Answerer,
    GeneratedAnswer,
    RagInput,
    RagState,
    Reader,
    RevisionRequest,
    RunContext,
    RunRuntime,
    documents_of,
)
from conflictscore.models import Fitted, fit_documents
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet, material
from conflictscore.records import Answer, ClaimEvidence, Document, Method
from conflictscore.retrieval.near_windows import near

T = TypeVar("T")

# Reply tokens of an answer: about 350 English words. An answer that is cut off here is requested
# again, and then refused. Benchmarks and runs use the same limit, which is also subtracted from the
# context window before documents are fitted. The number was chosen by hand.
REPLY_TOKENS = 512
_OF_THE_TEXT = {"stop", "max_tokens", "max_completion_tokens", "response_format"}
"""Call parameters that apply only to the text of an answer.

Replies to other requests have fixed formats. The parameters would break such a format or cut the
reply short.
"""


def answerer_of(context: RunContext) -> Answerer:
    """Return the answerer of a run: the one in its context, or else its language model."""
    return context.answerer or ModelAnswerer(context)


def announce(
    runtime: RunRuntime, number: int, answer: Answer, *, after_guard: bool = False
) -> None:
    """Stream an answer as an event.

    If there is a guard, an answer from a later round is streamed only after the guard has judged
    it. The first answer is streamed at once, since the guard compares an answer with the previous
    one.
    """
    awaits_guard = runtime.context.settings.guard and number and not after_guard
    if not awaits_guard:
        runtime.stream_writer({"event": "answer", "round": number, "answer": answer.text})


@dataclass(frozen=True)
class ModelAnswerer:
    """An answerer that uses the run's generator model."""

    context: RunContext

    async def first(self, state: RagState, meter: UsageMeter) -> GeneratedAnswer:
        """Answer in free form, or by choosing an option.

        The question is clear without its conversation, but the conversation is shown, too. It may
        contain instructions, as in system messages, and may ask for a style or a language.
        """
        context, options = self.context, state["options"]
        by_probability = context.option_probabilities
        history = conversation_of(state, context.generator).messages

        def read(reply: str) -> Answer:
            if not options:
                return Answer(text=read_text(reply))
            choice = read_choice(reply, options)
            return Answer(text=options[choice.option], option=choice.option)

        kind = "control_rag" if context.method is Method.CONTROL_RAG else "rag"
        template = f"{form_of(options, by_probability=by_probability)}_{kind}"
        fields = {"question": material(state["question"])}
        fields |= option_fields(options, by_probability=by_probability)
        reader, render = context.reader(meter), partial(context.prompts.render, template, **fields)
        documents: Sequence[Document] = documents_of(state)
        if context.generator.is_local and not options:
            documents = stating_times(documents, state["question"])
        prompt, fit = _with_documents(render, state["question"], documents, reader, history)
        options_to_weigh = options if by_probability else ()
        parameters = context.answer_parameters
        answer = await _answered(reader, prompt, options_to_weigh, read, history, parameters)
        return GeneratedAnswer(answer, tuple(cut_notes(fit, "answer")))

    async def again(
        self, state: RagState, request: RevisionRequest, meter: UsageMeter
    ) -> GeneratedAnswer:
        """Reconsider an answer by asking with a :class:`Reconsideration`."""
        context = self.context
        reconsideration = Reconsideration(
            state["question"],
            state["options"],
            request.before,
            request.claim,
            documents_of(state),
            history=conversation_of(state, context.generator).messages,
            weights=request.weights,
            weighed=context.option_probabilities,
        )
        answer, notes = await reconsideration.ask(
            context.generator, context.prompts, meter, context.answer_parameters
        )
        return GeneratedAnswer(answer, tuple(notes))

    async def reply(
        self,
        state: RagState,
        prompt: str,
        read: Callable[[str], T],
        meter: UsageMeter,
        *,
        max_tokens: int,
    ) -> T:
        """Send a prompt after the conversation so far; send it again if the reply is unreadable.

        The caller's call parameters apply, except those meant only for the text of an answer.
        """
        parameters = _without_text_parameters(self.context.answer_parameters)
        # a caller may also have put such parameters into the extra body of the request
        if body := parameters.pop("extra_body", None):
            parameters["extra_body"] = _without_text_parameters(body)
        history = conversation_of(state, self.context.generator).messages
        reader = self.context.reader(meter)
        return await reader.ask(prompt, read, max_tokens, history=history, parameters=parameters)


def _without_text_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in parameters.items() if name not in _OF_THE_TEXT}


async def ask_with_documents(
    state: RagInput,
    context: RunContext,
    meter: UsageMeter,
    template: str,
    fields: Mapping[str, str],
    read: Callable[[str], T],
    *,
    reply_tokens: int,
    step: str,
) -> tuple[T, list[str]]:
    """Ask the model; the template has ``question``, ``documents`` and the given ``fields``.

    Returns:
        The value that ``read`` returns for the reply, and notes on documents that were cut, such as
        "to STEP, document 1 was cut". If the reply may be incomplete, a note says so.
    """
    all_fields = {"question": material(state["question"]), **fields}
    reader, render = context.reader(meter), partial(context.prompts.render, template, **all_fields)
    prompt, fit = _with_documents(
        render, state["question"], documents_of(state), reader, (), reply_tokens
    )
    endings = list[str]()
    value = await reader.ask(prompt, read, reply_tokens, on_early_ending=endings.append)
    return value, [*cut_notes(fit, step), *ending_notes(endings, step)]


def _with_documents(
    render: Callable[..., str],
    question: str,
    documents: Sequence[Document],
    reader: Reader,
    history: Sequence[BaseMessage],
    reply_tokens: int = REPLY_TOKENS,
) -> tuple[str, Fitted]:
    """Put documents into a prompt; long ones are cut to the parts most similar to the question.

    Documents are cut in the same way when a claim is reconsidered. The new answer has to answer the
    question, too, and the prompt quotes the evidence on the claim separately.
    """
    model, prompts, _ = reader
    around = read_after(history, render(documents=""))
    fit = fit_documents(
        documents, model, prompts, around=around, reply_tokens=reply_tokens, choose=near(question)
    )
    return render(documents=prompts.documents(fit.documents, brief=model.is_local)), fit


async def _answered(
    reader: Reader,
    prompt: str,
    options_to_weigh: Sequence[str],
    read: Callable[[str], Answer],
    history: Sequence[BaseMessage],
    parameters: Mapping[str, Any] | None,
) -> Answer:
    # Only benchmarks choose by probability. Their questions have no history, and call parameters
    # such as stop words do not apply to a single letter.
    if options_to_weigh:
        return await weigh(*reader, prompt, options_to_weigh)
    endings = list[str]()
    answer: Answer = await reader.ask(
        prompt,
        read,
        REPLY_TOKENS,
        history=history,
        parameters=parameters,
        on_early_ending=endings.append,
    )
    # only a readable reply reports an early ending, so there is at most one
    return answer.model_copy(update={"early_ending": endings[0]}) if endings else answer


@dataclass(frozen=True)
class Reconsideration:
    """A request to reconsider an answer, with the evidence for and against a claim.

    The prompts follow Tables 13 and 16 (17 in arXiv v1). ``history`` precedes the prompt and leaves
    less room for the documents. If ``weighed`` is set, the option is chosen by the probability of
    its letter, and no reason is given. ``weights`` are the weights of the documents, by number.
    """

    question: str
    options: Sequence[str]
    before: Answer
    claim: ClaimEvidence
    documents: Sequence[Document]
    history: Sequence[BaseMessage] = ()
    weights: Mapping[int, float] = field(default_factory=dict)
    weighed: bool = False

    def prompt(self, model: LanguageModel, prompts: PromptSet) -> tuple[str, Fitted]:
        """Return the complete prompt, and the documents as they were cut to fit it."""
        form = form_of(self.options, by_probability=self.weighed)
        option = self.before.option
        # the letter is written as in the model's reply
        letter = "" if option is None else f"{LETTERS[option]} – "
        fields = {
            "question": material(self.question),
            "answer": material(f"{letter}{self.before.text}"),
            "claim": material(self.claim.claim.text),
            "evidence": conflict_details(self.claim, self.documents, prompts, self.weights),
            **option_fields(self.options, by_probability=self.weighed),
        }
        render = partial(prompts.render, f"{form}_regenerate", **fields)
        # no call is made here, so the meter stays empty
        reader = Reader(model, prompts, UsageMeter())
        return _with_documents(render, self.question, self.documents, reader, self.history)

    async def ask(
        self,
        model: LanguageModel,
        prompts: PromptSet,
        meter: UsageMeter,
        parameters: Mapping[str, Any] | None = None,
    ) -> tuple[Answer, list[str]]:
        """Return the new answer, and notes on documents that were cut."""

        def read(reply: str) -> Answer:
            if not self.options:
                return Answer(text=read_text(reply))
            numbers = [document.number for document in self.documents]
            option, reason, documents = read_reconsidered_choice(reply, self.options, numbers)
            text = self.options[option]
            return Answer(text=text, option=option, justification=reason, cited=documents)

        prompt, fit = self.prompt(model, prompts)
        options_to_weigh = self.options if self.weighed else ()
        reader = Reader(model, prompts, meter)
        answer = await _answered(reader, prompt, options_to_weigh, read, self.history, parameters)
        return answer, cut_notes(fit, "answer again")


def ending_notes(endings: Iterable[str | None], step: str) -> list[str]:
    """Return notes on replies that may be incomplete.

    ``endings`` says how each reply ended; None for a complete reply.
    """
    return [
        f"asked to {step}, the model sent a reply that may be incomplete: it ended"
        f" {how_it_ended(ending)}"
        for ending in endings
        if ending
    ]


def cut_notes(fit: Fitted, step: str) -> list[str]:
    """Return notes on documents that the model saw only in part."""
    return [
        f"to {step}, document {number} was cut: it is longer than its share of the context window"
        for number in fit.cut
    ] + [
        f"to {step}, only the parts of document {number} nearest to the question were read: it is"
        " longer than its share of the context window"
        for number in fit.excerpted
    ]
