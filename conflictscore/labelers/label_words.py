"""Functions that read the label in a reply, which may be inflected or in any language."""

import re
import tomllib
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from importlib import resources
from typing import Any

from conflictscore.records import Label


def _plain(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text.translate(_UNSEEN)).casefold()
    # casefold turns the Turkish capital İ into these two characters
    plain = plain.replace("i\u0307", "i")
    return " ".join(unicodedata.normalize("NFC", plain).replace("_", " ").split())


# Characters that are not visible, such as zero-width spaces. U+FE0F is kept, since it follows emoji
# and keycaps, which are recognised together with it.
_UNSEEN = dict.fromkeys(map(ord, "\0\ufeff\u200b\u200c\u200d\u2060"))
# Loaded with the module, since the first reply that needs this may be read on an event loop.
_FORMS = tomllib.loads((resources.files(__package__) / "label_words.toml").read_text("utf-8"))
_LABELS = {_plain(one): Label(label) for label, of in _FORMS.items() for one in of.split(",")}
# A symbol before a label, such as a check mark; a cross can only precede a contradiction.
_PICTURE = re.compile(
    r"(?P<cross>[✖✗✘❌🚫⛔👎])|[\u2600-\u27bf\u2b1b\u2b1c\u2b55\U0001f300-\U0001faff]"
)
_MARKS = " \t\r\n\"'`*_#.,;:!()[]{}<>«»“”‘’„。、\\-–—"
# Words that may precede a label, such as "Final answer:", "The document", "(a)", and LaTeX's
# "\boxed{", whose backslash has been stripped.
_LED = re.compile(
    r"(?:(?:the\s)?(?:final\s)?(?:answer|label|verdict|classification)(?:\sis)?\s?[:=]"
    r"|label\.|boxed\{|the\sdocument|this\sdocument|it|\(?[a-c1-3][.):](?=\s)"
    r"|[1-3]\ufe0f?\u20e3?(?=\s))"
    r"[\s*_`\"'({:]*"
)
# Words that may follow a label, as in "supports the claim".
_LABELLED = re.compile(r"(?:(?:the|this)\s)?claim|to\s(?:the|this)\sclaim|by\sthe\sdocument")
_EXPLAINABLE = frozenset({"supports", "contradicts", "irrelevant"})
"""Labels after which an explanation is allowed. An explanation is not allowed after labels in
languages other than English, since an explanation could negate such a label in an unknown way.
"""
# A label that is followed by punctuation and an explanation. A hyphen counts only between spaces,
# since it may also join two words.
_EXPLAINED = re.compile(r"(?P<label>[^\W\d_]+)[*_\"'`)\]]{0,4}\s{0,4}(?:[.:,;(–—]|\s-\s)")
# The stems of the labels that take a side.
_SIDES = re.compile(r"support|contradict")
# Words that may mean a label; they show whether an explanation names a different label.
_ANY_LABEL = re.compile(r"support|contradict|irrelevan|relevant|\bno[tn]?\b|neither|partly|partial")
# Names that models give to the field with the label, in the order of preference.
_FIELDS = (
    "label",
    "verdict",
    "classification",
    "judgment",
    "judgement",
    "relation",
    "relationship",
    "stance",
    "decision",
    "final_answer",
    "final_label",
)
ANSWER_ALIASES = dict.fromkeys(_FIELDS, "answer")
"""Other names that judges use for the label field."""


def read_label(answer: str) -> Label:
    """Return the label that a text states.

    Punctuation and words such as "Answer:" around the label are ignored. An explanation may follow
    if it names no label.
    """
    text = _plain(answer)
    if text.endswith("?"):
        raise ValueError("its label was a question")
    text = text.strip(_MARKS)
    if picture := _PICTURE.match(text):
        return _pictured(picture, text[picture.end() :].removeprefix("\ufe0f"))
    for _ in range(2):  # an introduction may follow another: "Answer: the document supports"
        if introduction := _LED.match(text):
            text = text[introduction.end() :].strip(_MARKS)
    if (label := _LABELS.get(text)) is not None:
        return label
    verb, _, rest = text.partition(" ")
    if verb == "is":  # "is supported by the document"
        verb, _, rest = rest.partition(" ")
    if verb in _LABELS and _LABELLED.fullmatch(rest):
        return _LABELS[verb]
    explanation = _EXPLAINED.match(text)
    if explanation and explanation["label"] in _EXPLAINABLE:
        found_label = _LABELS[explanation["label"]]
        # an explanation of IRRELEVANT usually contains "not" or "no"
        rival_labels = _SIDES if found_label is Label.IRRELEVANT else _ANY_LABEL
        label = None if rival_labels.search(text, explanation.end()) else found_label
    if label is None:
        raise ValueError(f"its label was none of {', '.join(_FORMS)}")
    return label


def _pictured(picture: re.Match[str], text: str) -> Label:
    """Return the label after a symbol; raise ValueError for a cross without a contradiction."""
    label = read_label(text)
    if picture["cross"] and label is not Label.CONTRADICTS:
        raise ValueError("its label had a cross before it")
    return label


def label_of(reply: Mapping[str, Any]) -> Label:
    """Return the label of a verdict, from ``answer`` or a field with another usual name."""
    labels = {_label_in(reply["answer"])} if "answer" in reply else set[Label]()
    for name in reply.keys() & ANSWER_ALIASES.keys():
        with suppress(ValueError):  # a field named by an alias may contain anything
            labels.add(_label_in(reply[name]))
    if len(labels) != 1:
        raise ValueError("its labels were different" if labels else "it had no label")
    return labels.pop()


def _label_in(answer: Any) -> Label:
    for _ in range(2):  # a list may contain an object, or an object a list
        if isinstance(answer, Mapping):
            answer = [*answer.values()]
        if isinstance(answer, list) and len(answer) == 1:
            [answer] = answer
    if not isinstance(answer, str):
        raise ValueError("its label was not a string")  # noqa: TRY004 - asked for again
    return read_label(answer)


def text_of(reply: Mapping[str, Any], field: str) -> str | None:
    """Return the text of a field that explains a verdict; None if it is blank, null or missing."""
    content = reply.get(field)
    if isinstance(content, list | Mapping):
        parts = content.values() if isinstance(content, Mapping) else content
        content = " … ".join(part for part in parts if isinstance(part, str))
    return (content if isinstance(content, str) else "").strip() or None
