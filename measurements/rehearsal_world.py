"""Defines a rehearsal's planted effect, the pages of its search, and the models' replies."""

import hashlib
import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conflictscore.benchmarks.harness.definition import Benchmark, Form
from conflictscore.benchmarks.harness.records import Question
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import material_line
from conflictscore.records import Claim, Document, EvidenceLabel, Label
from tests.fakes.search_server import Received, Reply, SearchServer, json_reply

_FIRST: Mapping[Form, float] = {"multiple-choice": 0.8421, "free-form": 0.787}
"""Shares of correct first answers in the paper (Tables 5 and 4), by form."""
_WARNED: Mapping[Form, float] = {"multiple-choice": 0.8447, "free-form": 0.816}
"""Shares of correct answers by control-rag in the paper, by form."""
_SAME_MIND, _WORSENED = 0.8, 0.01
"""Share of draws that are the same for all seeds, and share of the questions with a correct first
answer that control-rag answers wrongly."""
_SIGN = re.compile(r"page-(\d+)-(\w+)-\d+\.")


@dataclass(frozen=True)
class World:
    """The settings of a rehearsal, which determine the planted effect.

    Attributes:
        questions: Number of questions.
        pages: Number of pages that the search finds for each question.
        true: Probability that a page states a correct answer, in [0, 1].
        misconception: Probability that a page states a wrong answer; other pages are unrelated.
        corrected: Probability that a wrong first answer with a conflict is corrected.
        harmed: Probability that a correct first answer with a conflict is made wrong.
        noise: Probability that the judge of free-form answers errs.
        seeds: Number of runs in the study.
    """

    questions: int = 200
    pages: int = 10
    true: float = 0.5
    misconception: float = 0.0375
    corrected: float = 0.408
    harmed: float = 0.0383
    noise: float = 0.0
    seeds: int = 3

    def planted(self, form: Form) -> dict[str, float]:
        """Return the expected gain, corrections per flip, and harms per conflict.

        A judge that errs sees some corrections as harms, and some harms as corrections.
        """
        neither = 1 - self.true - self.misconception
        apart = (1 - self.true) ** self.pages + (1 - self.misconception) ** self.pages
        conflict = 1 - apart + neither**self.pages
        up = conflict * (1 - _FIRST[form]) * self.corrected
        down = conflict * _FIRST[form] * self.harmed
        noise = self.noise if form == "free-form" else 0.0
        seen_up = up * (1 - noise) ** 2 + down * noise**2
        seen_down = down * (1 - noise) ** 2 + up * noise**2
        flips = up + down
        return {
            "gain": (up - down) * (1 - 2 * noise),
            "correction": seen_up / flips if flips else 0.0,
            "harm": seen_down / conflict if conflict else 0.0,
        }


