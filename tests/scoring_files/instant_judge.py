"""A judge that takes no time, to measure everything around it: texts determine its verdicts."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForLLMRun,
    CallbackManagerForLLMRun,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from conflictscore.graph.create import run_context
from conflictscore.loop.state import RunContext
from conflictscore.models.spec import from_chat_model
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, EvidenceLabel, Label, Usage
from conflictscore.storage.cache import ContentCache

_LABELS = (Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT)


class InstantModel(BaseChatModel):
    """A model that splits an answer into its sentences."""

    @property
    def _llm_type(self) -> str:
        return "instant"

    @property
    def _identifying_params(self) -> Mapping[str, Any]:
        return {"model": "instant"}

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        prompt = messages[-1].text
        answer = prompt.rpartition("</answer>")[0].rpartition("<answer>")[2].strip()
        claims = "".join(f"\n- {sentence.strip(' .')}." for sentence in answer.split(". "))
        message = AIMessage(f"Claims:{claims}")
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self._generate(messages, stop)  # on the event loop, like the client of an endpoint


class InstantJudge:
    """Labels a pair by the digest of its texts, and records the pair in a file."""

    name = "instant"
    identity: Mapping[str, Any] | None = {"labeler": "instant"}

    def __init__(self, log: Path | None = None) -> None:
        """Take the path of the log: one line per pair, with the process and the pair's digest."""
        self._log = None if log is None else os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        """Judge one pair; see :class:`~conflictscore.labelers.protocol.Labeler`."""
        digest = hashlib.sha256(f"{claim.text}\0{document.text}".encode()).hexdigest()
        if self._log is not None:
            os.write(self._log, f"{os.getpid()} {digest}\n".encode())
        meter.count(Usage(calls=1))
        label = _LABELS[int(digest[:8], 16) % len(_LABELS)]
        return EvidenceLabel(claim=claim.number, document=document.number, label=label)


def instant_context(cache: Path, log: Path | None = None) -> RunContext:
    """The context for scoring rows; judged pairs are recorded in the log."""
    store = ContentCache(cache)
    model = replace(from_chat_model(InstantModel(), cache=store), deterministic=True)
    return run_context(model, labeler=InstantJudge(log), cache=store)
