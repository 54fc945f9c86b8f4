"""Prompts of the LLM judges: a beginning that can be cached, and ids that no reply can guess."""

import hashlib
from collections.abc import Iterable
from typing import Any, NamedTuple

from conflictscore.models import LOCAL_ENDPOINT
from conflictscore.models.fitting import fit_documents
from conflictscore.models.language_model import LanguageModel
from conflictscore.prompts import PromptSet, material
from conflictscore.records import Claim, Document
from conflictscore.tokens import count_tokens

_FIRST_ID, _IDS = 100, 450
_CLAIM_TOKENS = 256
_TITLE_CHARS = 300


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

    A document's prefix is the same for every claim. A document longer than the context window is
    cut, and the prompt says so. Room is kept for a long claim, so that the cut does not move with
    the claim.
    """

    def __init__(
        self, template: str, *, model: LanguageModel, prompts: PromptSet, reply_tokens: int
    ) -> None:
        self._template, self._model, self._prompts = template, model, prompts
        self._reply_tokens = reply_tokens
        self._rules = prompts.render(rules_of(template, model.endpoint, prompts))
        self._around = prompts.render(template, rules=self._rules, document="", claim="")
        self._last: tuple[Document, int, str, bool] | None = None

    def of(self, claim: Claim, document: Document) -> JudgePrompt:
        """The prompt for a pair."""
        room = _CLAIM_TOKENS
        if len(claim.text.encode(errors="replace")) > room:  # no token is shorter than a byte
            room = max(room, count_tokens(claim.text))
        document_text, cut = self._shown(document, room)
        text = self._prompts.render(
            self._template, rules=self._rules, document=document_text, claim=material(claim.text)
        )
        return JudgePrompt(text, document_cut=cut)

    def _shown(self, document: Document, room: int) -> tuple[str, bool]:
        last = self._last
        if last is None or last[0] is not document or last[1] != room:
            fitted_document = fit_documents(
                [document],
                self._model,
                self._prompts,
                around=self._around,
                reply_tokens=self._reply_tokens + room,
            )
            last = (
                document,
                room,
                as_shown(fitted_document.documents[0]),
                bool(fitted_document.cut),
            )
            self._last = last
        return last[2:]


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