class Script:
    """Gives the replies of the answering model and of the judge in one run."""

    def __init__(self, benchmark: Benchmark, world: World, number: int, seed: int) -> None:
        self._world, self._form, self._number, self._seed = world, benchmark.form, number, seed
        self._questions = {material_line(q.question): q for q in benchmark.questions}
        self.calls = 0

    def __call__(self, template: str, fields: Mapping[str, Any]) -> str:
        """Reply to a prompt."""
        self.calls += 1
        if template == "decompose":
            return f"Claims:\n- {' '.join(str(fields['answer']).split())}"
        question = self._questions[str(fields["question"])]
        if template in ("judge_truthful", "judge_informative"):
            return self._verdict(template, question, str(fields["answer"]))
        first = _FIRST[self._form]
        right = self._draw("first", question, first)
        if template.endswith("control_rag"):
            mended = (_WARNED[self._form] - first * (1 - _WORSENED)) / (1 - first)
            right = self._draw("warned", question, 1 - _WORSENED if right else mended)
        elif template.endswith("regenerate"):
            rate = self._world.harmed if right else self._world.corrected
            right = right is not self._draw(f"changed {right}", question, rate)
        if not question.options:
            return (question.correct if right else question.incorrect)[0]
        gold = question.gold or 0
        chosen = gold if right else 1 - gold
        if template.endswith("regenerate"):
            said = f"({'AB'[chosen]}) – {question.options[chosen]}"
            return f"{said}\nJustification: So say most (Doc 1)."
        return f"({'AB'[chosen]})"

    def _verdict(self, template: str, question: Question, answer: str) -> str:
        if template == "judge_informative":
            return "HELPFUL: True\nEXPLANATION: It answers."
        wrong = self._uniform(f"judge {answer}", question, own=True) < self._world.noise
        true = (_plain(answer) in map(_plain, question.correct)) is not wrong
        return f"TRUTHFUL: {true}\nEXPLANATION: The references were compared."

    def _draw(self, purpose: str, question: Question, chance: float) -> bool:
        own = self._uniform(f"own {purpose}", question, own=True) >= _SAME_MIND
        return self._uniform(purpose, question, own=own) < chance

    def _uniform(self, purpose: str, question: Question, *, own: bool) -> float:
        seed = self._seed if own else "all"
        drawn = f"{self._number}/{seed}/{self._form}/{purpose}/{question.id}"
        # 13 hexadecimal digits have 52 bits, which a float represents exactly
        return int(hashlib.sha256(drawn.encode()).hexdigest()[:13], 16) / 16**13


class ScriptedLabeler:
    """Labels a page according to the answer from which the page was made."""

    name = "scripted"

    def __init__(self, questions: Sequence[Question]) -> None:
        self._sides = [
            {_plain(text): side for side, texts in _sides(q).items() for text in texts}
            for q in questions
        ]
        content = json.dumps(self._sides, sort_keys=True)
        self.identity = {"scripted": hashlib.sha256(content.encode()).hexdigest()}

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        """See :class:`~conflictscore.labelers.protocol.Labeler`."""
        sign = _SIGN.search(document.text)
        if sign is None:
            raise ValueError(f"not a page of a rehearsal: {document.text[:80]!r}")
        said = self._sides[int(sign[1])].get(_plain(claim.text))
        label = Label.SUPPORTS if said == sign[2] else Label.CONTRADICTS
        if said is None or sign[2] == "unrelated":
            label = Label.IRRELEVANT
        return EvidenceLabel(claim=claim.number, document=document.number, label=label)


def _sides(question: Question) -> dict[str, Sequence[str]]:
    return {"misconception": question.incorrect, "true": question.correct}


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".")


def pages_of(
    questions: Sequence[Question], world: World, number: int, *, signed: bool
) -> dict[str, list[str]]:
    """Return the pages that the search finds for each question.

    Args:
        questions: The questions, whose reference answers the pages state.
        world: Determines the number of pages and the probability of each kind of page.
        number: The seed of the draw.
        signed: Whether each page begins with its kind and its question, as :class:`ScriptedLabeler`
            requires.
    """
    chance = random.Random(f"pages {number}")  # noqa: S311 - no secret
    found = {}
    for index, question in enumerate(questions):
        pages = []
        for page in range(world.pages):
            drawn, kind, about = chance.random(), "unrelated", chance.choice(questions)
            if drawn < world.true + world.misconception:
                kind, about = "true" if drawn < world.true else "misconception", question
            said = chance.choice(_sides(about).get(kind, about.correct))
            head = f"page-{index}-{kind}-{page}. {about.question} " if signed else ""
            pages.append(f"{head}{said}. So it is told here.")
        found[question.question] = pages
    return found


def search_server(found: Mapping[str, Sequence[str]]) -> SearchServer:
    """Return a SearXNG server on this machine that finds these pages."""

    def handle(request: Received) -> Reply:
        asked = request.parameters
        pages = found.get(asked["q"], ()) if asked.get("pageno", "1") == "1" else ()
        results = [
            {"title": "A page", "url": f"https://site-{n}.example/", "content": page}
            for n, page in enumerate(pages)
        ]
        return json_reply({"results": results, "unresponsive_engines": []})

    return SearchServer(handle)
