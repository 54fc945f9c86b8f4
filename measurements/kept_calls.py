"""Calls of a model kept in a file, so that a long measurement resumes where it was stopped."""

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from langchain_core.caches import BaseCache
from langchain_core.messages import messages_from_dict, messages_to_dict
from langchain_core.outputs import ChatGeneration, Generation

from conflictscore.errors import InputError
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.limits import ConcurrencyLimit
from conflictscore.storage.cache import content_key
from conflictscore.storage.record_file import RecordFile, json_line

__all__ = ["KeptCalls"]


class KeptCalls(BaseCache):
    """LangChain's cache in a file, which knows how long each call took when it was made.

    Args:
        file: Where calls are kept.
        model: The model's name.

    Raises:
        InputError: A line of the file is something else.
    """

    def __init__(self, file: RecordFile, model: str) -> None:
        self._file, self._model = file, model
        self._kept: dict[str, dict[str, Any]] = {}
        for line in file.lines:
            try:
                record = json.loads(line.text)
                self._kept[record["call"]] = record
            except (ValueError, TypeError, KeyError):
                where = f"{file.lines.path}, row {line.number}"
                raise InputError(f"{where}: no call of this command; give another --out") from None
        file.resume()
        self.made, self._began = 0, 0.0
        self.saved = 0.0
        """Seconds that the calls took which were found here."""

    def of(self, model: LanguageModel) -> LanguageModel:
        """The model with its calls kept, one after the other."""
        chat = model.chat.model_copy(update={"cache": self})
        # the direct path of judges would go past the cache
        return replace(model, chat=chat, limit=ConcurrencyLimit(1), judge_client="langchain")

    def lookup(self, prompt: str, llm_string: str) -> list[Generation] | None:
        """What was kept of this call; LangChain's."""
        self._began = time.perf_counter()
        kept = self._kept.get(self._key(prompt, llm_string))
        if kept is None:
            return None
        self.saved += kept["seconds"]
        return [ChatGeneration(message=messages_from_dict([kept["message"]])[0])]

    def update(self, prompt: str, llm_string: str, return_val: Sequence[Generation]) -> None:
        """Keep a call; LangChain's."""
        seconds = time.perf_counter() - self._began
        key, (generation, *_) = self._key(prompt, llm_string), return_val
        if isinstance(generation, ChatGeneration):
            (message,) = messages_to_dict([generation.message])
            self._kept[key] = {"call": key, "seconds": seconds, "message": message}
            self._file.append(json_line(self._kept[key]))
            self.made += 1

    def clear(self, **kwargs: Any) -> None:
        """LangChain's."""
        raise NotImplementedError("calls are kept")

    def _key(self, prompt: str, llm_string: str) -> str:
        # before the sign stands the client, with a port that is another one in every run
        asked_for = llm_string.partition("---")[2] or llm_string
        return content_key({"model": self._model, "prompt": prompt, "with": asked_for})
