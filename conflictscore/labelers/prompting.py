"""Functions that write the prompts of LLM judges, and make ids for claims.

Limits without a stated reason were chosen by hand.
"""

import hashlib
from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

from conflictscore.labelers.parts import Parts, parts_of
from conflictscore.models import LOCAL_ENDPOINT
from conflictscore.models.fitting import Choose, Fitted, fit_documents
from conflictscore.models.language_model import LanguageModel
from conflictscore.prompts import PromptSet, material
from conflictscore.records import Claim, Document
from conflictscore.retrieval.near_windows import near
from conflictscore.threads import LONG_CHARS, read_in_thread
from conflictscore.tokens import count_tokens

# Ids from 100 to 549: far more than a call has claims, so that an id that a model makes up seldom
# belongs to a claim. Up to 900 ids would have three digits; the number was chosen by hand.
_FIRST_ID, _IDS = 100, 450
# Number of possible ids for each text if there are more than 450 texts. With two, half of the ids
# stay unused, so a free one is soon found.
_MORE_IDS = 2
# Tokens reserved for a claim, so that a document is cut at the same place for all but very long
# claims, and prompts about it begin in the same way.
_CLAIM_TOKENS = 256


class JudgePrompts(NamedTuple):
    """The prompts of a pair: one, or one for each part of a document that is too long."""

    texts: tuple[str, ...]
    document_cut: bool
    """Whether the document has more parts than are read."""


def rules_of(template: str, endpoint: str, prompts: PromptSet) -> str:
    """Return the name of the template with the rules for a judge of single pairs.

    Every call contains the rules, so most judges get the short form (``label_rules_brief``). Judges
    that reply with a single letter get the long form (``label_rules``). The ``json`` judge also
    gets the long form if the model is local. Small models recognise irrelevant documents better
    with that form (docs/findings/labelers.md), and local tokens are free. In the set ``paper``, the
    ``json`` judge gets the paper's rules (Table 7).
    """
    if template == "label_json" and prompts.follows_the_paper:
        return "label_rules_paper"
    alone = template == "label_json" and endpoint == LOCAL_ENDPOINT
    return "label_rules" if alone or template == "label_choice" else "label_rules_brief"


def identity_of(
    labeler: str, prompt: str, model: LanguageModel, **more: Any
) -> dict[str, Any] | None:
    """Return everything that a verdict depends on besides claim and document; None if unknown."""
    if model.identity is None:
        return None
    identity = {"labeler": labeler, "prompt": prompt, "context_window": model.context_window}
    return {**identity, **more, **model.identity}


class DocumentFitter:
    """Fits documents into the prompts of one judge, in parts if necessary.

    ``around`` is the prompt without a document and a claim.
    """

    def __init__(self, model: LanguageModel, prompts: PromptSet, *, around: str) -> None:
        self._model, self._prompts, self._around = model, prompts, around
        self._last: tuple[Document, int, Parts] | None = None

    def parts(self, document: Document, tokens: int, *queries: str) -> Parts:
        """Return the parts of a document, the part nearest to the queries first.

        ``tokens`` is the number of tokens of claims and reply.
        """
        # pairs are judged document by document, so the last one is often needed again
        last = self._last
        if last is not None and last[0] is document and last[1] == tokens:
            return last[2]

        def fit(some: Document, choose: Choose | None) -> Fitted:
            return fit_documents(
                [some],
                self._model,
                self._prompts,
                around=self._around,
                reply_tokens=tokens,
                choose=choose,
            )

        parts = parts_of(document, fit, near(*queries))
        if len(parts.texts) == 1 and not parts.cut:
            self._last = (document, tokens, parts)  # the whole document is shown for any claim
        return parts


class PromptWriter:
    """Writes the prompts for one judge; each contains the rules, the document and the claim.

    The rules come first and the claim last, so that all prompts about a document begin in the same
    way. If a document is longer than the context window, each prompt shows one part and says so.
    The parts nearest to the claim come first.
    """

    def __init__(
        self, template: str, *, model: LanguageModel, prompts: PromptSet, reply_tokens: int
    ) -> None:
        self._template, self._prompts = template, prompts
        self._reply_tokens = reply_tokens
        self._rules = prompts.render(rules_of(template, model.endpoint, prompts))
        around = prompts.render(template, rules=self._rules, document="", claim="")
        self._documents = DocumentFitter(model, prompts, around=around)

    async def of(self, claim: Claim, document: Document, *beside: str) -> JudgePrompts:
        """Return the prompts of a pair; for a long document, they are written in a thread.

        If texts are passed as ``beside``, there is only one prompt, which also shows the parts
        nearest to these texts.
        """
        if len(document.text) > LONG_CHARS:
            work = partial(self._of, claim, document, *beside)
            return await read_in_thread(work, len(document.text))
        return self._of(claim, document, *beside)

    def _of(self, claim: Claim, document: Document, *beside: str) -> JudgePrompts:
        room = _CLAIM_TOKENS
        # a token has at least one byte, so a short claim need not be counted
        if len(claim.text.encode(errors="replace")) > room:
            room = max(room, count_tokens(claim.text))
        tokens = self._reply_tokens + room
        parts = self._documents.parts(document, tokens, claim.text, *beside)
        render = partial(
            self._prompts.render, self._template, rules=self._rules, claim=material(claim.text)
        )
        texts = tuple(render(document=text) for text in parts.texts[: 1 if beside else None])
        return JudgePrompts(texts, document_cut=parts.cut)


def content_ids(texts: Iterable[tuple[int, str]]) -> dict[int, str]:
    """Map each text's number to an id.

    An id is derived from the text. An id has three digits, which most models read as one token; if
    there are too many texts, ids are longer. Since ids are at least 100, a reply that numbers the
    claims from 0 or 1 instead of repeating their ids matches no id.
    """
    text_by_number = dict(texts)
    n_ids = _IDS if len(text_by_number) <= _IDS else _MORE_IDS * len(text_by_number)
    id_by_number: dict[int, str] = {}
    used_ids = set[str]()
    for number, text in text_by_number.items():
        digest = hashlib.sha256(text.encode(errors="replace")).digest()
        place = int.from_bytes(digest[:4])  # 4 bytes are more than enough for n_ids
        while (its_id := str(_FIRST_ID + place % n_ids)) in used_ids:
            place += 1
        id_by_number[number] = its_id
        used_ids.add(its_id)
    return id_by_number
