"""Reads the folder of a benchmark run without conflictscore: answers by method, with verdicts."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

_LOOP = ("rag", "regenerated-rag", "guarded-rag")
_WITH_OWN_JUDGE = ("asked-conflict", "agreeing-pair", "asked-agreeing")
"""Methods whose answers are judged by a different criterion, so they are not compared with
others."""
_AFTER_THE_FIRST = ("resample", "placebo", "revised-rag")
"""Methods with a separate step that starts from the first answer, and fails without one."""
_SIDES = {"SUPPORTS", "CONTRADICTS"}

Answers = dict[str, dict[str, Any]]
"""The answers to one question, by method. An answer may have the fields ``text``, ``option``,
``verdicts``, ``error``, ``scored`` and ``scores`` (CS-C and CS-R)."""


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the JSON lines of a file; an incomplete last line is left out."""
    lines = []
    for line in path.read_text("utf-8").splitlines():
        try:
            lines.append(json.loads(line))
        except ValueError:
            click.echo(f"{path}: an incomplete line was left out", err=True)
    return lines


def scored_throughout(answers: Iterable[Answers], method: str) -> bool:
    """Whether each answer of a method was scored, or could not be scored."""
    return all(
        each[method].get("scored", False) for each in answers if "text" in each.get(method, {})
    )


def scores_of(report: Mapping[str, Any] | None) -> tuple[float, float] | None:
    """Compute CS-C and CS-R from the labels of a report; None if nothing was scored.

    Claims without any label are ignored. CS-C is the share of the other claims that have both a
    supporting and a contradicting document. For CS-R, the contradicting documents of a claim are
    divided by its supporting and contradicting documents, and the mean is taken over the claims.
    Copies count once on each side if the run counts them in this way.
    """
    if report is None or report.get("error") is not None:
        return None
    first_copy = {} if report.get("duplicates_vote", True) else report["duplicates"]
    conflicts, shares = 0, []
    for claim in report["claims"]:
        pairs = [pair for pair in claim["labels"] if pair["label"] != "UNLABELLED"]
        if not pairs:
            continue
        documents = {
            side: {
                first_copy.get(str(p["document"]), p["document"])
                for p in pairs
                if p["label"] == side
            }
            for side in _SIDES
        }
        supporting, contradicting = (len(documents[side]) for side in ("SUPPORTS", "CONTRADICTS"))
        conflicts += bool(supporting and contradicting)
        shares.append(contradicting / (supporting + contradicting) if contradicting else 0.0)
    return (conflicts / len(shares), sum(shares) / len(shares)) if shares else None


class Run:
    """The folder of a run, with the last record of each step."""

    def __init__(self, folder: Path) -> None:
        self.manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
        self.figures = json.loads((folder / "figures.json").read_text("utf-8"))
        self.questions = read_lines(folder / "questions.jsonl")
        self.records = read_lines(folder / "records.jsonl")
        configuration = self.manifest["configuration"]
        self.methods: list[str] = configuration["methods"]
        self.measures: list[str] = configuration["measures"]
        self.graded = set(configuration.get("graded", ()))
        self.falling = set(configuration.get("falling", ()))
        self.steps: dict[str, dict[tuple[str, str], dict[str, Any]]] = defaultdict(dict)
        for record in sorted(self.records, key=lambda one: (one["error"] is None, one["time"])):
            if record.get("failure") != "stopped":
                self.steps[record["question"]][record["step"], record["key"]] = record
        self.answers = {question["id"]: self._answers(question) for question in self.questions}

    def first_report(self, question: str) -> dict[str, Any] | None:
        """Return the score report of the first answer; None if it has no report."""
        loop = self.steps[question].get(("loop", ""))
        if loop is None or loop["error"] is not None:
            return None
        report: dict[str, Any] | None = loop["value"]["attempts"][0]["report"]
        return report

    def conflict(self, question: str) -> bool | None:
        """Whether a claim of the first answer has both kinds of documents; None without a score."""
        report = self.first_report(question)
        if report is None or report["error"] is not None or report["cs_c"] is None:
            return None
        sides = [{pair["label"] for pair in claim["labels"]} for claim in report["claims"]]
        return any({"SUPPORTS", "CONTRADICTS"} <= labels for labels in sides)

    def same_claims(self, question: str, first: str, second: str) -> bool | None:
        """Whether two answers make the same claims according to the run; None if not compared."""
        key = json.dumps(sorted((first, second)), ensure_ascii=False)
        record = self.steps[question].get(("meaning", key))
        return None if record is None or record["error"] else bool(record["value"]["same"])

    def _answers(self, question: Mapping[str, Any]) -> Answers:
        answers: Answers = {}
        for method in self.methods:
            answer = self._answer(question["id"], method)
            if answer is None:
                continue
            if "text" in answer:
                answer["verdicts"] = self._verdicts(question, method, answer)
            answers[method] = answer
        return answers

    def _answer(self, question: str, method: str) -> dict[str, Any] | None:
        steps = self.steps[question]
        documents = steps.get(("documents", ""))
        if documents is not None and documents["error"] is not None:
            return {"error": documents["error"]}
        loop = steps.get(("loop", ""))
        if method in _AFTER_THE_FIRST and loop is not None and loop["error"] is not None:
            return {"error": loop["error"]}
        record = loop if method in _LOOP else steps.get((method, ""))
        if record is None:
            return None
        if record["error"] is not None:
            return {"error": record["error"]}
        value = record["value"]
        if method not in _LOOP:
            return dict(value["answer"])
        first, last = (
            {
                **attempt["answer"],
                "scored": attempt["report"] is not None,
                "scores": scores_of(attempt["report"]),
            }
            for attempt in (value["attempts"][0], value["attempts"][-1])
        )
        if method == "rag":
            return first
        if value.get("regeneration_error") is not None:
            return {"error": value["regeneration_error"]}
        accepted = (value.get("guard") or {}).get("accepted", False)
        return last if method == "regenerated-rag" or accepted else first

    def _verdicts(
        self, question: Mapping[str, Any], method: str, answer: dict[str, Any]
    ) -> dict[str, float | None]:
        options = question["options"]
        if options and answer["option"] is None:
            return {self.measures[0]: None}
        if options and answer.get("probabilities"):
            chances = zip(options, answer["probabilities"], strict=True)
            right = sum(chance for option, chance in chances if option in question["correct"])
            return {self.measures[0]: min(1.0, right)}
        if options:
            gold = question["gold"]
            return {self.measures[0]: None if gold is None else answer["option"] == gold}
        key = f"{method}\n{answer['text']}" if method in _WITH_OWN_JUDGE else answer["text"]
        grade = self.steps[question["id"]].get(("grade", key))
        if grade is None:
            return {}
        if grade["error"] is not None:
            return dict.fromkeys(self.measures, None)
        if method not in _LOOP:
            report = grade["value"].get("report")
            answer |= {"scored": report is not None, "scores": scores_of(report)}
        return {name: verdict["value"] for name, verdict in grade["value"]["verdicts"].items()}
