"""Makes the decisions about an answer from which its measures follow (formulas 1 to 4)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations

from conflictscore.benchmarks.harness.records import Verdict
from conflictscore.benchmarks.judging import Judge
from conflictscore.benchmarks.natconfqa.data import (
    AnswerPair,
    NatConfQuestion,
    answer_key,
    passages_of,
)
from conflictscore.errors import ContextWindowError, ProviderError
from conflictscore.prompts import material, material_line
from conflictscore.records import Record
from conflictscore.threads import at_once

REPLY_FORMS = ("ANSWERS:\n1. one\n2. another\nCONFLICTS:\n1 - 2", "FOUND: True", "CONFLICT: True")
"""Sample replies for a dry run (see ``Benchmark.reply_forms``).

:func:`read_decomposition` must be able to read the first one, and ``Judge.decide`` the others.
"""

_DECOMPOSED_TOKENS = 768
"""The maximum number of tokens in a reply that splits an answer into lines; chosen by hand.

A reply that reaches this maximum lacks its second list, so it is unreadable and is requested again.
"""
_DECIDED_TOKENS = 160
"""The maximum number of tokens in a single decision, with room for a short explanation; chosen by
hand."""
_MOST_PAIRS = 190
"""The maximum number of pairs of short answers that are judged: the pairs of 20 answers.

Each pair takes one or two calls, and their number grows with the square of the number of answers.
No question has nearly 20 reference answers, so a longer list is a reply that was split wrongly.
"""
# As in ``judging``, but without "-", which separates the numbers of a pair.
_MARKUP = r"[ \t*_`#>]*"
# The headings "ANSWERS:" and "CONFLICTS:" of a reply, perhaps with Markdown.
_HEADING = re.compile(rf"^{_MARKUP}(answers|conflicts){_MARKUP}:[ \t*_`]*", re.I | re.M)
# A list whose only line is "none" counts as empty.
_NONE = re.compile(r"[\s*_`#>\-\u2022(\"]*none[\s*_`.)\"]*", re.I)
_NUMBERED = re.compile(r"[\s*_`\[]*(\d{1,3})[\]*_]*[.:)][*_]*\s++(.+)")
"""Matches a line of the first list.

