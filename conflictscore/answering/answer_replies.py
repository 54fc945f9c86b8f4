"""Functions that read a model's replies, and reject replies in an unexpected format.

Limits without a stated reason were chosen by hand.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from math import exp, fsum
from typing import NamedTuple

from conflictscore.active_content import without_active_content
from conflictscore.answering.claim_replies import each_once, folded
from conflictscore.loop.question_check import LETTERS
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.replies import labelled_lines, unfenced, unwrapped
from conflictscore.models.usage import UsageMeter, begin_cost, stored_cost, take_cost
from conflictscore.prompts import PromptSet, material
from conflictscore.records import Answer

# Models add brackets, colons, dashes and emphasis to the letter that they were asked for, as in
# "**B.** 1969". The emphasis around a whole line is removed before this pattern is applied.
_LETTER = re.compile(
    r"^(?:\((?P<inner>[A-Z])\)|(?P<bare>[A-Z])(?=$|[\s.:)*_–—-]))[*_]{0,3}[.:)]?[*_]{0,3}"
    r"(?P<rest>.*)$"
)
# Repetitions are bounded, so that a search through a hostile text takes linear time.
_ANSWER = re.compile(r"^[*_]{0,3}(?:answer|choice|option)[*_]{0,3}:[*_]{0,3}\s+", re.IGNORECASE)
# A dash before the text of an answer: "B – 1969".
_DASH = re.compile(r"^\s*[–—-]\s*")
# "Justification: it is in document 2".
_JUSTIFICATION = re.compile(
    r"^[*_]{0,3}justification[*_]{0,3}:[*_]{0,3}\s*(?P<reason>\S.*)$", re.IGNORECASE
)
_QUERY_CHARS = 300  # Longer queries are cut here, since searches refuse or ignore what is too long.

# Words about the task, such as "the new passage"; "the passage of time" is about the world.
_TASK = re.compile(r"\b(?:the|this|new|old|earlier)\s+passage\b(?!\s+(?:of|to|from|through))", re.I)
# The delimiters around material in our templates, which a model may copy.
_MARK = re.compile(r"<(?P<closing>/?)(?P<name>answer|claim|document)\b[^<>]*>")
# Delimiters may be nested, so they are removed in this many passes. Deeper nesting is refused.
_FRAMES = 3

# Citations such as "(doc 3)" and "(documents 1, 2 and 5)".
_CITATION = re.compile(
    r"\(\s*doc(?:ument)?s?\.?\s+(\d{1,9}(?:(?:\s*,\s*|\s*&\s*|,?\s+and\s+)\d{1,9})*)\s*\)", re.I
)


def form_of(options: Sequence[str], *, by_probability: bool = False) -> str:
    """Return the prefix of a template's name, which depends on how a choice is read.

    The paper's templates take two options and expect a reply such as ``(A)``. If the probabilities
    of the letters decide, the reply must begin with the letter itself.
    """
    if len(options) > 2 or by_probability:
        return "options"
    return "multiple_choice" if options else "free_form"


def option_fields(options: Sequence[str], *, by_probability: bool = False) -> dict[str, str]:
    """Return the template fields for the options; empty for a free-form question."""
    if not options:
        return {}
    if form_of(options, by_probability=by_probability) == "multiple_choice":
        return {"option_a": material(options[0]), "option_b": material(options[1])}
    letters = LETTERS[: len(options)]
    lines = (
        f"({letter}) {material(option)}" for letter, option in zip(letters, options, strict=True)
    )
    letter_list = f"{', '.join(letters[:-1])} or {letters[-1]}"
    return {"options": "\n".join(lines), "letters": letter_list}


async def weigh(
    model: LanguageModel, prompts: PromptSet, meter: UsageMeter, prompt: str, options: Sequence[str]
) -> Answer:
    """Choose the option whose letter is the most probable first token of the reply.

    Probabilities are normalised over the options. If the server does not report the probability of
    a letter, the letter gets at most the probability that remains after all reported tokens.
    """
    letters = LETTERS[: len(options)]

    def read(logprobs: Mapping[str, float]) -> Answer:
        weights = [exp(logprobs[letter]) for letter in letters]
        option = max(range(len(options)), key=weights.__getitem__)
        total = fsum(weights)
        return Answer(
            text=options[option],
            option=option,
            probabilities=tuple(weight / total for weight in weights),
        )

    # the log-probabilities are stored, since replies of one letter are not cached elsewhere
    cache = model.cache if model.deterministic and model.identity is not None else None
    key = {"letters to": prompt, "of": letters, "by": model.identity}
    record = {} if cache is None else await cache.get_async(key)
    if "logprobs" in record:
        meter.cached(stored_cost(record), model.name)
        return read(record["logprobs"])
    begin_cost()
    logprobs = await model.ask_letter(prompt, letters, dict, prompts=prompts, meter=meter)
    if cache is not None:
        cache.put(key, {"logprobs": logprobs, **take_cost()})
    return read(logprobs)


class Choice(NamedTuple):
    """The index of a chosen option, counted from 0, with the reason if one was requested."""

    option: int
    justification: str | None = None
    cited: tuple[int, ...] = ()


def read_text(reply: str) -> str:
    """Read a free-form answer; any text that is not blank is accepted."""
    if not (text := unwrapped(reply).strip()):
        raise ValueError("it was empty")
    return text


def read_queries(reply: str) -> tuple[str, ...]:
    """Read one or two different queries from the lines ``FOR: …`` and ``AGAINST: …``."""
    lines = labelled_lines(reply, ("for", "against"))
    texts = [" ".join(lines.get(name, "").split()) for name in ("for", "against")]
    queries = each_once(query[:_QUERY_CHARS] for query in texts if any(map(str.isalnum, query)))
    if not queries:
        raise ValueError('no query followed "FOR:" or "AGAINST:"')
    return queries


def copied(text: str, request: str, own: str) -> bool:
    """Return whether a reply copies text from the request, as replies of small models often do.

    A final full stop does not matter: small models turn a clause of the request into a sentence. A
    text of one or two words does not count, since the match may be a coincidence.
    """
    bare = text.rstrip(" .")
    return len(bare.split()) > 2 and bare.casefold() in request.casefold() and bare not in own


def of_the_task(text: str, passage: str) -> bool:
    """Return whether a replacement for a passage is about the task, not about the subject.

    Small models sometimes write "The passage is kept as it stands." instead of the passage itself.
    Phrases such as "the passage of the act" do not count.
    """
    return bool(_TASK.search(text)) and not _TASK.search(passage)


def unframed(text: str, passage: str, shown: Collection[str] = ()) -> str:
    """Remove the prompt's delimiters from a replacement; models tend to copy them.

    Small models also copy whole texts from the request (those in ``shown``, or the original
    passage) with their delimiters. Such a copy is removed together with its delimiters; the
    remaining text is the replacement.
    """
    if _MARK.search(passage):
        return text  # the passage itself has such marks, so marks do not show what was copied
    # the empty text stands for a block in which the model wrote nothing
    rest = _without_copies(text, {folded(each) for each in (passage, *shown, "")})
    # if the reply is a single block (two delimiters), its text may be meant as the new passage
    if not rest and len(_MARK.findall(text)) > 2:
        raise ValueError("it only repeated texts of the request")
    text = rest or text
    for _ in range(_FRAMES):
        mark = _MARK.match(text)
        if mark is None or mark["closing"] or not text.endswith(end := f"</{mark['name']}>"):
            break
        text = text[mark.end() : -len(end)].strip()
        if not text:
            raise ValueError("there was nothing between the marks around the new passage")
    if mark := _MARK.search(text):
        raise ValueError(f'the new passage contained "{mark[0]}", a mark from the request')
    return text


def _without_copies(text: str, shown: Collection[str]) -> str:
    """Return a text without the delimited blocks that copy a text from the request.

    Each pass removes the innermost blocks.
    """
    for _ in range(_FRAMES):
        parts, start = list[str](), 0
        opening: re.Match[str] | None = None
        for mark in _MARK.finditer(text):
            if not mark["closing"]:
                opening = mark
            elif opening is not None and opening["name"] == mark["name"]:
                if folded(text[opening.end() : mark.start()]) in shown:
                    parts.append(text[start : opening.start()])
                    start = mark.end()
                opening = None
        if not parts:
            break
        text = "".join([*parts, text[start:]]).strip()
    return text


def read_choice(reply: str, options: Sequence[str]) -> Choice:
    """Read the letter of a choice (Tables 14 and 15), such as ``(A)``, alone or with its option."""
    return Choice(_option(unfenced(reply), options))


def read_reconsidered_choice(
    reply: str, options: Sequence[str], documents: Collection[int]
) -> Choice:
    """Read a choice such as ``B – option``, then ``Justification: …`` (Table 16; 17 in arXiv v1).

    The second line is optional: small models omit it, and the choice is clear without it.
    """
    lines = [line.strip() for line in unfenced(reply).splitlines() if line.strip()]
    if not 1 <= len(lines) <= 2:
        raise ValueError(f"it had {len(lines)} lines instead of two")
    option = _option(lines[0], options)
    if len(lines) == 1:
        return Choice(option)
    match = _JUSTIFICATION.match(lines[1])
    if match is None:
        raise ValueError('its second line did not begin with "Justification:"')
    # users see the reason, and a document could have made the model add a link or an image
    reason = without_active_content(match["reason"])
    return Choice(option, reason, cited_documents(reason, documents))


def cited_documents(justification: str, documents: Collection[int]) -> tuple[int, ...]:
    """Return the numbers of the existing documents that a text cites, as in ``(Docs 2, 5)``."""
    numbers = {
        int(number)
        for citation in _CITATION.findall(justification)
        for number in re.findall(r"\d+", citation)
    }
    return tuple(sorted(numbers.intersection(documents)))


def _option(line: str, options: Sequence[str]) -> int:
    """Return the index of the option that a line chooses by its letter.

    A letter with the text of a different option is refused, since either may be meant.
    """
    match = _LETTER.match(_ANSWER.sub("", line).strip("*_` "))
    option = LETTERS.index(match["inner"] or match["bare"]) if match else len(options)
    if match is not None and option < len(options):
        text = _DASH.sub("", match["rest"]).strip(" \t*_")
        if not text or folded(text) == folded(material(options[option]).strip("*_")):
            return option
    if len(options) == 2:
        raise ValueError("it was neither (A) nor (B) in the requested form")
    last = LETTERS[len(options) - 1]
    raise ValueError(f"it was none of the letters A to {last} in the requested form")
