"""Shortens documents to fit a model's context window, and marks the cuts.

Limits without a stated reason were chosen by hand.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from conflictscore.errors import ContextWindowError
from conflictscore.models.language_model import LanguageModel
from conflictscore.prompts import PromptSet, material
from conflictscore.records import Document
from conflictscore.tokens import count_tokens

_LEAST_TOKENS = 32
"""Minimum number of tokens of a document to show: about one sentence.

A shorter part would not be informative.
"""
_MARGIN = 1.15
"""Factor that allows for tokenizers that count differently.

With a lower factor, servers would cut or refuse more prompts; with a higher one, less of each
document would be shown.
"""
_OVERHEAD_TOKENS = 48  # for the chat template's own tokens around the messages: a few per message
_REPEATED_CHARS = 300
"""The hidden part begins this many characters before the end of the shown part. So a sentence that
the cut splits is complete in the hidden part. Few sentences are longer.
"""


class Excerpt(Protocol):
    """Parts of a document that are shown instead of all of it."""

    @property
    def text(self) -> str:
        """The parts, in the document's order."""

    @property
    def chars(self) -> int:
        """The number of the document's characters in the parts that are shown."""

    @property
    def rest(self) -> str:
        """The parts of the document that are not shown, in the document's order."""

    @property
    def is_complete(self) -> bool:
        """Whether the rest of the document was searched for everything that the prompt needs."""


Choose = Callable[[str, int], Excerpt | None]
"""Chooses parts of text that fit into a number of tokens; returns None if nothing fits."""


@dataclass(frozen=True)
class Fitted:
    """Documents as they appear in a prompt, shortened if necessary."""

    documents: tuple[Document, ...]
    cut: tuple[int, ...]
    """Numbers of the documents that were cut, and whose omitted text was not searched, in ascending
    order.
    """
    excerpted: tuple[int, ...] = ()
    """Numbers of the documents that are shown only in part, but were searched completely."""
    rests: Mapping[int, str] = field(default_factory=dict)
    """Maps the number of each shortened document to the text that is not shown."""


def fit_documents(
    documents: Sequence[Document],
    model: LanguageModel,
    prompts: PromptSet,
    *,
    around: str,
    reply_tokens: int,
    choose: Choose | None = None,
) -> Fitted:
    """Shorten the longest documents, so that prompt and reply fit the context window.

    Short documents are shown in full, and long documents share the remaining tokens evenly.
    ``choose`` selects the parts of a long document to show; without it, only the beginning is
    shown. A shortened document ends with the template ``cut_near`` or ``cut``, so that readers and
    the model notice the cut. ``around`` is the prompt without the documents.

    Raises:
        ContextWindowError: The window leaves fewer than 32 tokens per document.
    """
    room = (model.context_window - reply_tokens - model.thinking_tokens) / _MARGIN
    room -= _OVERHEAD_TOKENS
    if _bytes(around) + sum(_bytes(prompts.documents([d])) for d in documents) <= room:
        # there are at most as many tokens as bytes, so the tokens need not be counted
        return Fitted(tuple(documents), ())
    room -= count_tokens(around)
    empty_documents = [document.model_copy(update={"text": ""}) for document in documents]
    frames = [count_tokens(prompts.documents([d])) for d in empty_documents]
    sizes = [count_tokens(material(d.text)) for d in documents]
    shares = _share_out(sizes, int(room) - sum(frames))
    if any(share < min(size, _LEAST_TOKENS) for share, size in zip(shares, sizes, strict=True)):
        raise ContextWindowError(
            f"the context window of {model.name} ({model.context_window} tokens) is too small for"
            f" {len(documents)} documents; ask for fewer documents (top_k) or enlarge the window"
        )
    fitted_documents, cut, excerpt_numbers = list[Document](), list[int](), list[int]()
    rests: dict[int, str] = {}
    for document, size, share in zip(documents, sizes, shares, strict=True):
        if share >= size:
            fitted_documents.append(document)
            continue
        excerpt = choose and _excerpt(document, share, prompts, choose)
        part = excerpt or _cut(document, share, model, prompts)
        fitted_documents.append(part.document)
        rests[document.number] = part.rest
        (excerpt_numbers if part.is_complete else cut).append(document.number)
    return Fitted(tuple(fitted_documents), tuple(cut), tuple(excerpt_numbers), rests)


class _Part(NamedTuple):
    """The shown part of a document."""

    document: Document
    rest: str
    is_complete: bool
    """Whether the whole document was shown or searched."""


def _excerpt(document: Document, tokens: int, prompts: PromptSet, choose: Choose) -> _Part | None:
    """Return the chosen parts of a document, or None if no parts could be chosen."""
    total = len(document.text)
    # no notice is longer than one with the largest number
    mark_tokens = count_tokens(prompts.render("cut_near", shown=total, total=total))
    room = tokens - mark_tokens - 1  # 1 for the line break before the notice
    while room >= _LEAST_TOKENS:
        choice = choose(document.text, room)
        if choice is None:
            return None
        mark = prompts.render("cut_near", shown=choice.chars, total=total)
        text = f"{choice.text}\n{mark}"
        size = count_tokens(material(text))
        if size <= tokens:
            part = document.model_copy(update={"text": text})
            return _Part(part, choice.rest, choice.is_complete)
        # the escaped text and its notice have more tokens than the chosen parts
        room = min(room - 1, int(room * tokens / size) - 1)
    return None


def _share_out(sizes: Sequence[int], room: int) -> list[int]:
    """Give short documents the tokens they need, and divide the rest among long documents."""
    shares = [0] * len(sizes)
    for place, index in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):
        shares[index] = min(sizes[index], max(0, room) // (len(sizes) - place))
        room -= shares[index]
    return shares


def _cut(document: Document, tokens: int, model: LanguageModel, prompts: PromptSet) -> _Part:
    """Return the beginning of a document that fits with its notice; try shorter ones until it does.

    The escaped text and the notice have more tokens than the shown characters alone.
    """
    text, total = document.text, len(document.text)
    shown_chars = total
    while shown_chars:
        mark = prompts.render("cut", shown=shown_chars, total=total)
        size = count_tokens(material(f"{text[:shown_chars]}\n{mark}"))
        if size <= tokens:
            part = document.model_copy(update={"text": f"{text[:shown_chars]}\n{mark}"})
            return _Part(part, _after(text, shown_chars), is_complete=False)
        shown_chars = min(shown_chars - 1, int(shown_chars * tokens / size))
    raise ContextWindowError(
        f"the context window of {model.name} is too small for document {document.number};"
        " ask for fewer documents (top_k) or enlarge the window"
    )


def _after(text: str, shown_chars: int) -> str:
    """Return the text after the shown characters, with a short overlap that begins at a word.

    The overlap is at most half of the shown characters, so that the remaining text always gets
    shorter.
    """
    start = max(shown_chars - _REPEATED_CHARS, (shown_chars + 1) // 2)
    return text[text.find(" ", start, shown_chars) + 1 or start :]


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