White space at the end of the line would become part of the answer, so it must be stripped first.
The possessive quantifier keeps white space out of the beginning of the answer.
"""
# A line of the second list: two numbers of the first list, such as "1 - 2" or "1 vs. 2".
_PAIR = re.compile(
    r"[\s*_`\[(\-]*(\d{1,3})\.?\s*(?:-|\u2013|\u2014|,|and|vs\.?)\s*(\d{1,3})[\s*_`\]).]*", re.I
)


class Decomposition(Record):
    """The short answers that a text gives to a question, and the conflicts between them."""

    answers: tuple[str, ...]
    """The short answers in the order of the text, without duplicates."""
    conflicts: tuple[AnswerPair, ...]
    """The pairs of ``answers`` that the text presents as conflicting, in ascending order."""

    @property
    def pairs(self) -> list[AnswerPair]:
        """All pairs of ``answers``, in ascending order."""
        return list(combinations(range(len(self.answers)), 2))


_NOTHING = Decomposition(answers=(), conflicts=())


class Judgement(Record):
    """All decisions about an answer to a question."""

    decomposition: Decomposition | None
    """The decomposition of the answer, or None if the answer could not be split.

    The judge is asked about each pair of short answers. The decomposition's conflicts are the pairs
    that the answer presents as conflicting, according to the judge. If the decomposition is None,
    all precisions are unknown.
    """
    error: str | None = None
    references: tuple[Verdict, ...]
    """For each reference answer, whether the answer gives it (formula 1)."""
    answers: tuple[Verdict, ...] = ()
    """For each short answer of the decomposition, whether the passages give it (formula 2)."""
    reference_conflicts: tuple[Verdict, ...]
    """For each conflict of the question, whether the answer reports it (formula 3)."""
    conflicts: tuple[Verdict, ...] = ()
    """For each conflict of the decomposition, whether the passages contain it (formula 4)."""
    undecided_pairs: tuple[Verdict, ...] = ()
    """The verdicts that the judge failed to give on pairs of short answers; each has an error."""
    listed: tuple[AnswerPair, ...] = ()
    """The pairs that the judge listed as conflicting when it split the answer."""
    listed_conflicts: tuple[Verdict, ...] = ()
    """For each listed pair, whether the passages contain the conflict."""

    @property
    def errors(self) -> tuple[str, ...]:
        """The reasons why decisions are missing, without duplicates; empty if none is missing."""
        verdicts = (
            *self.references,
            *self.answers,
            *self.reference_conflicts,
            *self.conflicts,
            *self.undecided_pairs,
            *self.listed_conflicts,
        )
        reasons = [self.error, *(verdict.error for verdict in verdicts)]
        return tuple(dict.fromkeys(reason for reason in reasons if reason))


async def judge_natconfqa(question: NatConfQuestion, answer: str, judge: Judge) -> Judgement:
    """Judge a free-form answer, with one call to split it and one call for each decision.

    No call is needed if a short answer equals a reference answer word for word, as in most yes/no
    questions. In that case, the judged answer certainly gives the reference answer. The passages
    certainly give the short answer, too, since annotators found the reference answer in them.
    Conflicting pairs that equal a reference pair need no call either.

    As in the authors' code, every pair of short answers is judged: first whether the answer
    presents the two as conflicting, then whether the passages do. If the question has no conflicts,
    only the pairs that the judge listed are judged, and only by the passages.

    If a call fails, or if its reply is unreadable twice, the decision (or the whole decomposition)
    has an error instead of a value. Other decisions are not affected. Passages may have been
    shortened to fit the judge's context window. If nothing is found in such passages, the decision
    also has an error, since the answer or conflict may be in the missing parts.
    """
    parts, error = _NOTHING, None
    try:
        parts = await decompose(question, answer, judge)
    except (ProviderError, ContextWindowError) as failure:
        error = str(failure)
    decider = _Decider(question, answer, parts, judge)
    decisions = iter(
        await at_once(
            [
                *(partial(decider.reference, index) for index in range(len(question.answers))),
                *(partial(decider.answer_part, index) for index in range(len(parts.answers))),
                *(partial(decider.reference_conflict, pair) for pair in question.conflicts),
            ]
        )
    )
    references = tuple(next(decisions) for _ in question.answers)
    answers = tuple(next(decisions) for _ in parts.answers)
    reference_conflicts = tuple(next(decisions) for _ in question.conflicts)
    presented, in_passages = await decider.pairs(reference_conflicts)
    conflicts = _pairs_with(presented, True)
    return Judgement(
        decomposition=None if error else parts.model_copy(update={"conflicts": conflicts}),
        error=error,
        references=references,
        answers=answers,
        reference_conflicts=reference_conflicts,
        conflicts=tuple(in_passages[pair] for pair in conflicts),
        undecided_pairs=tuple(presented[pair] for pair in _pairs_with(presented, None)),
        listed=parts.conflicts,
        listed_conflicts=tuple(in_passages[pair] for pair in parts.conflicts),
    )


async def decompose(question: NatConfQuestion, answer: str, judge: Judge) -> Decomposition:
    """Have a judge split an answer into short answers.

    The judge sees neither references nor passages. If the answer is blank, no call is made.
    """
    if not answer.strip():
        return _NOTHING
    prompt = judge.prompts.render(
        "natconfqa_decompose", question=material_line(question.question), answer=material(answer)
    )
    return await judge.ask(prompt, read_decomposition, _DECOMPOSED_TOKENS)


@dataclass(frozen=True)
class _Decider:
    """Makes the decisions about one answer, with at most one call per decision."""

    question: NatConfQuestion
    answer: str
    parts: Decomposition
    judge: Judge

    async def reference(self, index: int) -> Verdict:
        if index in self._parts:
            return _known(f"it is short answer {self._parts[index] + 1}")
        text = self.question.answers[index]
        return await self._in_answer("natconfqa_found_in_answer", "FOUND", short_answer=text)

    async def answer_part(self, index: int) -> Verdict:
        if index in self._references:
            return _known(f"it is reference answer {self._references[index] + 1}")
        text = self.parts.answers[index]
        return await self._in_passages("natconfqa_found_in_passages", "FOUND", short_answer=text)

    async def reference_conflict(self, pair: AnswerPair) -> Verdict:
        if _translated(pair, self._parts) in self.parts.conflicts:
            return _known("it is one of the answer's conflicts")
        first, second = (self.question.answers[index] for index in pair)
        return await self._in_answer(
            "natconfqa_conflict_in_answer", "CONFLICT", first=first, second=second
        )

    async def pairs(
        self, reference_conflicts: Sequence[Verdict]
    ) -> tuple[dict[AnswerPair, Verdict], dict[AnswerPair, Verdict]]:
        """Judge all pairs of short answers.

        Returns:
            Two mappings. The first result says for each pair whether the answer presents it as
            conflicting. The second result says whether the passages contain the conflict, for each
            pair that the answer presents as conflicting and for each pair that the judge listed.
        """
        # without conflicts, the run has no measure of conflicts, so only listed pairs are judged
        pairs = self.parts.pairs if self.question.conflicts else []
        presented = await self.presented(pairs, reference_conflicts)
        both = sorted({*_pairs_with(presented, True), *self.parts.conflicts})
        verdicts = await at_once([partial(self.conflict, pair) for pair in both])
        return presented, dict(zip(both, verdicts, strict=True))

    async def presented(
        self, pairs: Sequence[AnswerPair], reference_conflicts: Sequence[Verdict]
    ) -> dict[AnswerPair, Verdict]:
        """Judge for each pair of short answers whether the answer presents it as conflicting.

        A pair that equals a conflict of the question has the verdict of that conflict. If there are
        too many pairs, no pair is judged.
        """
        if len(pairs) > _MOST_PAIRS:
            reason = (
                f"{len(pairs)} pairs of short answers are too many to judge: at most {_MOST_PAIRS}"
            )
            return dict.fromkeys(pairs, Verdict(value=None, error=reason))
        by_reference = dict(zip(self.question.conflicts, reference_conflicts, strict=True))

        async def verdict_on(pair: AnswerPair) -> Verdict:
            of_references = _translated(pair, self._references)
            if of_references in by_reference:
                return by_reference[of_references]
            first, second = (self.parts.answers[index] for index in pair)
            return await self._in_answer(
                "natconfqa_conflict_in_answer", "CONFLICT", first=first, second=second
            )

        verdicts = await at_once([partial(verdict_on, pair) for pair in pairs])
        return dict(zip(pairs, verdicts, strict=True))

    async def conflict(self, pair: AnswerPair) -> Verdict:
        if _translated(pair, self._references) in self.question.conflicts:
            return _known("it is one of the question's conflicts")
        first, second = (self.parts.answers[index] for index in pair)
        return await self._in_passages(
            "natconfqa_conflict_in_passages", "CONFLICT", first=first, second=second
        )

    @cached_property
    def _references(self) -> Mapping[int, int]:
        """The index of the reference that equals a short answer, by the short answer's index."""
        references = [answer_key(answer) for answer in self.question.answers]
        keys = enumerate(map(answer_key, self.parts.answers))
        return {index: references.index(key) for index, key in keys if key in references}

    @cached_property
    def _parts(self) -> Mapping[int, int]:
        """The index of the short answer that equals a reference, by the index of the reference."""
        return {reference: index for index, reference in self._references.items()}

    async def _in_answer(self, template: str, word: str, **lines: str) -> Verdict:
        if not self.answer.strip():
            return Verdict(value=False, explanation="the answer is empty")
        fields = {"answer": material(self.answer), **self._lines(lines)}
        prompt = self.judge.prompts.render(template, **fields)
        return await self.judge.decide(prompt, word, _DECIDED_TOKENS)

    async def _in_passages(self, template: str, word: str, **lines: str) -> Verdict:
        render = partial(self.judge.prompts.render, template, **self._lines(lines))
        passages, model = passages_of(self.question), self.judge.model
        try:
            evidence = self.judge.fitted(passages, render(documents=""), _DECIDED_TOKENS)
        except ContextWindowError as error:
            return Verdict(value=None, error=str(error))
        prompt = render(documents=self.judge.prompts.documents(evidence.documents))
        verdict = await self.judge.decide(prompt, word, _DECIDED_TOKENS)
        if evidence.cut and verdict.value is False:
            numbers = ", ".join(map(str, evidence.cut))
            return Verdict(
                value=None,
                error=f"not found, but passages {numbers} were shortened to fit the context window"
                f" of {model.name} ({model.context_window} tokens)",
            )
        return verdict

    def _lines(self, lines: Mapping[str, str]) -> dict[str, str]:
        fields = {"question": self.question.question, **lines}
        return {name: material_line(text) for name, text in fields.items()}


