"""Prompts of the LLM judges: a beginning that can be cached, and ids that no reply can guess."""

import hashlib
from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

from conflictscore.models import LOCAL_ENDPOINT
from conflictscore.models.fitting import fit_documents
from conflictscore.models.language_model import LanguageModel
from conflictscore.prompts import PromptSet, material
from conflictscore.records import Claim, Document
from conflictscore.retrieval.near_windows import near
from conflictscore.threads import in_thread
from conflictscore.tokens import count_tokens

_FIRST_ID, _IDS = 100, 450
_CLAIM_TOKENS = 256
_TITLE_CHARS = 300
LONG_CHARS = 20_000
"""A longer document is counted and cut off the event loop."""


class JudgePrompt(NamedTuple):
    """A prompt, and whether the document was cut to fit it."""

    text: str
    document_cut: bool


def rules_of(template: str, endpoint: str, prompts: PromptSet) -> str:
    """The template of the rules that go into a single-pair judge's prompt.

    Every call carries them, so most judges get the short form (``label_rules_brief``). The long
    form goes to a model that may only reply with a letter, and to the ``json`` judge on a local
    model: a small model finds more of what is irrelevant with it (docs/findings/labelers.md), and
    its tokens cost nothing. The set ``paper`` has the paper's rules for its own judge (Table 7).
    """
    if template == "label_json" and prompts.follows_the_paper:
        return "label_rules_paper"
    alone = template == "label_json" and endpoint == LOCAL_ENDPOINT
    return "label_rules" if alone or template == "label_choice" else "label_rules_brief"


def identity_of(
    labeler: str, prompt: str, model: LanguageModel, **more: Any
) -> dict[str, Any] | None:
    """All that a verdict depends on beside its pair; None where that of the model is not known."""
    if model.identity is None:
        return None
    identity = {"labeler": labeler, "prompt": prompt, "context_window": model.context_window}
    return {**identity, **more, **model.identity}


class JudgePrompts:
    """The prompts of one judge: rules, document, claim.

    A document's prefix is the same for every claim. Of a document longer than the context window
    the parts nearest to the claim are shown, and the prompt says so.
    """

    def __init__(
        self, template: str, *, model: LanguageModel, prompts: PromptSet, reply_tokens: int
    ) -> None:
        self._template, self._model, self._prompts = template, model, prompts
        self._reply_tokens = reply_tokens
        self._rules = prompts.render(rules_of(template, model.endpoint, prompts))
        self._around = prompts.render(template, rules=self._rules, document="", claim="")
        self._last: tuple[Document, int, str] | None = None

    async def of(self, claim: Claim, document: Document) -> JudgePrompt:
        """The prompt for a pair; a long document is read off the event loop."""
        if len(document.text) > LONG_CHARS:
            return await in_thread(partial(self._of, claim, document))
        return self._of(claim, document)

    def _of(self, claim: Claim, document: Document) -> JudgePrompt:
        room = _CLAIM_TOKENS
        if len(claim.text.encode(errors="replace")) > room:  # no token is shorter than a byte
            room = max(room, count_tokens(claim.text))
        document_text, cut = self._shown(claim, document, room)
        text = self._prompts.render(
            self._template, rules=self._rules, document=document_text, claim=material(claim.text)
        )
        return JudgePrompt(text, document_cut=cut)

    def _shown(self, claim: Claim, document: Document, room: int) -> tuple[str, bool]:
        """The document as the judge reads it, and whether it was cut unread."""
        last = self._last
        if last is not None and last[0] is document and last[1] == room:
            return last[2], False
        fitted_document = fit_documents(
            [document],
            self._model,
            self._prompts,
            around=self._around,
            reply_tokens=self._reply_tokens + room,
            choose=near(claim.text),
        )
        document_text = as_shown(fitted_document.documents[0])
        if not fitted_document.cut and not fitted_document.excerpted:
            self._last = (document, room, document_text)  # whole, and so the same for every claim
        return document_text, bool(fitted_document.cut)


def as_shown(document: Document) -> str:
    """Title and text as a judge reads them, safe to stand between marks."""
    title = document.title.strip()[:_TITLE_CHARS]
    return material(f"{title}\n\n{document.text}" if title else document.text)


def content_ids(texts: Iterable[tuple[int, str]]) -> dict[int, str]:
    """An id for each text, by the text's number.

    An id has three digits, which are one token to most models, and its text decides it. A reply
    that counts claims through, from 0 or from 1, so never has the id of another.
    """
    id_by_number: dict[int, str] = {}
    for number, text in texts:
        digest = hashlib.sha256(text.encode(errors="replace")).digest()
        place = int.from_bytes(digest[:4])
        while (its_id := str(_FIRST_ID + place % _IDS)) in id_by_number.values():
            place += 1
        id_by_number[number] = its_id
    return id_by_number
