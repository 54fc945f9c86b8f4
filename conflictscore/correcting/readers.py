"""Asks each document separately for its answer, so that the sides do not affect each other.

A reader is a model that answers a question from one document. A reader does not see the earlier
answer or other documents, since models tend to repeat an answer that they see. A reader's prompt
does not offer "not stated" as a reply, since models would use that reply too often. Invented
answers are rejected later.

Limits without a stated reason were chosen by hand.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, TypeVar

from conflictscore.answering.answer_replies import read_text
from conflictscore.answering.statements import (
    answers_nothing,
    invented_numbers,
    numbers_in,
    same_answer,
)
from conflictscore.correcting.equal_quotations import states_the_values, with_equal_values
from conflictscore.errors import (
    BudgetError,
    ContextWindowError,
    ProviderError,
    UnreadableReplyError,
    brief_reason,
)
from conflictscore.loop.state import Reader
from conflictscore.models import fit_documents
from conflictscore.prompts import material
from conflictscore.records import Claim, Document, DroppedReply
from conflictscore.retrieval.near_windows import near
from conflictscore.sentences import sentence_ends
from conflictscore.threads import at_once

T = TypeVar("T")

# A reply is one short statement, and a question is one line. A reply that reaches the limit in
# tokens is longer than it should be, so the limit in characters refuses it.
_REPLY_TOKENS = 80
_MOST_CHARS = 320  # maximum number of characters of a short answer
_QUESTION_TOKENS = 64
_QUESTION_CHARS = 300

# The question mark, its full-width form and the Arabic one.
_QUESTION_MARKS = ("?", "\uff1f", "\u061f")


@dataclass
class Rival:
    """An answer to a question, and the documents that give this answer."""

    statement: str
    given_by: list[int] = field(default_factory=list)

    def as_claim(self, number: int) -> Claim:
        """Return the answer as a claim that a labeler can judge."""
        return Claim(number=number, text=self.statement)


class Answered(NamedTuple):
    """The answers of documents that were queried separately."""

    rivals: tuple[Rival, ...]
    dropped: tuple[DroppedReply, ...]


async def ask_documents(
    question: str,
    documents: Sequence[Document],
    reader: Reader,
    *,
    yes_no: bool = False,
    quotations: Mapping[int, str] = {},
    claim: str = "",
    only_values: Mapping[int, str] = {},
) -> Answered:
    """Put a question to all documents concurrently, in separate calls, and merge equal answers.

    A document that is too long is cut to the parts nearest to the question and to the judge's
    quotation from it. ``quotations`` has these quotations by document number. If a document could
    not be queried, it is dropped and the reason is recorded.

    ``yes_no`` says whether the question asks for a yes or no. If ``claim`` is given, the values are
    compared that the quotations have and the claim does not. Documents whose quotations have the
    same such values are queried one after another, until an answer states these values. This answer
    counts as the answer of all these documents. Similarly, ``only_values`` has the only value of
    some documents. These documents are queried last, and only if no answer states their value yet.

    Raise ProviderError if no document could be queried.
    """
    reads = _Reads(question, reader, quotations, claim, only_values)
    replies_by_number = await _replies(documents, reads)
    rivals, dropped_replies = list[Rival](), list[DroppedReply]()
    failures = [r for r in replies_by_number.values() if isinstance(r, DroppedReply)]
    if failures and len(failures) == len(documents):
        raise ProviderError(failures[0].why, provider=reader.model.name)
    for document in documents:
        reply = replies_by_number[document.number]
        if isinstance(reply, DroppedReply):
            dropped_replies.append(reply)
            continue
        reply = _answer_in(reply, question)
        if why := _useless(reply, question, document, yes_no):
            excerpt = reply[:_MOST_CHARS]
            dropped_replies.append(DroppedReply(document=document.number, reply=excerpt, why=why))
            continue
        same = next((r for r in rivals if same_answer(r.statement, reply, question)), None)
        if same is None:
            rivals.append(same := Rival(reply))
        same.given_by.append(document.number)
    # callers use only the first few answers, so the most frequent ones come first
    rivals.sort(key=lambda rival: -len(rival.given_by))
    return Answered(tuple(rivals), tuple(dropped_replies))


class _Reads(NamedTuple):
    """The arguments of :func:`ask_documents` that decide which documents are queried, and how."""

    question: str
    reader: Reader
    quotations: Mapping[int, str]
    claim: str
    only_values: Mapping[int, str]

    @property
    def values(self) -> Mapping[int, str]:
        """The values that documents give, by number; documents without one are always queried."""
        return self.quotations if self.claim else self.only_values

    def turns(self, documents: Sequence[Document]) -> list[list[list[Document]]]:
        """Return the turns in which documents are queried; each consists of groups.

        A document of the same group, or of an earlier turn, may answer for a document.
        """
        parts = [[*documents]]
        # a caller passes a claim or only values, never both
        if not self.claim:
            first = [each for each in documents if each.number not in self.only_values]
            parts = [first, [each for each in documents if each.number in self.only_values]]
        context = f"{self.question}\n{self.claim}"
        return [with_equal_values(part, self.values, context) for part in parts]


async def _replies(documents: Sequence[Document], reads: _Reads) -> dict[int, str | DroppedReply]:
    """Return the reply of each document, by its number; see :func:`ask_documents`.

    A document that was not queried has the reply of the document that answered for it.
    """
    question, reader = reads.question, reads.reader
    ask = asking(
        "ask_document",
        question,
        reader,
        reads.quotations,
        send=partial(reader.ask, read=read_text, max_tokens=_REPLY_TOKENS),
        reply_tokens=_REPLY_TOKENS,
        brief=reader.model.is_local,
    )

    async def ask_in_turn(
        group: Sequence[Document], earlier: Mapping[int, str | DroppedReply]
    ) -> dict[int, str | DroppedReply]:
        replies = dict[int, str | DroppedReply]()
        for document in group:
            values = reads.values.get(document.number)
            usable_replies = (
                reply
                for reply in (*earlier.values(), *replies.values())
                if values and _is_also_of(document, reply, question, values, reads.claim)
            )
            replies[document.number] = next(usable_replies, None) or await ask(document)
        return replies

    replies_by_number = dict[int, str | DroppedReply]()
    for groups in reads.turns(documents):
        turn = (partial(ask_in_turn, group, replies_by_number.copy()) for group in groups)
        for replies in await at_once(turn):
            replies_by_number |= replies
    return replies_by_number


def asking(
    template: str,
    question: str,
    reader: Reader,
    quotations: Mapping[int, str],
    *,
    send: Callable[[str], Awaitable[T]],
    reply_tokens: int,
    brief: bool = False,
) -> Callable[[Document], Awaitable[T | DroppedReply]]:
    """Return a function that puts a question to one document.

    A document that is too long is cut to the parts nearest to the question and to its quotation.
    ``send`` gets the rendered template and returns the reply. ``brief`` says whether the document
    is shown in its brief form, as in the prompt for the first answer of an embedded model. If the
    document cannot be queried, the function returns the reason as a :class:`DroppedReply`.
    """
    model, prompts, _ = reader
    render = partial(prompts.render, template, question=material(question))
    fit = partial(fit_documents, around=render(document=""), reply_tokens=reply_tokens)

    async def ask(document: Document) -> T | DroppedReply:
        try:
            quotation = quotations.get(document.number, "")
            choose = near(question, quotation) if quotation else near(question)
            shortened_documents = fit([document], model, prompts, choose=choose).documents
            shown = prompts.documents(shortened_documents, brief=brief)
            return await send(render(document=shown))
        except (ProviderError, ContextWindowError, BudgetError) as error:
            return DroppedReply(document=document.number, why=brief_reason(error))

    return ask


def _is_also_of(
    document: Document, reply: str | DroppedReply, question: str, quotation: str, claim: str
) -> bool:
    """Return whether this document would surely give the same reply as another document."""
    if isinstance(reply, DroppedReply):
        return False
    answer = _answer_in(reply, question)
    has_values = states_the_values(answer, quotation, f"{question}\n{claim}")
    return has_values and _useless(answer, question, document, yes_no=False) is None


def _answer_in(reply: str, question: str) -> str:
    """Return the first sentence of a reply, or the second if the first repeats the question."""
    first, rest = _first_sentence(reply)
    if first.endswith(_QUESTION_MARKS) and answers_nothing(first, question):
        return _first_sentence(rest)[0] or first
    return first


def _first_sentence(text: str) -> tuple[str, str]:
    """Return the first sentence (or the first line, if shorter), and the text after it."""
    line, _, rest = text.strip().partition("\n")
    [end, *_] = [*sentence_ends(line), len(line)]
    return line[:end].strip(' *_`"“”'), f"{line[end:]}\n{rest}"


def _useless(reply: str, question: str, document: Document, yes_no: bool) -> str | None:
    """Return why a reply does not count as the document's answer; None if it does."""
    if len(reply) > _MOST_CHARS:
        return "it is too long for one answer"
    # an answer to a yes-or-no question may repeat the question
    if why := answers_nothing(reply, "" if yes_no else question):
        return why
    publication_date = str(document.metadata.get("date") or "")
    if foreign_numbers := invented_numbers(
        reply, [document.title, document.text, publication_date, question]
    ):
        # the numbers have no order, so the least is named, to give the same note each time
        return f"the document has no {min(foreign_numbers)}"
    return None


async def own_question(
    claim: str, question: str, reader: Reader, *, secret: Collection[str]
) -> str:
    """Ask for the question that a claim answers; it is used if the user's question is broader.

    ``secret`` contains the numbers that the question should ask for and so must not reveal. Return
    the user's question if the model writes no usable question.

    Raises:
        ProviderError, ContextWindowError, BudgetError: The model could not be asked.
    """

    def read(reply: str) -> str:
        line = " ".join(reply.split()).strip("\"'“” ")
        if not line.endswith(_QUESTION_MARKS) or len(line) > _QUESTION_CHARS:
            raise ValueError("it was not a single question")
        if leaked_numbers := sorted(numbers_in(line).intersection(secret)):
            raise ValueError(f"it reveals “{leaked_numbers[0]}”, which it should ask for")
        return line

    fields = {"question": material(question), "claim": material(claim)}
    request = reader.prompts.render("claim_question", **fields)
    try:
        return await reader.ask(request, read, _QUESTION_TOKENS)
    except UnreadableReplyError:
        return question
