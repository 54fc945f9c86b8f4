"""A model that does what the evidence says: how far labels alone can carry a second look.

Its first answers name every right answer of a question's documents and, by a draw, half of the
wrong ones, a sentence each. Asked for a whole new answer, it
follows the side with more documents; asked about one document, it gives that document's answer; and
it finds no ground to prefer a side. So whatever goes wrong then is due to the labels, the documents
or the method.
Its queries are the question with the answer that is in doubt, and the question without it.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from conflictscore.prompts import PromptSet, material_line
from measurements.people_labels import LabelledQuestion
from measurements.scripted_model import NotedPrompts, ScriptedModel

__all__ = ["NOTHING", "first_answer", "obedient_model", "sentences", "settled"]

_SAID, _HEDGED = "One answer is {}.", "Sources disagree on whether it is {}."
_REPEATED = {"decompose_short": "answer", "claim_question": "question", "put_in": "passage"}
_ALWAYS = {
    "weigh": "SIDE: NEITHER\nGROUND: NUMBER\nREASON: Nothing tells them apart.",
    "classify_conflict": "TYPE: misinformation\nREASON: Some have it wrong.",
    "madam_reader_again": "KEEP",
}
NOTHING = "The documents do not settle it."


def obedient_model(
    labelled: Iterable[LabelledQuestion], *, from_shown: bool = False
) -> ScriptedModel:
    """The model for these questions; a run with it takes its ``prompts``.

    Args:
        labelled: The questions.
        from_shown: Whether a first answer names what the documents say that it is shown, and not
            all that a question has.
    """
    by_question = {" ".join(one.question.question.split()): one for one in labelled}
    prompts = NotedPrompts(PromptSet.load())
    known = [answer for one in by_question.values() for answer in (*one.right, *one.wrong)]

    def reply(name: str, fields: Mapping[str, Any]) -> str:
        match name:
            case "free_form_rag":
                asked = by_question[_folded(fields["question"])]
                return first_answer(asked, fields["documents"] if from_shown else None)
            case "decompose" | "decompose_passage" | "decompose_with_places":
                said = sentences(fields["answer"], known)
                placed = name == "decompose_with_places"
                return "\n".join(
                    ["Claims:", *(f"{one} || {one}" if placed else one for one in said)]
                )
            case "free_form_regenerate" | "free_form_regenerate_typed":
                asked = by_question[_folded(fields["question"])]
                return settled(fields["answer"], [(fields["claim"], fields["evidence"])], asked)
            case "madam_sum":
                return _summed(str(fields["documents"]), known)
            case "ask_document" | "madam_reader":
                field = "document" if name == "ask_document" else "documents"
                asked, shown = by_question[_folded(fields["question"])], _folded(fields[field])
                documents = ((material_line(d["text"])[:200], d) for d in asked.question.documents)
                gives = next(d["metadata"]["gives"] for text, d in documents if text in shown)
                return _SAID.format(gives) if gives else "The document does not say."
            case "look_further":
                asked = by_question[_folded(fields["question"])]
                statement = " ".join(asked.stated(fields["claim"]))
                return f"FOR: {fields['question']} {statement}\nAGAINST: {fields['question']}"
            case _ if name in _REPEATED:
                return str(fields[_REPEATED[name]])
            case _:
                return _ALWAYS.get(name, "The documents say so.")

    return ScriptedModel(prompts=prompts, reply=reply)


def _summed(opinions: str, known: Iterable[str]) -> str:
    """The answers that most readers of a debate gave."""
    counts = {one: opinions.count(_SAID.format(one)) for one in known}
    most = max(counts.values(), default=0)
    return " ".join(_SAID.format(one) for one, n in counts.items() if n == most > 0) or NOTHING


def first_answer(asked: LabelledQuestion, shown: str | None = None) -> str:
    """First answer; drawn from the documents in the text, where it shows some."""
    documents = [d for d in asked.question.documents if shown is None or d["text"] in shown]
    given = dict.fromkeys(d["metadata"]["gives"] for d in documents)
    told = [
        answer
        for answer in given
        if answer and (answer in asked.right or hashlib.sha256(answer.encode()).digest()[0] % 2)
    ]
    return " ".join(map(_SAID.format, told)) or NOTHING


def sentences(text: str, known: Iterable[str]) -> list[str]:
    """Known answers that a text mentions, in its order."""
    told = (form.format(answer) for answer in known for form in (_SAID, _HEDGED))
    return sorted({one for one in told if one in text}, key=text.index)


def settled(
    text: str,
    disputes: Iterable[tuple[str, str]],
    asked: LabelledQuestion,
) -> str:
    """A text in which what more documents contradict than support gives way to what they say."""
    for claim, evidence in disputes:
        supports, _, contradicts = evidence.partition("Documents that contradict")
        more = contradicts.count("- Document ") - supports.count("- Document ")
        if more > 0:
            others = (_SAID.format(answer) for answer in asked.stated(contradicts))
            new = [one for one in others if one not in text]
            text = text.replace(claim, " ".join(new))
    return " ".join(text.split()) or NOTHING


def _folded(text: object) -> str:
    return " ".join(str(text).split())
