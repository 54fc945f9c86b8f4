"""Determines what a model can do, from its name or from the options in its spec."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, get_args
from urllib.parse import parse_qsl

from langchain_core.language_models import BaseChatModel, ModelProfile
from langchain_openai.chat_models.base import _MODEL_PROFILES

from conflictscore.errors import ConfigurationError
from conflictscore.models.capabilities import LENGTHS, Capabilities, JsonForm, RequestStyle
from conflictscore.models.language_model import THINKING_TOKENS, LanguageModel

ReasoningEffort = Literal["low", "medium", "high"]
"""How much a reasoning model should reason before it replies."""

_EFFORT = "reasoning_effort"
"""Name of the reasoning effort in LangChain's chat models."""
# The date or tag at the end of a model's name, such as "-2024-08-06" or "-latest".
_DATED = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8}|latest|preview)$")
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "temperature": ("none", "a number from 0 to 2"),
    "json": get_args(JsonForm),
    "length": LENGTHS,
    "reasoning": ("yes", "no"),
}
_MOST_TEMPERATURE = 2.0  # the highest that OpenAI's API accepts


def known_profile(name: str) -> ModelProfile:
    """Return LangChain's profile of an OpenAI model; empty if the model is unknown.

    The lookup ignores a vendor's prefix (``openai/o3``), a date (``o3-2025-04-16``) and additions
    at either end, as in deployment names (``prod-gpt-5-mini``).
    """
    bare = re.split(r"[:@]", name.lower().rpartition("/")[2])[0]
    for candidate in (name, bare, _DATED.sub("", bare)):
        if candidate in _MODEL_PROFILES:
            return _MODEL_PROFILES[candidate]
    within = [known_name for known_name in _MODEL_PROFILES if _names(bare, known_name)]
    return _MODEL_PROFILES[max(within, key=len)] if within else {}


def _names(bare: str, known_name: str) -> bool:
    """Return whether a name is the name of a known model with additions."""
    if known_name.startswith("gpt-"):
        return re.search(rf"(?<![a-z0-9]){re.escape(known_name)}(?![a-z0-9.])", bare) is not None
    return bare.startswith(f"{known_name}-")  # o3 inside a longer name may mean anything


def split_spec(spec: str) -> tuple[str, dict[str, str]]:
    """Split a spec such as ``NAME?temperature=none&json=prompt`` into the name and the options.

    Raises:
        ConfigurationError: An option or its value is unknown, or an option occurs twice.
    """
    name, mark, query = spec.partition("?")
    pairs = parse_qsl(query, keep_blank_values=True)
    options = dict(pairs)
    if len(options) < len(pairs):
        raise ConfigurationError(f"an option of the model occurs twice in ?{query}")
    # a question mark without options is refused like an unknown option
    for key, setting in pairs or ([("", "")] if mark else ()):
        is_number = key == "temperature" and _number(setting) is not None
        if not is_number and setting not in _OPTIONS.get(key, ()):
            options_help = "; ".join(
                f"{name}: {', '.join(choices)}" for name, choices in _OPTIONS.items()
            )
            raise ConfigurationError(
                f"unknown option {key}={setting} for a model; the options are {options_help}"
            )
    return name, options


def with_options(model: LanguageModel, options: Mapping[str, str]) -> LanguageModel:
    """Return the model with the user's options, which override the detected properties."""
    style, update = RequestStyle(), dict[str, Any]()
    parameters = dict(model.parameters or {})
    if (temperature_text := options.get("temperature")) is not None:
        temperature = _number(temperature_text)
        update["chat"] = model.chat.model_copy(update={"temperature": temperature})
        parameters.pop("temperature", None)
        parameters |= {} if temperature is None else {"temperature": temperature}
        update["deterministic"] = temperature == 0
    for form in get_args(JsonForm):  # the option is a string, and mypy wants a JsonForm
        style = style._replace(json_form=form) if options.get("json") == form else style
    style = style._replace(length=options.get("length", ""))
    if reasons := options.get("reasoning"):
        room = min(THINKING_TOKENS, model.context_window // 2)
        update["thinking_tokens"] = room if reasons == "yes" else 0
    if model.parameters is not None:  # otherwise, nothing from this model may be cached
        update["parameters"] = parameters
    return replace(model, capabilities=Capabilities(style), **update)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number <= _MOST_TEMPERATURE else None


def told_effort(chat: BaseChatModel, effort: ReasoningEffort | None) -> dict[str, Any]:
    """Return the reasoning setting for a chat model; empty if the model has no such setting."""
    profile: Mapping[str, Any] = chat.profile or {}
    efforts = profile.get("reasoning_effort_levels") or get_args(ReasoningEffort)
    reasons = profile.get("reasoning_output", True) and _EFFORT in type(chat).model_fields
    return {_EFFORT: effort} if effort in efforts and reasons else {}


def thinking_room(chat: BaseChatModel, window: int, effort_setting: Mapping[str, Any]) -> int:
    """Return the number of tokens to reserve for reasoning, from the profile and the setting."""
    reasons = bool((chat.profile or {}).get("reasoning_output") or effort_setting)
    # if the user set a small window, half of it stays free for the prompt
    return min(THINKING_TOKENS, window // 2) if reasons else 0
