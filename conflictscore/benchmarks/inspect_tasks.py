"""The loop as a solver of Inspect, a scorer of its answers, and a task for each benchmark.

```
inspect eval conflictscore/truthfulqa -T data=TruthfulQA.csv -T search=recorded:pages.jsonl \
    --model openai/gpt-4.1-mini --temperature 0
```

Every call goes through Inspect: its logs, limits, cache, retries and accounting hold.
"""

import inspect
import json
import re
from collections.abc import Callable, Mapping
from math import nan
from typing import Any, Literal

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.utils.function_calling import convert_to_openai_function
from langchain_core.utils.json import parse_json_markdown

from conflictscore import create_self_correcting_rag
from conflictscore.benchmarks.harness.definition import Benchmark, Form
from conflictscore.benchmarks.harness.question_sample import with_documents
from conflictscore.benchmarks.harness.records import Question, Verdict
from conflictscore.benchmarks.registry import BENCHMARKS, Entry, open_benchmark
from conflictscore.errors import BudgetError, ConfigurationError, ProviderError, install_hint
from conflictscore.models.spec import from_chat_model
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.answer_replies import LETTERS
from conflictscore.nodes.state import RagInput
from conflictscore.prompts import PromptSet
from conflictscore.retrieval.opening import open_retrieval

try:
    from inspect_ai import Task, task
    from inspect_ai import model as models
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
    from inspect_ai.solver import Generate, Solver, TaskState, solver
    from inspect_ai.util import JSONSchema, LimitExceededError
except ModuleNotFoundError:
    raise ConfigurationError(
        f"Inspect tasks need the package inspect-ai: {install_hint('inspect')}"
    ) from None

__all__ = ["TASKS", "InspectChatModel", "self_correcting_rag", "verdicts"]

RUN = "conflictscore"
"""The key of a sample's store."""
_KEPT = ("first_answer", "answer", "justification", "flip", "report", "final_report", "notes")
_PASSED_ON = frozenset({"max_tokens", "logprobs", "top_logprobs", "response_schema"})
"""Call parameters that mean the same to Inspect."""


class _LimitReachedError(BudgetError):
    """A limit of Inspect ends the sample; on the way no step takes it for a failed provider."""

    def __init__(self, cause: LimitExceededError) -> None:
        super().__init__(kind="tokens", spent=0, limit=0)
        self.cause = cause


class InspectChatModel(BaseChatModel):
    """A model of Inspect behind LangChain's interface, asynchronous only."""

    model: models.Model

    @property
    def _llm_type(self) -> str:
        return "inspect"

    @property
    def _identifying_params(self) -> Mapping[str, Any]:
        return {"model": str(self.model)}

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        raise NotImplementedError("a model of Inspect is asked within its event loop: use ainvoke")

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        given = {name: value for name, value in kwargs.items() if name in _PASSED_ON}
        config = models.GenerateConfig(stop_seqs=stop, **given)
        try:
            output = await self.model.generate([_message(m) for m in messages], config=config)
        except LimitExceededError as cause:
            raise _LimitReachedError(cause) from None
        if output.empty:
            name = str(self.model)
            raise ProviderError(f"{name} gave no reply: {output.error}", provider=name)
        return ChatResult(generations=[ChatGeneration(message=_reply(output))])

    def with_structured_output(
        self, schema: Any, *, include_raw: bool = False, **kwargs: Any
    ) -> Runnable[LanguageModelInput, Any]:
        """JSON objects, held to the schema by the providers that Inspect can ask to."""
        function = convert_to_openai_function(schema, strict=True)
        form = models.ResponseSchema(
            name=function["name"],
            json_schema=JSONSchema.model_validate(function["parameters"]),
            strict=True,
        )

        def read(message: AIMessage) -> Any:
            parsed, error = None, None
            try:  # models that cannot be held to a schema often fence their JSON
                parsed = parse_json_markdown(message.text, parser=json.loads)
            except ValueError as fault:
                if not include_raw:
                    raise
                error = fault
            whole = {"raw": message, "parsed": parsed, "parsing_error": error}
            return whole if include_raw else parsed

        return self.bind(response_schema=form, **kwargs) | RunnableLambda(read)


def _message(message: BaseMessage) -> models.ChatMessage:
    match message:
        case SystemMessage():
            return models.ChatMessageSystem(content=message.text)
        case AIMessage():
            return models.ChatMessageAssistant(content=message.text)
    return models.ChatMessageUser(content=message.text)


def _reply(output: models.ModelOutput) -> AIMessage:
    choice, usage = output.choices[0], None
    if output.usage:
        usage = UsageMetadata(
            input_tokens=output.usage.input_tokens + (output.usage.input_tokens_cache_read or 0),
            output_tokens=output.usage.output_tokens,
            total_tokens=output.usage.total_tokens,
        )
    cut = choice.stop_reason in ("max_tokens", "model_length")
    logprobs = choice.logprobs.model_dump(exclude_none=True) if choice.logprobs else None
    metadata = {"finish_reason": "length" if cut else "stop", "logprobs": logprobs}
    return AIMessage(output.completion, usage_metadata=usage, response_metadata=metadata)


def _chat(role: str | None = None) -> InspectChatModel:
    return InspectChatModel(model=models.get_model(role=role))


def _window(chat: InspectChatModel) -> int | None:
    return getattr(models.get_model_info(chat.model), "context_length", None)


