"""Keyword arguments of the entry points: settings of the run, and options for its models."""

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from textwrap import TextWrapper
from typing import Any, ForwardRef, TypedDict, TypeVar, cast

from langchain_core.language_models import BaseChatModel

from conflictscore.errors import ConfigurationError
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.profiles import ReasoningEffort
from conflictscore.setting_keywords import CorrectionSettings, ScoringSettings
from conflictscore.settings import Settings, unknown_name
from conflictscore.storage.cache import ContentCache

Model = str | BaseChatModel | LanguageModel
"""A model spec, a LangChain chat model, or a model that is already open."""
# ``help()`` indents docstrings by 4 columns, so its lines have at most 100 columns.
_PARAGRAPH = TextWrapper(
    96,
    initial_indent=" " * 4,
    subsequent_indent=" " * 8,
    break_long_words=False,
    break_on_hyphens=False,
)
F = TypeVar("F", bound=Callable[..., Any])


class ModelOptions(TypedDict, total=False):
    """Options for opening the models of a run."""

    base_url: str | None
    context_window: int | None
    reasoning_effort: ReasoningEffort | None
    cache: ContentCache | bool


class ScoringOptions(ScoringSettings, ModelOptions, total=False):
    """Keyword arguments of an entry point that scores answers."""


class CorrectionOptions(CorrectionSettings, ModelOptions, total=False):
    """Keyword arguments of an entry point that corrects answers."""

    judge: Model | None


_MODELS = {
    "judge": "Model that splits answers into claims and labels evidence. Default: "
    "the answering model.",
    "base_url": "OpenAI-compatible endpoint for model specs.",
    "context_window": "Context window in tokens, for prompt and reply together; at "
    "least 1024. Default: the model's own.",
    "reasoning_effort": "low, medium or high. Raises an error if no model of the run "
    "accepts it. Default: the provider's.",
    "cache": "Cache of replies and verdicts: True for the user's cache, False for none.",
}
"""Help for each keyword that is not a setting of the run."""
_DEFAULTS = {**dict.fromkeys(_MODELS), "cache": True}


def split_options(options: Mapping[str, Any]) -> tuple[Settings, dict[str, Any]]:
    """Split an entry point's keywords into validated settings and keywords for the models."""
    models = {name: option for name, option in options.items() if name in _MODELS}
    # check the judge here: the error from Settings would only say that it makes no labeler
    if models.get("judge") is not None:
        check_model(models["judge"], "judge")
    rest: Any = {name: option for name, option in options.items() if name not in _MODELS}
    return Settings(**rest), models


def check_model(model: object, name: str = "model") -> None:
    """Refuse anything that is neither a spec nor a model, such as ``chat.with_retry()``."""
    if isinstance(model, str | BaseChatModel | LanguageModel):
        return
    raise ConfigurationError(
        f"{name} is a {type(model).__name__}; give a spec such as 'openai:gpt-4.1-mini' or a"
        " LangChain chat model that is not wrapped by with_retry(), bind() or with_config()"
    )


def explicit_kwargs(options: type) -> Callable[[F], F]:
    """Write the keywords of ``**settings`` into a function's signature and docstring.

    An unknown keyword raises a TypeError that names the nearest match and all keywords.
    """

    def decorate(function: F) -> F:
        """Give a function an explicit signature, and a docstring with help for each keyword."""
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        kinds = {
            name: kind
            for name, kind in options.__annotations__.items()
            if name not in signature.parameters
        }
        keyword_parameters = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=_DEFAULTS[name] if name in _MODELS else Settings.default(name),
                # a type that is still a string is shown without "ForwardRef(…)"
                annotation=kind.__forward_arg__ if isinstance(kind, ForwardRef) else kind,
            )
            for name, kind in kinds.items()
        ]
        explicit = signature.replace(parameters=[*own, *keyword_parameters])
        settable = [
            name
            for name, parameter in explicit.parameters.items()
            if name != "self" and parameter.kind is not parameter.POSITIONAL_ONLY
        ]

        @wraps(function)
        def checked(*args: Any, **keywords: Any) -> Any:
            for name in keywords:
                if name not in explicit.parameters:
                    line = unknown_name(name, settable)
                    raise TypeError(f"{function.__qualname__}(): {line}")
            explicit.bind(*args, **keywords)  # a missing argument raises TypeError, too
            return function(*args, **keywords)

        checked.__signature__ = explicit  # type: ignore[attr-defined]
        help_by_name = {name: _MODELS.get(name) or Settings.help(name) for name in kinds}
        help_lines = "\n".join(
            _PARAGRAPH.fill(f"{name}: {text}") for name, text in help_by_name.items()
        )
        checked.__doc__ = f"{inspect.getdoc(function)}\n\nKeyword Args:\n{help_lines}\n"
        return cast("F", checked)

    return decorate