def _pairs_with(
    presented: Mapping[AnswerPair, Verdict], decision: bool | None
) -> tuple[AnswerPair, ...]:
    return tuple(pair for pair, verdict in presented.items() if verdict.value == decision)


def _translated(pair: AnswerPair, into: Mapping[int, int]) -> AnswerPair | None:
    """Return the pair with its indices mapped; None if an index is not in the mapping."""
    indices = [into[index] for index in pair if index in into]
    return (min(indices), max(indices)) if len(indices) == 2 else None


def read_decomposition(reply: str) -> Decomposition:
    """Read the two lists of a reply: numbered short answers, and pairs of their numbers.

    Markdown around the words is ignored. Short answers that differ only in notation are merged.
    """
    before, *parts = _HEADING.split(reply)
    if before.strip() or [name.lower() for name in parts[::2]] != ["answers", "conflicts"]:
        raise ValueError('the lines "ANSWERS:" and "CONFLICTS:" were expected, each once')
    answers, conflicts = ([*filter(str.strip, text.splitlines())] for text in parts[1::2])
    if not answers or not conflicts:
        raise ValueError('one of the two lines was followed by nothing, not even "none"')
    answers_by_key: dict[str, str] = {}
    place_by_key: dict[str, int] = {}
    index: list[int] = []  # Each line's index into the distinct short answers.
    for number, line in enumerate(_without_none(answers), start=1):
        match = _NUMBERED.fullmatch(line.rstrip())
        if match is None or int(match[1]) != number:
            raise ValueError(f'below "ANSWERS:", "{number}. " and a short answer were expected')
        key = answer_key(match[2])
        if not key:
            raise ValueError(f"short answer {number} has no words")
        answers_by_key.setdefault(key, match[2])
        index.append(place_by_key.setdefault(key, len(place_by_key)))
    pairs = {_pair(line, index) for line in _without_none(conflicts)}
    return Decomposition(answers=tuple(answers_by_key.values()), conflicts=tuple(sorted(pairs)))


def _without_none(lines: list[str]) -> list[str]:
    return [] if len(lines) == 1 and _NONE.fullmatch(lines[0]) else lines


def _pair(line: str, index: list[int]) -> AnswerPair:
    match = _PAIR.fullmatch(line)
    if match is None:
        raise ValueError('below "CONFLICTS:", two numbers such as "1 - 2" or "none" were expected')
    numbers = int(match[1]), int(match[2])
    if all(1 <= number <= len(index) for number in numbers):
        first, second = sorted(index[number - 1] for number in numbers)
        if first != second:
            return first, second
    raise ValueError(f"the conflict {numbers[0]} - {numbers[1]} does not name two short answers")


def _known(reason: str) -> Verdict:
    return Verdict(value=True, explanation=reason)