@solver
def self_correcting_rag(
    retriever: BaseRetriever | None = None, context_window: int | None = None, **settings: Any
) -> Solver:
    """Answer by the paper's loop; both answers and the evidence are kept in the sample's store.

    ``choices`` are the options of a multiple choice, and ``documents`` of the metadata take the
    place of the retriever's. ``--model-role judge=…`` decomposes and labels. The settings are those
    of :func:`~conflictscore.create_self_correcting_rag`; the context window (tokens of prompt and
    reply) is by default what Inspect knows of the model.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        chat = _chat()
        loop: dict[str, Any] = {"effort": "paper", "cache": False, "judge": _chat("judge")}
        loop |= {"context_window": context_window or _window(chat), **settings}
        graph = create_self_correcting_rag(chat, retriever, **loop)
        asked: RagInput = {"question": state.input_text}
        if state.choices:
            asked["options"] = [choice.value for choice in state.choices]
        if documents := state.metadata.get("documents"):
            asked["documents"] = documents
        try:
            final = await graph.ainvoke(asked)
        except _LimitReachedError as limit:
            raise limit.cause from None
        state.store.set(RUN, {name: final.get(name) for name in _KEPT})
        state.output = models.ModelOutput.from_content(str(state.model), final["answer"])
        state.messages.append(state.output.message)
        return state

    return solve


@scorer(metrics={"*": [mean(), stderr()]})
def verdicts(benchmark: Benchmark) -> Scorer:
    """Both answers by every measure: 1 right, 0 wrong, or how far right; NaN without a verdict.

    ``--model-role answer_judge=…`` judges answers in free form.
    """
    questions = {question.id: question for question in benchmark.questions}

    async def score(state: TaskState, target: Target) -> Score:
        run = state.store.get(RUN)
        if run is None:
            return Score.unscored(reason="no_response", explanation="a limit ended the sample")
        question, values, lines = questions[str(state.sample_id)], {}, []
        for method, text in (("rag", run["first_answer"]), ("regenerated-rag", run["answer"])):
            judged = await _verdicts(benchmark, question, text)
            for measure in benchmark.measures:
                verdict = judged.get(measure)
                value = nan if verdict is None or verdict.value is None else float(verdict.value)
                values[f"{method} {measure}"] = value
                lines.append(f"- **{method}**, {measure}: {value:.2g}")
            lines.append(f"- **{method}**: {_plain(text)}")
        if run["justification"]:
            lines.append(f"- **Justification**: {_plain(run['justification'])}")
        return Score(value=values, answer=run["answer"], explanation="\n".join(lines))

    return score


async def _verdicts(benchmark: Benchmark, question: Question, text: str) -> Mapping[str, Verdict]:
    if question.options:
        right = question.options.index(text) == question.gold
        return {benchmark.measures[0]: Verdict(value=right)}
    if benchmark.judge is None:
        return {}
    chat = _chat("answer_judge")
    model = from_chat_model(chat, context_window=_window(chat))
    prompts = PromptSet.open(None, base=benchmark.prompt_set)
    return await benchmark.judge(question, text, model=model, prompts=prompts, meter=UsageMeter())


def _plain(text: str) -> str:  # nothing is Markdown, HTML, a link or a picture
    return re.sub(r"[\\`*_\[\]<>&!|~#]", r"\\\g<0>", " ".join(text.split()))


def _task(
    entry: Entry,
    data: str,
    form: Form | None = None,
    search: str | None = None,
    docs: str | list[str] | None = None,
    top_k: int = 10,
    sample: int | None = None,
    seed: int = 0,
    missing: Literal["fail", "skip"] = "fail",
    labeler: Literal["json", "choice"] = "json",
) -> Task:
    if form == "mc2":
        raise ConfigurationError("mc2 takes probabilities of options: use conflictscore bench")
    whole = open_benchmark(entry.name, data, form=form, seed=seed)
    benchmark, _ = whole.selected(sample, seed)
    files = [docs] if isinstance(docs, str) else docs or ()
    retriever = open_retrieval(search, docs=files, top_k=top_k) if entry.searches else None
    questions, _ = with_documents(benchmark.questions, retriever, missing)
    prompts = PromptSet.open(None, base=benchmark.prompt_set).worded(benchmark.wording)
    return Task(
        name=benchmark.name,
        dataset=MemoryDataset([_sample(question) for question in questions]),
        solver=self_correcting_rag(retriever, labeler=labeler, prompts=prompts),
        scorer=verdicts(benchmark),
        metadata={"hashes": dict(benchmark.hashes), "notes": list(benchmark.notes)},
    )


def _sample(question: Question) -> Sample:
    return Sample(
        id=question.id,
        input=question.question,
        choices=list(question.options) or None,
        target=list(question.correct) if question.gold is None else LETTERS[question.gold],
        metadata={"category": question.category, "documents": list(question.documents)},
    )


def _task_of(entry: Entry) -> Callable[..., Task]:
    """The task of a benchmark, whose signature shows Inspect its parameters."""
    whole = inspect.signature(_task)
    shown = whole.replace(parameters=[*whole.parameters.values()][1:])

    def made(*args: Any, **given: Any) -> Task:
        return _task(entry, *args, **given)

    made.__signature__ = shown  # type: ignore[attr-defined]
    made.__name__ = made.__qualname__ = entry.name
    made.__doc__ = f"{entry.name}: {entry.summary}. Data: {entry.data}."
    return task(made)


TASKS: Mapping[str, Callable[..., Task]] = {
    name: _task_of(entry) for name, entry in BENCHMARKS.items() if not entry.several
}


def __getattr__(name: str) -> Callable[..., Task]:
    """A task by the name of its benchmark, as in ``from … import truthfulqa``."""
    if name not in TASKS:
        raise AttributeError(f"there is no task {name!r}; one of {', '.join(TASKS)}")
    return TASKS[name]
