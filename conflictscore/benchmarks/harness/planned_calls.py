"""Which calls the steps of one question will make, and how long their prompts and replies are.

It follows the steps as they are run (``harness.steps``, ``nodes``) with their own templates. What
only a model could say, such as an answer, is stood in for by as many tokens as are assumed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from conflictscore.benchmarks.harness.estimate import Assumptions, Level, Range
from conflictscore.benchmarks.harness.methods.registry import GRADE, LOOP, METHODS
from conflictscore.benchmarks.harness.plan import Plan, PlannedCall, PlannedModel, TokenCounts
from conflictscore.benchmarks.harness.planned_labels import planned_labels
from conflictscore.benchmarks.harness.records import Question
from conflictscore.nodes.answerer import option_fields
from conflictscore.nodes.behaviour import all_behaviours, typed_fields
from conflictscore.nodes.evidence import conflict_details
from conflictscore.prompts import material
from conflictscore.records import (
    Claim,
    ClaimEvidence,
    ConflictType,
    Document,
    EvidenceLabel,
    Label,
)

__all__ = ["PlannedQuestion"]

_SECOND_LOOK = frozenset({"regenerated-rag", "guarded-rag"})
_THIRD_LOOKS = frozenset({"placebo", "typed-rag"})
_OF_THE_LOOP = _SECOND_LOOK | _THIRD_LOOKS | {"rag"}


@dataclass(frozen=True)
class PlannedQuestion:
    """One question, by one level of the assumptions."""

    plan: Plan
    question: Question
    documents: Sequence[Document]
    level: Level
    count: TokenCounts

    @classmethod
    def of(
        cls,
        plan: Plan,
        question: Question,
        documents: Sequence[Document] | None,
        level: Level,
        count: TokenCounts,
    ) -> "PlannedQuestion":
        """Plan a question.

        Args:
            plan: What is run.
            question: The question.
            documents: Its documents; None where they are not known, and then they are assumed.
            level: Which of the assumed figures to take.
            count: Counts tokens; the same for all levels of the question.
        """
        if documents is None:
            number = round(plan.assumptions.documents.at(level))
            text = _words(plan.assumptions.document_tokens.at(level))
            documents = [Document(number=n, text=text) for n in range(1, number + 1)]
        return cls(plan, question, documents, level, count)

    def calls(self) -> Iterator[PlannedCall]:
        """All calls, whichever are recorded already; none where there is nothing to read."""
        if not self.documents:
            return
        methods = self.plan.methods
        yield self._answered(LOOP, self._form("rag"))
        yield from self._scored(1.0, self._claims)
        if _SECOND_LOOK & methods:
            yield from self._second_look()
        if "placebo" in methods:
            yield self._regenerated("placebo", self._conflict, self._form("regenerate"))
        if "typed-rag" in methods:
            yield self._classified("typed-rag", self._conflict)
            template = self._form("regenerate_typed")
            yield self._regenerated("typed-rag", self._conflict, template, **self._typed)
        for method in self._alone:
            yield from self._answered_alone(method)
        yield from self._grades()

    @property
    def _alone(self) -> list[str]:
        """Methods that begin with no first answer, as far as the question has what they need."""
        lacking = set(_OF_THE_LOOP)
        if len(self.documents) < 2:
            lacking.add("second-document")
        if self.question.conflict_type is None:
            lacking.add("oracle")
        chosen = self.plan.methods - lacking
        return [method for method in METHODS if method in chosen]

    def _answered_alone(self, step: str) -> Iterator[PlannedCall]:
        assumed, plain = self._assumed, self._form("rag")
        match step:
            case "control-rag":
                yield self._answered(step, self._form("control_rag"))
            case "resample":
                yield self._answered(step, plain)
            case "first-document":
                yield self._answered(step, plain, self.documents[:1])
            case "second-document":
                yield self._answered(step, plain, self.documents[1:2])
            case "balanced" | "super-balanced":
                yield self._answered(
                    step,
                    {"balanced": "report_balanced", "super-balanced": "report_super_balanced"}[
                        step
                    ],
                )
            case "no-documents":
                prompt = self._render(
                    "wikicontradict_no_passage", question=material(self.question.question)
                )
                reply = self._at(assumed.answer_tokens)
                yield self._call(step, self.plan.generator, 1.0, prompt, reply)
            case "taxonomy-aware":
                told = {"types": self._types, "rules": all_behaviours(self.plan.prompts)}
                reply = self._at(assumed.type_tokens) + self._at(assumed.cited_tokens)
                yield self._asked(step, 1.0, "cited_taxonomy_aware", reply, **told)
            case "pipeline" | "oracle":
                if step == "pipeline":
                    yield self._classified(step, 1.0)
                reply = self._at(assumed.cited_tokens)
                yield self._asked(step, 1.0, "cited_typed", reply, **self._typed)

    def _answered(
        self, step: str, template: str, documents: Sequence[Document] | None = None
    ) -> PlannedCall:
        reply = self._assumed.answer_tokens
        if self.question.options:
            reply = self._assumed.choice_tokens
        shown = self.documents if documents is None else documents
        prompt = self._with_documents(template, shown, option_fields(self.question.options))
        return PlannedCall(step, self.plan.generator, 1.0, prompt, self._at(reply))

    def _regenerated(self, step: str, times: float, template: str, **fields: str) -> PlannedCall:
        reply = self._assumed.answer_tokens
        if self.question.options:
            reply = self._assumed.reconsidered_tokens
        put = {"answer": self._answer, "claim": self._claim, "evidence": self._evidence}
        options = option_fields(self.question.options)
        return self._asked(step, times, template, self._at(reply), **put, **options, **fields)

    def _classified(self, step: str, times: float) -> PlannedCall:
        reply = self._at(self._assumed.type_tokens)
        return self._asked(step, times, "classify_conflict", reply, types=self._types)

    def _asked(
        self, step: str, times: float, template: str, reply: float, **fields: str
    ) -> PlannedCall:
        """A call to the answering model that shows all documents."""
        prompt = self._with_documents(template, self.documents, fields)
        return PlannedCall(step, self.plan.generator, times, prompt, reply)

    def _second_look(self) -> Iterator[PlannedCall]:
        """The answer to a conflict, with its score and, in free form, the reason why it changed."""
        rounds = self._conflict * (self.plan.max_rounds if self.level == "high" else 1)
        yield self._regenerated(LOOP, rounds, self._form("regenerate"))
        yield from self._scored(rounds, self._claims * self._changed)
        if not self.question.options:
            prompt = self._render(
                "justify",
                question=material(self.question.question),
                before=self._answer,
                after=self._answer,
                claim=self._claim,
                evidence=self._evidence,
            )
            times, reply = self._conflict * self._changed, self._assumed.justification_tokens
            yield self._call(LOOP, self.plan.generator, times, prompt, self._at(reply))

    def _scored(self, answers: float, claims: float, step: str = LOOP) -> Iterator[PlannedCall]:
        """So many answers taken apart, each with so many claims that have no label yet."""
        judge = self.plan.judge
        if not self.question.options and self.plan.labeler != "whole-answer":
            listed = self._at(self._assumed.claims) * self._at(self._assumed.claim_tokens)
            prompt = self._render("decompose", answer=self._answer)
            yield self._call(step, judge, answers, prompt, listed)
        for call in planned_labels(
            self.plan, self._claim, claims, self.documents, self.level, self.count
        ):
            yield call._replace(step=step, times=answers * call.times)

    def _grades(self) -> Iterator[PlannedCall]:
        """What grades each distinct answer in free form; those of the loop it has scored."""
        if self.plan.scored:
            changed = len(_THIRD_LOOKS & self.plan.methods) * self._conflict * self._changed
            yield from self._scored(len(self._alone) + changed, self._claims, GRADE)
        judge, asks, methods = self.plan.answer_judge, self.plan.judge_prompts, self.plan.methods
        if judge is None or asks is None or self.question.options:
            return
        again = bool(_SECOND_LOOK & methods) + len(_THIRD_LOOKS & methods)
        answers = 1 + len(self._alone) + again * self._conflict * self._changed
        reply = self._at(self._assumed.grade_tokens)
        for prompt in asks(self.question, self._answer, self.plan.prompts):
            yield self._call(GRADE, judge, answers, prompt, reply)

    def _call(
        self, step: str, model: PlannedModel, times: float, prompt: str, reply: float
    ) -> PlannedCall:
        return PlannedCall(step, model, times, self.count(prompt, model), reply)

    def _with_documents(
        self, template: str, documents: Sequence[Document], fields: Mapping[str, str]
    ) -> int:
        """Tokens of a prompt with these documents, whose text is the same in every such prompt."""
        question = material(self.question.question)
        frame = self._render(template, documents="", question=question, **fields)
        shown = self.plan.prompts.documents(documents)
        return self.count(frame, self.plan.generator) + self.count(shown, self.plan.generator)

    def _form(self, kind: str) -> str:
        """The template of this kind in the question's form."""
        return f"{'multiple_choice' if self.question.options else 'free_form'}_{kind}"

    def _render(self, template: str, **fields: str) -> str:
        return self.plan.prompts.render(template, **fields)

    def _at(self, figure: Range) -> float:
        return figure.at(self.level)

    @property
    def _assumed(self) -> Assumptions:
        return self.plan.assumptions

    @property
    def _conflict(self) -> float:
        """How likely it is that the first answer conflicts; one document cannot disagree."""
        return self._at(self._assumed.conflict_rate) if len(self.documents) > 1 else 0.0

    @property
    def _changed(self) -> float:
        """How much of a regenerated answer is new."""
        return self._at(self._assumed.flipped if self.question.options else self._assumed.reworded)

    @property
    def _claims(self) -> float:
        return 1.0 if self._one_claim else self._at(self._assumed.claims)

    @property
    def _one_claim(self) -> bool:
        """Whether the answer itself is the one claim."""
        return bool(self.question.options) or self.plan.labeler == "whole-answer"

    @property
    def _answer(self) -> str:
        """An answer of the assumed length; of two options the longer one."""
        if self.question.options:
            return material(max(self.question.options, key=len))
        return _words(self._at(self._assumed.answer_tokens))

    @property
    def _claim(self) -> str:
        if self._one_claim:
            return self._answer
        return _words(self._at(self._assumed.claim_tokens))

    @property
    def _types(self) -> str:
        return self._render("conflict_types")

    @property
    def _typed(self) -> dict[str, str]:
        """A type with its rule: people's, or where they told none that of the longest rule."""
        prompts, known = self.plan.prompts, self.question.conflict_type
        longest = max(ConflictType, key=lambda kind: len(typed_fields(kind, prompts)["rule"]))
        return typed_fields(known or longest, prompts)

    @property
    def _evidence(self) -> str:
        """Both sides: one document each, a quarter of them, or half of them."""
        half = len(self.documents) // 2
        side = {"low": 1, "expected": ceil(half / 2), "high": half}[self.level]
        labels = [Label.SUPPORTS] * side + [Label.CONTRADICTS] * side
        pairs = tuple(
            EvidenceLabel(claim=1, document=document.number, label=label)
            for document, label in zip(self.documents, labels, strict=False)
        )
        claim = ClaimEvidence(claim=Claim(number=1, text=self._claim), labels=pairs)
        return conflict_details(claim, self.documents, self.plan.prompts)


def _words(tokens: float) -> str:
    """A text of about so many tokens."""
    return " ".join(["the"] * round(tokens))
